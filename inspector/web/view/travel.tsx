import type { Message } from "@ag-ui/core";
import { useEffect, useState } from "preact/hooks";
import { type Messages, type StateAt, get, said, threadPath } from "../api/client";
import { type Change, type StateEvent, causes, differences } from "../logic/diff";
import { summaryOf, typeOf } from "../logic/events";
import { chainOf } from "../logic/lineage";
import { go, place } from "../model/place";
import type { RecordBook } from "../model/records";
import { Json } from "./json";
import { MessageView, textOf } from "./message";
import { Empty, IconButton, Trouble } from "./parts";

interface Then {
  at: number;
  run: string | null;
  messages: Message[];
  state: unknown;
  before: unknown;
  changes: Change[];
  causes: ReadonlyMap<string, number>;
}

/** How things were at an offset, and what has changed since another. */
export function TravelView({ book, range }: { book: RecordBook; range: { first: number; tail: number } }) {
  const last = Math.max(range.first, range.tail - 1);
  const at = Math.min(last, Math.max(range.first, place.value.at ?? last));
  const from = Math.min(at, place.value.from ?? range.first);
  const [then, failure] = useThen(book, at, from);
  const { thread } = book;
  const travel = (offset: number) => go({ thread, view: "travel", at: Math.min(last, Math.max(range.first, offset)), ...(place.value.from === undefined ? {} : { from: place.value.from }) }, "replace");
  useEffect(() => book.need(at, at + 1), [at]);
  void book.version.value;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (step === 0 || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      travel(at + step);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const record = book.at(at);
  return (
    <div class="travel">
      <div class="scrubber">
        <IconButton icon="left" label="One offset back" disabled={at <= range.first} onClick={() => travel(at - 1)} />
        <input type="range" aria-label="Offset" min={range.first} max={last} value={at} onInput={(event) => travel(Number(event.currentTarget.value))} />
        <IconButton icon="right" label="One offset on" disabled={at >= last} onClick={() => travel(at + 1)} />
        <label>
          At <input type="number" class="num" min={range.first} max={last} value={at} onInput={(event) => travel(Number(event.currentTarget.value))} />
        </label>
        <label>
          Compared with{" "}
          <input type="number" class="num" min={range.first} max={at} value={from} onInput={(event) => go({ thread, view: "travel", at, from: Number(event.currentTarget.value) }, "replace")} />
        </label>
      </div>
      <button type="button" class="travel-event mono one-line" onClick={() => go({ thread, view: "events", at })}>
        {record === undefined ? "…" : `${at} ${typeOf(record)} ${summaryOf(record)}`}
      </button>
      {failure !== null && <Trouble>{failure}</Trouble>}
      {then !== null && (
        <div class={`travel-panes ${then.at === at ? "" : "is-old"}`}>
          <section aria-label="Messages then">
            <h2>Messages</h2>
            {then.messages.length === 0 && <Empty title="None yet" />}
            <MessagesThen messages={then.messages} />
          </section>
          <section aria-label="State then">
            <h2>State</h2>
            <Json value={then.state} open={3} />
          </section>
          <section aria-label="Changes of the state">
            <h2>
              Changed since <span class="num">{from}</span>
            </h2>
            <Changes then={then} thread={thread} />
          </section>
        </div>
      )}
    </div>
  );
}

function MessagesThen({ messages }: { messages: Message[] }) {
  const results = new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, textOf(message.content)] as const] : [])));
  const nothing = () => {};
  return (
    <div class="read-only">
      {messages.map((message) => (
        <MessageView key={message.id} message={message} results={results} choice={undefined} isBusy onChoose={nothing} onEdit={nothing} onRegenerate={nothing} onAnswerCall={undefined} />
      ))}
    </div>
  );
}

function Changes({ then, thread }: { then: Then; thread: string }) {
  if (then.changes.length === 0) return <p class="faint">Nothing.</p>;
  const shown = (value: unknown) => JSON.stringify(value) ?? "";
  return (
    <ul class="changes">
      {then.changes.map(({ path, kind, before, after }) => {
        const cause = then.causes.get(path);
        return (
          <li key={path} class={`change-${kind}`}>
            <div class="row">
              <code>{path || "(all of it)"}</code>
              {cause !== undefined && (
                <button type="button" class="link num" onClick={() => go({ thread, view: "events", at: cause })}>
                  by {cause}
                </button>
              )}
            </div>
            {kind !== "added" && <del class="mono">{shown(before)}</del>}
            {kind !== "removed" && <ins class="mono">{shown(after)}</ins>}
          </li>
        );
      })}
    </ul>
  );
}

function useThen(book: RecordBook, at: number, from: number): [Then | null, string | null] {
  const [then, setThen] = useState<Then | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    // Whoever drags passes many offsets by.
    const timer = setTimeout(() => {
      look(book, at, from, stop.signal).then(
        (seen) => stop.signal.aborted || (setThen(seen), setFailure(null)),
        (error: unknown) => stop.signal.aborted || setFailure(said(error)),
      );
    }, 40);
    return () => (clearTimeout(timer), stop.abort());
  }, [book, at, from]);
  return [then, failure];
}

async function look(book: RecordBook, at: number, from: number, signal: AbortSignal): Promise<Then> {
  const [messages, now] = await Promise.all([
    get<Messages>(threadPath(book.thread, "/messages"), { at }, signal),
    get<StateAt>(threadPath(book.thread, "/state"), { at }, signal),
  ]);
  const before = from < at ? (await get<StateAt>(threadPath(book.thread, "/state"), { at: from }, signal)).state : now.state;
  const changes = differences(before, now.state);
  const branch = new Set(chainOf(book.runs.value, now.runId ?? "").map((run) => run.runId));
  const records = changes.length > 0 ? await book.between(from + 1, at + 1, branch, signal) : [];
  return {
    at,
    run: now.runId,
    messages: messages.messages as Message[],
    state: now.state,
    before,
    changes,
    causes: causes(before, records as StateEvent[], changes),
  };
}
