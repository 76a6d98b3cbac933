import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { StoredRecord } from "../api/client";
import { FAMILIES, type Family, type Filter, durationOf, familyOf, isOpen, summaryOf, typeOf } from "../logic/events";
import { go, place } from "../model/place";
import type { RecordBook, Scan } from "../model/records";
import { LongList } from "./list";
import { Empty, clock, shortId } from "./parts";
import { RecordView } from "./record";

const ROW = 24;

/** All records of a thread in a line, as many as there are. */
export function EventsView({ book }: { book: RecordBook }) {
  const { run, at: chosen } = place.value;
  const [families, setFamilies] = useState<ReadonlySet<Family>>(new Set());
  const [text, setText] = useState("");
  const range = book.range.value ?? { first: 0, tail: 0 };
  const filter = useMemo<Filter>(() => ({ families, run, text }), [families, run, text]);
  const scan = useScan(book, filter, range.tail);
  void book.version.value;
  const count = scan === null ? range.tail - range.first : scan.offsets.length;
  const offsetAt = (row: number): number => (scan === null ? range.first + row : (scan.offsets[row] ?? 0));
  const rowOf = (offset: number): number => (scan === null ? offset - range.first : scan.offsets.indexOf(offset));
  const choose = (offset: number | undefined) => {
    const { at: _, ...rest } = place.value;
    go(offset === undefined ? rest : { ...rest, at: offset }, "replace");
  };
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || count === 0 || event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    const row = chosen === undefined ? (step > 0 ? 0 : count - 1) : Math.min(count - 1, Math.max(0, rowOf(chosen) + step));
    choose(offsetAt(row));
  };
  useEffect(() => {
    addEventListener("keydown", move);
    return () => removeEventListener("keydown", move);
  });
  return (
    <div class="events">
      <div class="events-list">
        <div class="filters" role="search" aria-label="Filter events">
          {FAMILIES.map((family) => (
            <button
              key={family}
              type="button"
              class={`family family-${family}`}
              aria-pressed={families.has(family)}
              onClick={() => {
                const next = new Set(families);
                if (!next.delete(family)) next.add(family);
                setFamilies(next);
              }}
            >
              {family}
            </button>
          ))}
          <select aria-label="Run" value={run ?? ""} onInput={({ currentTarget: { value } }) => go({ thread: place.value.thread, view: "events", ...(value === "" ? {} : { run: value }) }, "replace")}>
            <option value="">all runs</option>
            {book.runs.value.map(({ runId }) => (
              <option key={runId} value={runId}>
                {shortId(runId)}
              </option>
            ))}
          </select>
          <input type="search" aria-label="Text in events" placeholder="Text" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <span class="faint num" role="status">
            {count.toLocaleString("en")} {scan !== null && !scan.isDone ? `of ${scan.next.toLocaleString("en")} so far` : "events"}
          </span>
        </div>
        {count === 0 ? (
          <Empty title={scan === null ? "Nothing here yet" : scan.isDone ? "No event fits" : "Looking…"} />
        ) : (
          <LongList
            count={count}
            rowHeight={ROW}
            label="Events"
            shown={chosen === undefined ? undefined : rowOf(chosen)}
            active={chosen === undefined ? undefined : `event-${chosen}`}
            isLive
            onRows={(first, end) => {
              if (scan === null) book.need(range.first + first, range.first + end);
            }}
            row={(row) => {
              const offset = offsetAt(row);
              return <EventRow offset={offset} record={book.at(offset)} before={book.at(offset - 1)} isChosen={offset === chosen} hasFinding={book.findings.value.has(offset)} onChoose={() => choose(offset)} />;
            }}
          />
        )}
      </div>
      {chosen !== undefined && <RecordView key={chosen} book={book} offset={chosen} onClose={() => choose(undefined)} />}
    </div>
  );
}

interface RowProps {
  offset: number;
  record: StoredRecord | undefined;
  before: StoredRecord | undefined;
  isChosen: boolean;
  hasFinding: boolean;
  onChoose: () => void;
}

function EventRow({ offset, record, before, isChosen, hasFinding, onChoose }: RowProps) {
  if (record === undefined) {
    return (
      <div class="event faint">
        <span class="event-offset num">{offset}</span>
        <span>…</span>
      </div>
    );
  }
  const type = typeOf(record);
  const gap = before === undefined ? 0 : record.time - before.time;
  return (
    <div class={`event kind-${record.kind}`} id={`event-${offset}`} role="option" aria-selected={isChosen} onClick={onChoose}>
      <span class="event-offset num">{offset}</span>
      <span class="event-time num faint">{clock(record.time)}</span>
      <span class="event-gap num faint">{gap >= 10 ? `+${durationOf(gap)}` : ""}</span>
      <span class={`event-type family-${familyOf(type)}`}>{type}</span>
      {record.kind !== "event" && <span class={`chip ${record.kind === "rejected" ? "chip-bad" : ""}`}>{record.kind}</span>}
      {hasFinding && <span class="chip chip-bad">finding</span>}
      <span class="event-text one-line">{summaryOf(record)}</span>
    </div>
  );
}

/** What a filter finds; none while nothing is filtered. */
function useScan(book: RecordBook, filter: Filter, tail: number): Scan | null {
  const [scan, setScan] = useState<Scan | null>(null);
  const found = useRef<{ filter: Filter; scan: Scan } | null>(null);
  const isAll = isOpen(filter);
  useEffect(() => {
    if (isAll) return setScan(null);
    const stop = new AbortController();
    // What comes later is looked through behind what was: nothing is read twice for a filter.
    const before = found.current?.filter === filter ? found.current.scan : null;
    if (before === null) setScan(null);
    const timer = setTimeout(() => {
      void (async () => {
        try {
          for await (const part of book.scan(filter, stop.signal, before)) {
            if (stop.signal.aborted) return;
            found.current = { filter, scan: part };
            setScan(part);
          }
        } catch {
          // The book says what is wrong when it is asked for more.
        }
      })();
    }, 120);
    return () => (clearTimeout(timer), stop.abort());
  }, [book, filter, isAll, tail]);
  return isAll ? null : (scan ?? { offsets: [], next: 0, isDone: false });
}
