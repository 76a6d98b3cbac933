import { useEffect, useState } from "preact/hooks";
import { type StoredRecord, ask, said, send, threadPath } from "../api/client";
import { bytesOf, sizeOf, typeOf } from "../logic/events";
import { rawItems, rawMember } from "../logic/raw";
import { go } from "../model/place";
import type { RecordBook } from "../model/records";
import { Json } from "./json";
import { IconButton, Trouble } from "./parts";
import { trouble } from "./sidebar";

interface Exact {
  record: StoredRecord;
  /** What came, as it came. */
  raw: string;
}

/** One record, as exactly as it is stored. */
async function exact(thread: string, offset: number, signal: AbortSignal): Promise<Exact> {
  const after = offset > 0 ? `after=${offset - 1}&` : "";
  const text = await (await ask(threadPath(thread, `/events?${after}limit=1`), { signal })).text();
  const json = rawItems(rawMember(text, "records") ?? "[]")[0];
  if (json === undefined) throw new Error("There is no such record.");
  const record = JSON.parse(json) as StoredRecord;
  return { record, raw: rawMember(json, "event") ?? record.text ?? record.hex ?? "" };
}

/** A new thread that ends here: the way to go on from any offset. */
async function copyUpTo(thread: string, at: number): Promise<void> {
  const threadId = crypto.randomUUID();
  try {
    await send("POST", threadPath(thread, "/clone"), { threadId, at });
    go({ thread: threadId, view: "chat" });
  } catch (error) {
    trouble(error);
  }
}

export function RecordView({ book, offset, onClose }: { book: RecordBook; offset: number; onClose: () => void }) {
  const [found, setFound] = useState<Exact | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [isRaw, setRaw] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    exact(book.thread, offset, stop.signal).then(setFound, (error: unknown) => stop.signal.aborted || setFailure(said(error)));
    return () => stop.abort();
  }, [book, offset]);
  const { thread } = book;
  return (
    <aside class="record" aria-label={`Record ${offset}`}>
      <header>
        <h2 class="num">Offset {offset}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {failure !== null && <Trouble>{failure}</Trouble>}
      {found && (
        <>
          <dl class="facts">
            <dt>Type</dt>
            <dd class="mono">{typeOf(found.record)}</dd>
            <dt>Taken in</dt>
            <dd class="num">{new Date(found.record.time).toISOString()}</dd>
            <dt>Run</dt>
            <dd>
              <button type="button" class="link mono" onClick={() => go({ thread, view: "events", run: found.record.run, at: offset })}>
                {found.record.run}
              </button>
            </dd>
            <dt>Kind</dt>
            <dd>{KINDS[found.record.kind]}</dd>
            <dt>Size</dt>
            <dd class="num">{sizeOf(bytesOf(found.raw))}</dd>
          </dl>
          <div class="row">
            <button type="button" onClick={() => go({ thread, view: "travel", at: offset })}>
              How it was here
            </button>
            <button type="button" onClick={() => void copyUpTo(thread, offset)}>
              Copy up to here
            </button>
            <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
              {isRaw ? "Decoded" : "Stored bytes"}
            </button>
          </div>
          {(book.findings.value.get(offset) ?? []).map((finding) => (
            <div class="finding" key={`${finding.code}${finding.path}`}>
              <p>
                <span class={`chip ${finding.severity === "error" ? "chip-bad" : "chip-wait"}`}>{finding.severity}</span> <code>{finding.code}</code> {finding.path && <code>{finding.path}</code>}
              </p>
              <p>{finding.message}</p>
              <p class="faint">{finding.advice}</p>
            </div>
          ))}
          {isRaw || found.record.event === undefined ? <pre class="bytes">{found.raw}</pre> : <Json value={found.record.event} open={4} />}
        </>
      )}
    </aside>
  );
}

const KINDS: Record<StoredRecord["kind"], string> = {
  event: "event: as its source wrote it",
  transcoded: "transcoded: came as protobuf",
  made: "made: written by Threadline",
  rejected: "rejected: kept, never delivered",
};
