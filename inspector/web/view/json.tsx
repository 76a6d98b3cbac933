import { useState } from "preact/hooks";

const SHOWN_MAX = 200;

/** A value as a tree that can be folded. */
export function Json({ value, open = 2 }: { value: unknown; open?: number }) {
  return (
    <div class="json">
      <Node value={value} depth={0} open={open} />
    </div>
  );
}

function Node({ name, value, depth, open }: { name?: string; value: unknown; depth: number; open: number }) {
  const [isAll, showAll] = useState(false);
  const key = name === undefined ? null : <span class="json-key">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json-line">
        {key}
        <span class={`json-${value === null ? "null" : typeof value}`}>{JSON.stringify(value) ?? "undefined"}</span>
      </div>
    );
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) {
    return (
      <div class="json-line">
        {key}
        {isList ? "[]" : "{}"}
      </div>
    );
  }
  const shown = isAll ? entries : entries.slice(0, SHOWN_MAX);
  return (
    <details open={depth < open}>
      <summary>
        {key}
        <span class="faint">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </summary>
      <div class="json-inner">
        {shown.map(([member, inner]) => (
          <Node key={member} name={member} value={inner} depth={depth + 1} open={open} />
        ))}
        {shown.length < entries.length && (
          <button type="button" class="link" onClick={() => showAll(true)}>
            {entries.length - shown.length} more
          </button>
        )}
      </div>
    </details>
  );
}
