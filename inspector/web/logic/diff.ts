import jsonpatch from "fast-json-patch";

/** A difference between two states, at one place. */
export interface Change {
  /** A JSON pointer. */
  path: string;
  kind: "added" | "removed" | "changed";
  before?: unknown;
  after?: unknown;
}

type Members = Record<string, unknown>;
const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null;
const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** What differs, as deep as it can be told: an object that is there in both is looked into. */
export function differences(before: unknown, after: unknown, path = ""): Change[] {
  if (Object.is(before, after)) return [];
  if (isMembers(before) && isMembers(after) && Array.isArray(before) === Array.isArray(after)) {
    const found: Change[] = [];
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const place = `${path}/${escaped(key)}`;
      if (!Object.hasOwn(after, key)) found.push({ path: place, kind: "removed", before: before[key] });
      else if (!Object.hasOwn(before, key)) found.push({ path: place, kind: "added", after: after[key] });
      else found.push(...differences(before[key], after[key], place));
    }
    return found;
  }
  return [{ path, kind: "changed", before, after }];
}

/** The value at a JSON pointer; undefined if there is none. */
export function valueAt(state: unknown, pointer: string): unknown {
  let value = state;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isMembers(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** A record that may have changed the state. */
export interface StateEvent {
  offset: number;
  event: { type: string; snapshot?: unknown; delta?: unknown };
}

/** Which record made each of these places what it is: the last one after which it was different from before. */
export function causes(before: unknown, events: StateEvent[], changes: Change[]): Map<string, number> {
  const found = new Map<string, number>();
  let state: unknown = structuredClone(before);
  let held = changes.map(({ path }) => JSON.stringify(valueAt(state, path)));
  for (const { offset, event } of events) {
    if (event.type === "STATE_SNAPSHOT") {
      state = structuredClone(event.snapshot);
    } else if (event.type === "STATE_DELTA" && Array.isArray(event.delta)) {
      try {
        state = jsonpatch.applyPatch(structuredClone(state), structuredClone(event.delta), true, true, true).newDocument;
      } catch {
        continue; // A patch that cannot be applied changes nothing, for clients too.
      }
    } else {
      continue;
    }
    const now = changes.map(({ path }) => JSON.stringify(valueAt(state, path)));
    now.forEach((value, place) => {
      const change = changes[place];
      if (change !== undefined && value !== held[place]) found.set(change.path, offset);
    });
    held = now;
  }
  return found;
}
