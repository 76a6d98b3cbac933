import { signal } from "@preact/signals";
import { type Place, readPlace, writePlace } from "../logic/route";

/** Where the page is. */
export const place = signal<Place>(readPlace(location.hash));

addEventListener("hashchange", () => {
  place.value = readPlace(location.hash);
});

/** Goes there. What is only a change of what is shown of the same thread takes the place of the address before it. */
export function go(to: Place, how: "push" | "replace" = "push"): void {
  const hash = writePlace(to);
  if (hash === location.hash) return;
  if (how === "push") history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  place.value = readPlace(hash);
}
