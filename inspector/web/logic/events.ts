import type { StoredRecord } from "../api/client";

/** What events are about. */
export const FAMILIES = ["run", "text", "reasoning", "tool", "state", "activity", "step", "subagent", "other"] as const;
export type Family = (typeof FAMILIES)[number];

const PREFIXES: [string, Family][] = [
  ["RUN_", "run"],
  ["TEXT_MESSAGE_", "text"],
  ["REASONING_", "reasoning"],
  ["THINKING_", "reasoning"],
  ["TOOL_CALL_", "tool"],
  ["STATE_", "state"],
  ["MESSAGES_SNAPSHOT", "state"],
  ["ACTIVITY_", "activity"],
  ["STEP_", "step"],
  ["SUBAGENT_", "subagent"],
];

export const typeOf = (record: StoredRecord): string => {
  const event = record.event as { type?: unknown } | undefined;
  return typeof event?.type === "string" ? event.type : record.text !== undefined ? "(text)" : record.hex !== undefined ? "(bytes)" : "(no type)";
};

export const familyOf = (type: string): Family => PREFIXES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? "other";

/** What of an event is worth a line, in the order of what tells the most. */
const TELLING = ["delta", "content", "toolCallName", "stepName", "agentName", "name", "message", "activityType", "snapshot", "patch", "outcome", "value", "runId", "messageId"];

/** One line about a record. */
export function summaryOf(record: StoredRecord): string {
  const event = record.event as Record<string, unknown> | undefined;
  if (typeof event !== "object" || event === null) return record.text ?? record.hex ?? "";
  const parts: string[] = [];
  for (const key of TELLING) {
    const value = event[key];
    if (value === undefined || value === null) continue;
    parts.push(typeof value === "string" ? value : JSON.stringify(value));
    if (parts.join(" ").length > 200 || key === "delta" || key === "content") break;
  }
  return parts.join(" · ").slice(0, 300).replaceAll("\n", "⏎");
}

/** What a list of records is narrowed to. */
export interface Filter {
  families: ReadonlySet<Family>;
  run: string | undefined;
  text: string;
}

export const isOpen = ({ families, run, text }: Filter): boolean => families.size === 0 && run === undefined && text.trim() === "";

export function fits(record: StoredRecord, { families, run, text }: Filter): boolean {
  if (run !== undefined && record.run !== run) return false;
  if (families.size > 0 && !families.has(familyOf(typeOf(record)))) return false;
  const wanted = text.trim().toLowerCase();
  return wanted === "" || (record.text ?? JSON.stringify(record.event) ?? "").toLowerCase().includes(wanted);
}

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function durationOf(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
