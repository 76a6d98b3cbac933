/** The exact text of a member of an object, as it was written: numbers and escapes included. Undefined if it is not there. */
export function rawMember(json: string, name: string): string | undefined {
  let at = skip(json, 0);
  if (json[at] !== "{") return undefined;
  at = skip(json, at + 1);
  while (at < json.length && json[at] !== "}") {
    const keyEnd = valueEnd(json, at);
    let key: unknown;
    try {
      key = JSON.parse(json.slice(at, keyEnd));
    } catch {
      return undefined;
    }
    const start = skip(json, skip(json, keyEnd) + 1);
    const end = valueEnd(json, start);
    if (key === name) return json.slice(start, end);
    at = skip(json, end);
    if (json[at] === ",") at = skip(json, at + 1);
  }
  return undefined;
}

/** The exact texts of the values of an array. */
export function rawItems(json: string): string[] {
  const items: string[] = [];
  let at = skip(json, 0);
  if (json[at] !== "[") return items;
  at = skip(json, at + 1);
  while (at < json.length && json[at] !== "]") {
    const end = valueEnd(json, at);
    items.push(json.slice(at, end));
    at = skip(json, end);
    if (json[at] === ",") at = skip(json, at + 1);
  }
  return items;
}

function skip(json: string, from: number): number {
  let at = from;
  while (at < json.length && " \t\n\r".includes(json[at] ?? "")) at += 1;
  return at;
}

function valueEnd(json: string, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at += 1) {
    const char = json[at] ?? "";
    if (char === '"') {
      for (at += 1; at < json.length && json[at] !== '"'; at += 1) if (json[at] === "\\") at += 1;
      if (depth === 0) return at + 1;
    } else if (char === "{" || char === "[") {
      depth += 1;
    } else if (char === "}" || char === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
      if (depth < 0) return at;
    } else if (depth === 0 && (char === "," || " \t\n\r".includes(char))) {
      return at;
    }
  }
  return json.length;
}
