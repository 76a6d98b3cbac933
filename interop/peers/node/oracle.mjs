// The AG-UI 1.0.0 npm packages behind a line protocol: one JSON request per
// line on stdin, exactly one JSON reply per line on stdout, in order. The
// requests and replies of each op are in ../README.md.

import { format } from "node:util";
import {
  CompatibilityBoundary,
  compactEvents,
  defaultApplyEvents,
  enforceEvents,
  HttpAgent,
  enforceOutgoingInput,
  parseSSEStream,
  transformChunks,
  verifyEvents,
} from "@ag-ui/client";
import { AgentCapabilitiesSchema, EventSchemas, RunAgentInputSchema } from "@ag-ui/core/schemas";
import { AGUIUnknownEventTypeError, decode, encode } from "@ag-ui/proto";
import * as old from "client-0";
import { from, lastValueFrom, map, of, Subject, tap } from "rxjs";
import { serve } from "./lines.mjs";

// What enforcement strips is visible only in the warnings it prints, and this
// variable, read by the packages at each call, would silence them.
delete process.env.SUPPRESS_TRANSFORMATION_WARNINGS;

// Warnings belong to the reply of the request that caused them. Left on
// stderr they would also fill a pipe that the test may never drain.
let warnings = [];
console.warn = (...args) => warnings.push(format(...args));
// stdout carries replies only.
console.log = console.info = console.debug = console.error;

const STRIPPED =
  /^\[ag-ui\]\[enforce\] Removed unrecognised material at '(.*)' (?:on [A-Z_]+\. Nothing handled it;|from the outgoing input\.)/s;

/** The paths that enforcement reported since `warnings` held `mark` entries. */
const strippedSince = (mark) =>
  warnings.slice(mark).flatMap((warning) => STRIPPED.exec(warning)?.slice(1) ?? []);

/** Runs the enforcement stage on one event, in a subscription of its own. */
function enforceOne(event) {
  const mark = warnings.length;
  const result = { verdict: "dropped" };
  // Handlers only record: rxjs rethrows what a handler throws from a timer,
  // where it would end the process.
  of(event).pipe(enforceEvents()).subscribe({
    next: (kept) => Object.assign(result, { verdict: "kept", event: kept }),
    error: (error) => Object.assign(result, { verdict: "fatal", error: messageOf(error) }),
  });
  return { ...result, stripped: strippedSince(mark) };
}

/** Buffer.from stops silently at the first character that is not hex. */
function bytesOf(hex) {
  const bytes = Buffer.from(hex, "hex");
  if (bytes.length * 2 !== hex.length) throw new Error("not a hex string");
  // A copy, because Buffer overrides Uint8Array methods that a reader may use.
  return new Uint8Array(bytes);
}

/** Runs the reducer, and says what an agent would hold in the end. */
async function fold(events, input, apply = defaultApplyEvents) {
  const agent = { messages: input.messages, pendingInterrupts: [] };
  const pendingToolCalls = [];
  const subscriber = {
    onRunFinishedEvent: ({ pendingToolCallIds }) => void pendingToolCalls.push(pendingToolCallIds ?? []),
  };
  let { messages, state } = input;
  const mutations = apply(input, from(events), agent, [subscriber]).pipe(
    tap((mutation) => {
      if (mutation.messages !== undefined) messages = mutation.messages;
      if (mutation.state !== undefined) state = mutation.state;
    }),
  );
  await lastValueFrom(mutations, { defaultValue: undefined });
  return {
    messages: writable(messages),
    state: writable(state),
    interrupts: agent.pendingInterrupts,
    pendingToolCalls,
  };
}

/** A patch can move a document into itself, and then JSON has no words for it. */
function writable(value) {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return "unwritable";
  }
}

const EMPTY_INPUT = { threadId: "", runId: "", state: {}, messages: [] };

/** Runs the stages up to the first failure, and the reducer on what they delivered. */
async function consume(events, input, stages, apply) {
  const delivered = [];
  let seen = 0;
  let failure;
  stages
    .reduce((stream, stage) => stream.pipe(stage), from(events.map((json) => JSON.parse(json))).pipe(tap(() => (seen += 1))))
    .subscribe({ next: (event) => delivered.push(event), error: (error) => (failure = error) });
  // Applied on their own, after verification: the reducer is asynchronous, and an error that overtakes it would hide the
  // effects of events that were good.
  return {
    delivered,
    failedAt: failure === undefined ? null : seen - 1,
    failure: failure === undefined ? null : messageOf(failure),
    ...(await fold(structuredClone(delivered), input, apply)),
  };
}

const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** Fails a request, keeping what the stream had delivered before. */
class StreamError extends Error {
  constructor(cause, events) {
    super(messageOf(cause), { cause });
    this.partial = { events };
  }
}

/** The client as it is, but for what it accepts. */
const accepting = (Agent, accept) =>
  class extends Agent {
    requestInit(input) {
      const init = super.requestInit(input);
      return accept === undefined ? init : { ...init, headers: { ...init.headers, Accept: accept } };
    }
  };

/** Does what a user would do before the next run, and gives what the run is asked. */
function prepare(agent, { id, say, result, answer, tools }) {
  if (say !== undefined) agent.addMessage({ id: `user-${id}`, role: "user", content: say });
  if (result !== undefined) {
    const call = agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []).at(-1);
    agent.addMessage({ id: `result-${id}`, role: "tool", toolCallId: call.id, content: result });
  }
  const resume = (agent.pendingInterrupts ?? []).map(({ id: interruptId }) => ({
    interruptId,
    status: "resolved",
    payload: answer,
  }));
  return { runId: `run-${id}`, tools, ...(answer !== undefined && { resume }) };
}

const ops = {
  /** A conversation over HTTP, by the client itself: one run a turn. */
  async converse({ url, turns, accept, old: isOld = false }) {
    let contentType;
    const noting = async (...request) => {
      const response = await fetch(...request);
      contentType = response.headers.get("content-type");
      return response;
    };
    const Agent = accepting(isOld ? old.HttpAgent : HttpAgent, accept);
    const agent = new Agent({ url, threadId: "thread", fetch: noting });
    const runs = [];
    for (const [at, turn] of turns.entries()) {
      const events = [];
      let failure = null;
      try {
        await agent.runAgent(prepare(agent, { id: at, ...turn }), {
          onEvent: ({ event }) => void events.push(event),
        });
      } catch (error) {
        failure = messageOf(error);
      }
      const { messages, state, pendingInterrupts: interrupts = [] } = agent;
      runs.push(structuredClone({ contentType, events, failure, messages, state, interrupts }));
    }
    return { runs };
  },

  schema({ json }) {
    const event = JSON.parse(json);
    const parsed = EventSchemas.parse(event);
    // The validators are loose: only enforcement tells unknown properties.
    const { verdict, error, stripped } = enforceOne(event);
    if (verdict !== "kept") throw new Error(`valid, but enforcement says ${verdict}: ${error}`);
    return { json: JSON.stringify(parsed), stripped };
  },

  input({ json }) {
    const input = JSON.parse(json);
    const parsed = RunAgentInputSchema.parse(input);
    const mark = warnings.length;
    enforceOutgoingInput(input);
    return { json: JSON.stringify(parsed), stripped: strippedSince(mark) };
  },

  capabilities({ json }) {
    return { json: JSON.stringify(AgentCapabilitiesSchema.parse(JSON.parse(json))) };
  },

  encode({ json }) {
    return { hex: Buffer.from(encode(JSON.parse(json))).toString("hex") };
  },

  decode({ hex }) {
    const bytes = bytesOf(hex);
    try {
      return { json: JSON.stringify(decode(bytes)) };
    } catch (error) {
      // Not a failure: the reader drops an event of a later protocol.
      if (error instanceof AGUIUnknownEventTypeError) return { unknown: true };
      throw error;
    }
  },

  enforce({ events }) {
    const results = events.map((json) => {
      const { event, ...result } = enforceOne(JSON.parse(json));
      return { ...result, json: JSON.stringify(event) };
    });
    return { results };
  },

  translate({ events }) {
    // One boundary for the whole list: it carries the ids that it invents from
    // an opening event to the later ones. Its method is private in TypeScript
    // only, and the public way in needs a whole agent.
    const boundary = new CompatibilityBoundary();
    const translated = [];
    try {
      for (const json of events) {
        translated.push(JSON.stringify(boundary.transformEvent(JSON.parse(json))));
      }
    } catch (error) {
      throw new StreamError(error, translated);
    }
    return { events: translated };
  },

  /** The reducer alone, over events that no stage has looked at. */
  async fold({ events, input = EMPTY_INPUT }) {
    return fold(
      events.map((json) => JSON.parse(json)),
      input,
    );
  },

  compact({ events }) {
    return { events: compactEvents(events.map((json) => JSON.parse(json))).map((event) => JSON.stringify(event)) };
  },

  /** The stages of a consumer, over one stream. Translation comes first where it is asked for. */
  /** The stages of the last consumer before 1.0, whose transport validates each event. */
  async consumeOld({ events, input = EMPTY_INPUT }) {
    return consume(
      events,
      input,
      [map((event) => old.EventSchemas.parse(event)), old.transformChunks(), old.verifyEvents()],
      old.defaultApplyEvents,
    );
  },

  async consume({ events, translate = false, input = EMPTY_INPUT }) {
    const boundary = new CompatibilityBoundary();
    const translated = translate ? (event) => boundary.transformEvent(event) : (event) => event;
    return consume(events, input, [map(translated), enforceEvents(), transformChunks(), verifyEvents()]);
  },

  sse({ hex, chunks = [] }) {
    const bytes = bytesOf(hex);
    // The parser subscribes to its source at once and replays nothing, so the
    // bytes must flow only after we listen: hence a Subject.
    const source = new Subject();
    const parsed = [];
    let failure;
    parseSSEStream(source).subscribe({
      next: (event) => parsed.push(event),
      error: (error) => (failure = error),
    });
    let start = 0;
    // Bytes that the sizes leave over are one last chunk.
    for (const size of [...chunks, bytes.length]) {
      source.next({ type: "data", data: bytes.subarray(start, start + size) });
      start += size;
    }
    source.complete();
    const events = parsed.map((event) => JSON.stringify(event));
    if (failure !== undefined) throw new StreamError(failure, events);
    return { events };
  },
};

async function answer(line) {
  warnings = [];
  try {
    const request = JSON.parse(line);
    if (!Object.hasOwn(ops, request.op)) throw new Error(`unknown op: ${request.op}`);
    return JSON.stringify({ ok: true, ...(await ops[request.op](request)), warnings });
  } catch (error) {
    return JSON.stringify({ ok: false, error: messageOf(error), ...error?.partial, warnings });
  }
}

await serve(answer);
