import { useEffect, useState } from "preact/hooks";
import { type Live, type Run, get, send, threadPath } from "../api/client";
import { durationOf, sizeOf } from "../logic/events";
import { graph } from "../logic/lineage";
import { go, place } from "../model/place";
import type { RecordBook } from "../model/records";
import { exportArtifact, threadNamed } from "../model/threads";
import { Empty, Menu, MenuItem, Status, clock, shortId } from "./parts";
import { trouble } from "./sidebar";

const ROW = 34;
const LANE = 18;

/** The runs as a tree: who went on from whom. */
export function RunsView({ book }: { book: RecordBook }) {
  const runs = book.runs.value;
  const { rows, lanes } = graph(runs);
  const width = Math.min(lanes, 12) * LANE + 12;
  const x = (lane: number) => 12 + Math.min(lane, 11) * LANE;
  const y = (row: number) => row * ROW + ROW / 2;
  return (
    <div class="runs">
      <Facts book={book} />
      {runs.length === 0 && <Empty title="No runs yet" />}
      <div class="runs-table scroll-x">
        <svg class="lineage" width={width} height={rows.length * ROW} role="img" aria-label={`${runs.length} runs in ${lanes} branches`}>
          {rows.map(({ run, lane, parent }, row) => parent && <path key={run.runId} class="edge" d={edge(x(parent.lane), y(row - parent.rows), x(lane), y(row))} />)}
          {rows.map(({ run, lane }, row) => (
            <circle key={run.runId} class={`node node-${run.status}`} cx={x(lane)} cy={y(row)} r={5} />
          ))}
        </svg>
        <table>
          <thead>
            <tr>
              <th>Run</th>
              <th>Status</th>
              <th>Started</th>
              <th>Duration</th>
              <th>Records</th>
              <th>Usage</th>
              <th>
                <span class="sr">More</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ run }) => (
              <RunRow key={run.runId} run={run} thread={book.thread} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function edge(fromX: number, fromY: number, toX: number, toY: number): string {
  if (fromX === toX) return `M${fromX} ${fromY}V${toY}`;
  // To the other lane within a row, then down, past what lies between.
  return `M${fromX} ${fromY}C${fromX} ${fromY + ROW * 0.7} ${toX} ${fromY + ROW * 0.3} ${toX} ${fromY + ROW}V${toY}`;
}

function usageOf(usage: unknown): string {
  if (!Array.isArray(usage)) return "";
  const sum = (name: string) => usage.reduce((all: number, one: Record<string, unknown>) => all + (typeof one[name] === "number" ? (one[name] as number) : 0), 0);
  const [input, output] = [sum("inputTokens"), sum("outputTokens")];
  return input + output > 0 ? `${input} in, ${output} out` : "";
}

function RunRow({ run, thread }: { run: Run; thread: string }) {
  const clone = async () => {
    const threadId = crypto.randomUUID();
    try {
      await send("POST", threadPath(thread, "/clone"), { threadId, runId: run.runId });
      go({ thread: threadId, view: "chat" });
    } catch (error) {
      trouble(error);
    }
  };
  return (
    <tr class={place.value.run === run.runId ? "is-shown" : ""}>
      <td>
        <button type="button" class="link mono" title={run.runId} onClick={() => go({ thread, view: "events", run: run.runId })}>
          {shortId(run.runId)}
        </button>
      </td>
      <td>
        <Status status={run.status} /> {run.errorCode && <code>{run.errorCode}</code>}
      </td>
      <td class="num faint">{clock(run.started)}</td>
      <td class="num">{run.ended === null ? "" : durationOf(run.ended - run.started)}</td>
      <td class="num">
        {run.records} {run.compacted && <span class="chip">compacted</span>}
      </td>
      <td class="num faint">{usageOf(run.usage)}</td>
      <td>
        <Menu label={`What to do with run ${shortId(run.runId)}`}>
          <MenuItem onClick={() => go({ thread, view: "chat", run: run.runId })}>Chat on from here</MenuItem>
          <MenuItem onClick={() => go({ thread, view: "events", run: run.runId })}>Its events</MenuItem>
          <MenuItem onClick={() => go({ thread, view: "travel", at: Math.max(0, run.next - 1), from: run.first })}>What it changed</MenuItem>
          <MenuItem onClick={() => go({ thread, view: "compact", run: run.runId })}>Compaction</MenuItem>
          <MenuItem onClick={() => void clone()}>Copy the branch to a new thread</MenuItem>
          <MenuItem onClick={() => void exportArtifact(thread, run.runId).catch(trouble)}>Export as evidence</MenuItem>
        </Menu>
      </td>
    </tr>
  );
}

/** What is known about the thread at this moment. */
function Facts({ book }: { book: RecordBook }) {
  const [live, setLive] = useState<Live | null>(null);
  const thread = threadNamed(book.thread);
  const tail = book.range.value?.tail;
  useEffect(() => {
    const stop = new AbortController();
    const look = () => get<Live>(threadPath(book.thread, "/live"), {}, stop.signal).then(setLive, () => {});
    void look();
    const timer = setInterval(() => void look(), 2_000);
    return () => (clearInterval(timer), stop.abort());
  }, [book, tail]);
  return (
    <dl class="thread-line">
      <div>
        <dt>Durable before</dt>
        <dd class="num">{live?.durable ?? "…"}</dd>
      </div>
      <div>
        <dt>Followers here</dt>
        <dd class="num">{live?.followers ?? "…"}</dd>
      </div>
      <div>
        <dt>Leases</dt>
        <dd class="num">{live === null ? "…" : live.runs.length === 0 ? "none" : live.runs.map((run) => `${shortId(run.runId)} epoch ${run.epoch}, ${durationOf(run.leaseUntil - live.now)} left`).join("; ")}</dd>
      </div>
      {thread && (
        <>
          <div>
            <dt>Agent</dt>
            <dd>{thread.agent ?? "none"}</dd>
          </div>
          <div>
            <dt>Stored</dt>
            <dd class="num">{sizeOf(thread.bytes)}</dd>
          </div>
          <div>
            <dt>Id</dt>
            <dd class="mono one-line">{thread.threadId}</dd>
          </div>
        </>
      )}
    </dl>
  );
}
