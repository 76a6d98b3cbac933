// The reference's client, timed from within: one JSON request per line on stdin, `{"url", "threadId", "runId"}`, one JSON
// reply per line on stdout, `{"ns", "messages", "chars"}`. The packages are those that interop/peers/setup has installed.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// As deployed: during development the packages also freeze what subscribers see, which takes longer.
process.env.NODE_ENV = "production";

const require = createRequire(new URL("../../interop/peers/node/package.json", import.meta.url));
const { HttpAgent } = require("@ag-ui/client");

// A run that warns measures the terminal.
console.warn = (...args) => {
  throw new Error(`unexpected warning: ${args.join(" ")}`);
};

for await (const line of createInterface({ input: process.stdin })) {
  const { url, threadId, runId } = JSON.parse(line);
  const agent = new HttpAgent({ url, threadId });
  const start = process.hrtime.bigint();
  await agent.runAgent({ runId });
  const ns = Number(process.hrtime.bigint() - start);
  const chars = agent.messages.reduce((sum, { content }) => sum + [...(content ?? "")].length, 0);
  console.log(JSON.stringify({ ns, messages: agent.messages.length, chars }));
}
