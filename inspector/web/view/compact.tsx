import { useEffect, useState } from "preact/hooks";
import { ask, said, threadPath } from "../api/client";
import { bytesOf, familyOf, sizeOf } from "../logic/events";
import { rawItems, rawMember } from "../logic/raw";
import { go, place } from "../model/place";
import type { RecordBook } from "../model/records";
import { LongList } from "./list";
import { Empty, Trouble, shortId } from "./parts";

interface Both {
  raw: readonly string[];
  compact: readonly string[];
}

/** What came of a run beside what it is compacted to. */
export function CompactView({ book }: { book: RecordBook }) {
  const runs = book.runs.value;
  const run = place.value.run ?? runs.at(-1)?.runId;
  const [both, failure] = useBoth(book.thread, run, book.runs.value.find((known) => known.runId === run)?.next ?? 0);
  const [raw, compact] = [sum(both?.raw), sum(both?.compact)];
  return (
    <div class="compact">
      <div class="filters">
        <label>
          Run{" "}
          <select value={run ?? ""} onInput={(event) => go({ thread: book.thread, view: "compact", run: event.currentTarget.value }, "replace")}>
            {runs.map(({ runId }) => (
              <option key={runId} value={runId}>
                {shortId(runId)}
              </option>
            ))}
          </select>
        </label>
        {both !== null && raw > 0 && (
          <span role="status">
            {sizeOf(raw)} as it came, {sizeOf(compact)} compacted: {Math.max(0, Math.round(100 - (100 * compact) / raw))}% saved
          </span>
        )}
      </div>
      {failure !== null && <Trouble>{failure}</Trouble>}
      {both === null && failure === null && <Empty title={run === undefined ? "No runs yet" : "Loading…"} />}
      {both !== null && (
        <div class="compact-panes">
          <Lines title="As it came" lines={both.raw} />
          <Lines title="Compacted" lines={both.compact} />
        </div>
      )}
    </div>
  );
}

const sum = (lines: readonly string[] = []): number => lines.reduce((bytes, line) => bytes + bytesOf(line), 0);

function Lines({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <section aria-label={title}>
      <h2>
        {title} <span class="faint num">{lines.length} events</span>
      </h2>
      <LongList
        count={lines.length}
        rowHeight={22}
        label={title}
        row={(at) => {
          const line = lines[at] ?? "";
          const type = /"type"\s*:\s*"([A-Z_]+)"/.exec(line)?.[1] ?? "";
          return (
            <div class="event mono" title={line.slice(0, 2_000)}>
              <span class={`family-${familyOf(type)} one-line`}>{line.slice(0, 400)}</span>
            </div>
          );
        }}
      />
    </section>
  );
}

function useBoth(thread: string, run: string | undefined, next: number): [Both | null, string | null] {
  const [both, setBoth] = useState<Both | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    if (run === undefined) return;
    const stop = new AbortController();
    const name = encodeURIComponent(run);
    const read = async () => {
      const raw: string[] = [];
      for (let page: string | undefined = ""; page !== undefined; ) {
        const path: string = threadPath(thread, `/events?run=${name}&limit=10000${page}`);
        const text = await (await ask(path, { signal: stop.signal })).text();
        for (const record of rawItems(rawMember(text, "records") ?? "[]")) raw.push(rawMember(record, "event") ?? record);
        const after = rawMember(text, "next");
        page = after === undefined ? undefined : `&after=${encodeURIComponent(JSON.parse(after) as string)}`;
      }
      const compact = await (await ask(threadPath(thread, `/export?form=compact&run=${name}`), { signal: stop.signal })).text();
      return { raw, compact: compact.split("\n").filter((line) => line !== "") };
    };
    read().then(
      (found) => stop.signal.aborted || (setBoth(found), setFailure(null)),
      (error: unknown) => stop.signal.aborted || (setBoth(null), setFailure(said(error))),
    );
    return () => stop.abort();
  }, [thread, run, next]);
  return [both, failure];
}
