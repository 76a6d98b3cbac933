import { signal } from "@preact/signals";
import { type EventPage, type Finding, type Findings, type Run, type StoredRecord, ask, get, pause, said, threadPath } from "../api/client";
import { framesOf } from "../api/sse";
import { type Filter, fits } from "../logic/events";

/** How many records are asked for together where somebody looks, and where all are gone through. */
const PAGE = 500;
const SCAN_PAGE = 5_000;

/** What a filter has found so far. */
export interface Scan {
  offsets: readonly number[];
  /** How far it has come. */
  next: number;
  isDone: boolean;
}

/** The records of a thread: those that somebody looks at are there, the others can be asked for. */
export class RecordBook {
  /** The first offset, and one past the last. */
  readonly range = signal<{ first: number; tail: number } | null>(null);
  readonly runs = signal<readonly Run[]>([]);
  readonly failure = signal<string | null>(null);
  /** Counts what has come. */
  readonly version = signal(0);
  readonly findings = signal<ReadonlyMap<number, readonly Finding[]>>(new Map());

  #pages = new Map<number, Map<number, StoredRecord>>();
  #asked = new Set<number>();
  #checked = new Set<string>();
  #end = new AbortController();

  constructor(readonly thread: string) {
    void this.#open();
  }

  close(): void {
    this.#end.abort();
  }

  at(offset: number): StoredRecord | undefined {
    return this.#pages.get(Math.floor(offset / PAGE))?.get(offset);
  }

  /** Sees to it that these are there. */
  need(first: number, end: number): void {
    for (let page = Math.floor(first / PAGE); page * PAGE < end; page += 1) {
      if (!this.#asked.has(page)) void this.#load(page);
    }
  }

  async #open(): Promise<void> {
    for (let wait = 250; !this.#end.signal.aborted; wait = Math.min(wait * 2, 5_000)) {
      try {
        const info = await get<{ first: number; tail: number }>(threadPath(this.thread), {}, this.#end.signal);
        // Who was cut off goes on where that was: what has come since is in no page yet.
        const tail = this.range.value?.tail ?? info.tail;
        this.range.value = { first: info.first, tail };
        await this.learnRuns();
        this.failure.value = null;
        wait = 250;
        await this.#follow(tail);
      } catch (error) {
        if (!this.#end.signal.aborted) this.failure.value = said(error);
      }
      await pause(wait, this.#end.signal);
    }
  }

  async learnRuns(): Promise<void> {
    this.runs.value = (await get<{ runs: Run[] }>(threadPath(this.thread, "/runs"), {}, this.#end.signal)).runs;
  }

  /** What comes from now on. */
  async #follow(tail: number): Promise<void> {
    const after = tail > 0 ? `?after=${tail - 1}` : "";
    const init = { headers: { accept: "text/event-stream" }, signal: this.#end.signal };
    const response = await ask(threadPath(this.thread, `/events${after}`), init);
    for await (const { data } of framesOf(response)) {
      const record = JSON.parse(data) as StoredRecord;
      this.#keep([record]);
      const range = this.range.value;
      if (range !== null && record.offset >= range.tail) this.range.value = { ...range, tail: record.offset + 1 };
      const type = (record.event as { type?: string } | undefined)?.type;
      if (type === "RUN_STARTED" || type === "RUN_FINISHED" || type === "RUN_ERROR") void this.learnRuns().catch(() => {});
    }
  }

  async #load(page: number): Promise<void> {
    this.#asked.add(page);
    try {
      const first = Math.max(page * PAGE, this.range.value?.first ?? 0);
      const until = (page + 1) * PAGE;
      const { records } = await this.#read(first, until, PAGE);
      this.#keep(records);
      // A page that is not full yet is filled by what follows.
      for (const run of new Set(records.map((record) => record.run))) void this.#check(run);
    } catch (error) {
      if (!this.#end.signal.aborted) this.failure.value = said(error);
      this.#asked.delete(page);
    }
  }

  #read(first: number, until: number, limit: number): Promise<EventPage> {
    const query = { after: first > 0 ? first - 1 : undefined, until, limit };
    return get<EventPage>(threadPath(this.thread, "/events"), query, this.#end.signal);
  }

  #keep(records: readonly StoredRecord[]): void {
    for (const record of records) {
      const number = Math.floor(record.offset / PAGE);
      const page = this.#pages.get(number) ?? new Map<number, StoredRecord>();
      page.set(record.offset, record);
      this.#pages.set(number, page);
    }
    this.version.value += 1;
  }

  /** What is wrong with a run, once it is over. */
  async #check(run: string): Promise<void> {
    if (this.#checked.has(run)) return;
    this.#checked.add(run);
    try {
      const path = threadPath(this.thread, `/runs/${encodeURIComponent(run)}/findings`);
      const { findings } = await get<Findings>(path, {}, this.#end.signal);
      const all = new Map(this.findings.value);
      for (const finding of findings) for (const offset of finding.offsets) all.set(offset, [...(all.get(offset) ?? []), finding]);
      if (findings.length > 0) this.findings.value = all;
    } catch {
      this.#checked.delete(run);
    }
  }

  /** Goes through all records, or those behind what was found before, and tells as it goes which of them fit. */
  async *scan(filter: Filter, stop: AbortSignal, before: Scan | null): AsyncGenerator<Scan> {
    const offsets = [...(before?.offsets ?? [])];
    let next = before?.next ?? this.range.value?.first ?? 0;
    while (!stop.aborted) {
      const tail = this.range.value?.tail ?? 0;
      if (next >= tail) break;
      const { records } = await this.#read(next, tail, SCAN_PAGE);
      this.#keep(records);
      for (const record of records) if (fits(record, filter)) offsets.push(record.offset);
      const last = records.at(-1);
      if (last === undefined) break;
      next = last.offset + 1;
      yield { offsets: [...offsets], next, isDone: next >= tail };
    }
    yield { offsets, next, isDone: true };
  }

  /** All records between two offsets, of these runs. */
  async between(first: number, end: number, runs: ReadonlySet<string>, stop: AbortSignal): Promise<StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (let next = first; next < end && !stop.aborted; ) {
      const { records } = await this.#read(next, end, SCAN_PAGE);
      found.push(...records.filter((record) => runs.has(record.run)));
      const last = records.at(-1);
      if (last === undefined) break;
      next = last.offset + 1;
    }
    return found;
  }
}
