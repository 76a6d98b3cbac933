import { VIEWS } from "../logic/route";
import { isHelpOpen, isListOpen, isStateShown, nextTheme } from "./look";
import { go, place } from "./place";
import { threads } from "./threads";

/** The keys, for who asks. Those of a view are handled where the view is. */
export const SHORTCUTS = [
  { keys: "?", what: "this list" },
  { keys: "n", what: "a new chat" },
  { keys: "/", what: "search threads" },
  { keys: "j k", what: "the next thread, the one before" },
  { keys: "1 2 3 4 5", what: "chat, events, runs, time travel, compaction" },
  { keys: "m", what: "write a message" },
  { keys: "s", what: "show or hide the state" },
  { keys: "t", what: "light, dark, or as the system is" },
  { keys: "↑ ↓", what: "events: one up, one down" },
  { keys: "← →", what: "time travel: one offset back, one on" },
  { keys: "Enter", what: "send; with Shift a new line" },
  { keys: "Esc", what: "leave what is open" },
] as const;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

const focus = (id: string): void => document.getElementById(id)?.focus();

export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") {
    isListOpen.value = false;
    if (isTyping(event.target)) (event.target as HTMLElement).blur();
    return;
  }
  if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
  const does = KEYS[event.key];
  if (does === undefined) return;
  event.preventDefault();
  does();
}

function step(by: number): void {
  const shown = threads.value.filter((thread) => !thread.archived);
  const at = shown.findIndex((thread) => thread.threadId === place.value.thread);
  const next = shown[at < 0 ? 0 : at + by];
  if (next !== undefined) go({ thread: next.threadId, view: place.value.view });
}

const KEYS: Record<string, () => void> = {
  "?": () => (isHelpOpen.value = true),
  n: () => {
    go({ thread: undefined, view: "chat" });
    setTimeout(() => focus("composer"));
  },
  "/": () => {
    isListOpen.value = true;
    setTimeout(() => focus("search"));
  },
  m: () => focus("composer"),
  j: () => step(1),
  k: () => step(-1),
  s: () => (isStateShown.value = !isStateShown.value),
  t: nextTheme,
  ...Object.fromEntries(
    VIEWS.map((view, at) => [
      String(at + 1),
      () => {
        if (place.value.thread !== undefined) go({ ...place.value, view });
      },
    ]),
  ),
};
