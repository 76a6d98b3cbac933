import { batch, computed, signal } from "@preact/signals";
import { type Thread, ask, get, isLocked, pause, send, threadPath, token } from "../api/client";
import { framesOf } from "../api/sse";

interface Agent {
  name: string;
  default: boolean;
}
type Change = { type: "list" } | { type: "listed" } | { type: "thread"; thread: Thread } | { type: "deleted"; threadId: string };

const known = signal<ReadonlyMap<string, Thread>>(new Map());
/** Whether what is shown is what there is. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");
/** Counts how often the server was reached anew: whoever shows something of it asks again. */
export const reached = signal(0);
/** The agents; none until the threads are known as well. */
export const agents = signal<readonly Agent[]>([]);

/** All threads, the last that was updated first. */
export const threads = computed(() => [...known.value.values()].sort((one, other) => other.updated - one.updated));
export const threadNamed = (id: string): Thread | undefined => known.value.get(id);

const PAUSE_MS_MAX = 5_000;

/** Keeps the list as it is on the server, for ever. */
export async function follow(): Promise<never> {
  for (let wait = 250; ; wait = Math.min(wait * 2, PAUSE_MS_MAX)) {
    const asked = token.value;
    try {
      const response = await ask("v1/changes", { headers: { accept: "text/event-stream" } });
      await take(response, (await get<{ agents: Agent[] }>("agents")).agents);
      wait = 250;
    } catch {
      // What is wrong shows below: either a token is wanted, or the server is away.
    }
    connection.value = "lost";
    if (isLocked.value) await unlocked(asked);
    else await pause(wait);
  }
}

async function take(response: Response, offered: Agent[]): Promise<void> {
  let listing: Map<string, Thread> | undefined;
  for await (const { data } of framesOf(response)) {
    const change = JSON.parse(data) as Change;
    if (change.type === "list") {
      listing = new Map();
    } else if (change.type === "listed") {
      const listed = listing ?? new Map();
      listing = undefined;
      batch(() => {
        known.value = listed;
        agents.value = offered;
        connection.value = "live";
        reached.value += 1;
      });
    } else {
      const map: Map<string, Thread> = listing ?? new Map(known.value);
      if (change.type === "thread") map.set(change.thread.threadId, change.thread);
      else map.delete(change.threadId);
      if (listing === undefined) known.value = map;
    }
  }
}

/** Waits until there is another token than the one that was refused. */
const unlocked = (refused: string | null): Promise<void> =>
  new Promise((done) => {
    const stop = token.subscribe((value) => {
      if (value === refused) return;
      isLocked.value = false;
      done();
      queueMicrotask(() => stop());
    });
  });

export const rename = (thread: string, name: string) => send("PATCH", threadPath(thread), { name });
export const archive = (thread: string, archived: boolean) => send("PATCH", threadPath(thread), { archived });
export const remove = (thread: string) => send("DELETE", `${threadPath(thread)}?cancel=true`);
export const search = async (words: string, signal: AbortSignal): Promise<Thread[]> =>
  (await get<{ threads: Thread[] }>("v1/threads", { q: words, limit: 200 }, signal)).threads;

/** Takes in an export or a recording. The threads that came of it. */
export async function importFile(file: File): Promise<string[]> {
  const response = await ask("v1/import", { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: file });
  return ((await response.json()) as { threadIds: string[] }).threadIds;
}

/** Has the browser save an export. */
export const exportThread = (thread: string, form: "raw" | "compact" | "snapshot"): Promise<void> => save(threadPath(thread, `/export?form=${form}`), `${thread}.${form}.jsonl`);

/** Has the browser save the evidence of a run. The server refuses what is none, and says why. */
export const exportArtifact = (thread: string, run: string): Promise<void> =>
  save(threadPath(thread, `/runs/${encodeURIComponent(run)}/artifact`), `${thread}.${run}.artifact.json`);

/** It goes through the memory, since a link could not bring the token along. */
async function save(path: string, name: string): Promise<void> {
  const response = await ask(path);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replaceAll(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
