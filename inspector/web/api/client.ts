import { signal } from "@preact/signals";
import type { components, paths } from "./schema";

export type Thread = components["schemas"]["Thread"];
export type Run = components["schemas"]["Run"];
export type StoredRecord = components["schemas"]["Record"];
export type ThreadChange = components["schemas"]["ThreadChange"];
export type Finding = components["schemas"]["Finding"];

/** What a GET of a path answers with. */
type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

export type EventPage = Answer<"/v1/threads/{thread}/events">;
export type Messages = Answer<"/v1/threads/{thread}/messages">;
export type StateAt = Answer<"/v1/threads/{thread}/state">;
export type Live = Answer<"/v1/threads/{thread}/live">;
export type Findings = Answer<"/v1/threads/{thread}/runs/{run}/findings">;

/** The caller's token. It is kept here and nowhere else: a reload forgets it. */
export const token = signal<string | null>(null);
/** Whether the server wants a token, or another one than we have. */
export const isLocked = signal(false);

/** A refusal, as the server words it. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Where the server is: beside the page, whatever it is called. */
export const here = (path: string): string => new URL(path, new URL(".", location.href.split("#")[0])).href;

export const threadPath = (thread: string, rest = ""): string => `v1/threads/${encodeURIComponent(thread)}${rest}`;

export function withToken(headers: HeadersInit = {}): Headers {
  const all = new Headers(headers);
  if (token.value !== null) all.set("authorization", `Bearer ${token.value}`);
  return all;
}

/** Asks the server. Whatever is no answer is thrown. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(here(path), { ...init, headers: withToken(init.headers) });
  if (response.ok) return response;
  if (response.status === 401) isLocked.value = true;
  throw refusalOf(response.status, await response.text());
}

/** What a body says that is no answer. It may be a proxy's, and no JSON. */
export function refusalOf(status: number, body: string): Refused {
  try {
    const { error } = JSON.parse(body) as { error: { code: string; message: string } };
    return new Refused(status, error.code, error.message);
  } catch {
    return new Refused(status, `http_${status}`, `the server answered ${status}`);
  }
}

export async function get<T>(path: string, query: Record<string, string | number | undefined> = {}, signal?: AbortSignal): Promise<T> {
  const said = Object.entries(query).filter((pair): pair is [string, string | number] => pair[1] !== undefined);
  const search = new URLSearchParams(said.map(([name, value]) => [name, String(value)]));
  const response = await ask(said.length > 0 ? `${path}?${search}` : path, signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function send(method: "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<Response> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.headers = { "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  return ask(path, init);
}

/** Waits, or until the signal says that there is nothing to wait for. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

/** In words that a person can use. */
export function said(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof TypeError) return "The server cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}
