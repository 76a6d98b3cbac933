import { effect, signal } from "@preact/signals";

/** What is remembered of how somebody likes the page. Nothing of threads, and no token. */
export type Theme = "auto" | "light" | "dark";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];

const stored = localStorage.getItem("threadline.theme");
export const theme = signal<Theme>(THEMES.find((known) => known === stored) ?? "auto");
export const isStateShown = signal(localStorage.getItem("threadline.state") !== "off");
/** Where there is no room for the list, it is shown over the rest. */
export const isListOpen = signal(false);
export const isHelpOpen = signal(false);

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem("threadline.theme", theme.value);
});
effect(() => localStorage.setItem("threadline.state", isStateShown.value ? "on" : "off"));

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}
