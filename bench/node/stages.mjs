// The reference's stages, timed from within: one JSON request per line on stdin, `{"stage", "file"}`, one JSON reply per
// line on stdout, `{"ns", ...}`. The packages are those that interop/peers/setup has installed.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// As deployed: during development the packages also freeze what subscribers see, which takes longer.
process.env.NODE_ENV = "production";

const require = createRequire(new URL("../../interop/peers/node/package.json", import.meta.url));
const client = require("@ag-ui/client");
const { from, lastValueFrom, map, tap } = require("rxjs");

// A conversation that warns measures the terminal.
console.warn = (...args) => {
  throw new Error(`unexpected warning: ${args.join(" ")}`);
};

const linesOf = (file) => readFileSync(file, "utf8").trimEnd().split("\n");
const parsed = (file) => linesOf(file).map((line) => JSON.parse(line));

/** Times what is done with what is prepared. */
async function timed(work) {
  const start = process.hrtime.bigint();
  const result = await work();
  return { ns: Number(process.hrtime.bigint() - start), result };
}

/** The stages of an agent, in the order of `AbstractAgent.connectAgent`, without subscribers. */
async function consume(file) {
  const agent = { messages: [], pendingInterrupts: [] };
  const input = { threadId: "", runId: "", state: {}, messages: [] };
  const boundary = new client.CompatibilityBoundary();
  const events = from(linesOf(file)).pipe(
    map((line) => boundary.transformEvent(JSON.parse(line))),
    client.enforceEvents(),
    client.transformChunks(),
    client.verifyEvents(),
  );
  let { messages, state } = input;
  const mutations = client.defaultApplyEvents(input, events, agent, []).pipe(
    tap((mutation) => {
      if (mutation.messages !== undefined) messages = mutation.messages;
      if (mutation.state !== undefined) state = mutation.state;
    }),
  );
  await lastValueFrom(mutations);
  return { messages, state };
}

const stages = {
  /** From the file to messages and state, which `result` is for. */
  async consume({ file, result }) {
    const { ns, result: held } = await timed(() => consume(file));
    if (result !== undefined) writeFileSync(result, JSON.stringify(held));
    return { ns };
  },

  async verify({ file }) {
    const events = parsed(file);
    const { ns } = await timed(() => lastValueFrom(from(events).pipe(client.verifyEvents())));
    return { ns };
  },

  async compact({ file }) {
    const events = parsed(file);
    const { ns, result } = await timed(() => client.compactEvents(events));
    return { ns, events: result.length };
  },

  /** From the file to the bytes of a shorter one. */
  async compactFile({ file }) {
    const { ns } = await timed(() => {
      const compacted = client.compactEvents(parsed(file));
      return Buffer.from(compacted.map((event) => `${JSON.stringify(event)}\n`).join(""));
    });
    return { ns };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(JSON.stringify(await stages[request.stage](request)));
}
