/** The ways to look at a thread. */
export const VIEWS = ["chat", "events", "runs", "travel", "compact"] as const;
export type View = (typeof VIEWS)[number];

/** Where the page is. It is in the address, so that it can be sent to somebody. */
export interface Place {
  /** None is a new chat. */
  thread: string | undefined;
  view: View;
  /** A run: the branch that ends there, or the only one that is shown. */
  run?: string;
  /** An offset. */
  at?: number;
  /** An offset before it, to compare with. */
  from?: number;
}

const offset = (text: string | null): number | undefined => (text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined);

export function readPlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [kind, name, view] = path.split("/");
  const parameters = new URLSearchParams(query);
  let thread: string | undefined;
  try {
    thread = kind === "t" && name ? decodeURIComponent(name) : undefined;
  } catch {
    thread = undefined;
  }
  const place: Place = { thread, view: VIEWS.find((known) => known === view) ?? "chat" };
  const [run, at, from] = [parameters.get("run"), offset(parameters.get("at")), offset(parameters.get("from"))];
  if (run !== null) place.run = run;
  if (at !== undefined) place.at = at;
  if (from !== undefined) place.from = from;
  return place;
}

export function writePlace({ thread, view, run, at, from }: Place): string {
  if (thread === undefined) return "#/";
  const query = new URLSearchParams();
  if (run !== undefined) query.set("run", run);
  if (at !== undefined) query.set("at", String(at));
  if (from !== undefined) query.set("from", String(from));
  const search = query.size > 0 ? `?${query}` : "";
  return `#/t/${encodeURIComponent(thread)}${view === "chat" ? "" : `/${view}`}${search}`;
}
