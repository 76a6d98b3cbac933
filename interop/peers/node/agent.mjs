// An AG-UI agent made of the npm encoder, which knows nothing of cursors, connects or cancels. Prints its URL in one
// line, and ends with stdin.
//
// What it does is the last word of the request's last message: `hello` says something, `tool` calls a tool of its own,
// `client` one of the client's and repeats its result in the next run, `state` has one, `fail` fails in the middle of a
// sentence, `refuse` answers with 422, `stop` ends the response in the middle of a run.

import { createServer } from "node:http";
import { RunAgentInputSchema } from "@ag-ui/core/schemas";
import { EventEncoder } from "@ag-ui/encoder";

const text = (id, ...deltas) => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta })),
  { type: "TEXT_MESSAGE_END", messageId: id },
];

const call = (id, name, ...deltas) => [
  { type: "TOOL_CALL_START", toolCallId: id, toolCallName: name },
  ...deltas.map((delta) => ({ type: "TOOL_CALL_ARGS", toolCallId: id, delta })),
  { type: "TOOL_CALL_END", toolCallId: id },
];

const SCRIPTS = {
  hello: (run) => text(`${run}-m`, "Hel", "lo."),
  tool: (run) => [
    ...call(`${run}-c`, "add", '{"a":1', ',"b":2}'),
    { type: "TOOL_CALL_RESULT", messageId: `${run}-r`, toolCallId: `${run}-c`, content: "3", role: "tool" },
    ...text(`${run}-m`, "It is 3."),
  ],
  client: (run) => call(`${run}-c`, "confirm", "{}"),
  state: () => [
    { type: "STATE_SNAPSHOT", snapshot: { count: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/count", value: 2 }] },
  ],
  fail: (run) => [...text(`${run}-m`, "I was").slice(0, -1), { type: "RUN_ERROR", message: "out of words", code: "empty" }],
  stop: (run) => text(`${run}-m`, "I was").slice(0, -1),
};

function play({ threadId, runId, messages }) {
  const last = messages.at(-1);
  const word = last?.role === "tool" ? "result" : String(last?.content).split(" ").at(-1);
  const started = { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" };
  const finished = { type: "RUN_FINISHED", threadId, runId };
  if (word === "result") return [started, ...text(`${runId}-m`, `You said ${last.content}.`), finished];
  const events = (SCRIPTS[word] ?? SCRIPTS.hello)(runId);
  return ["fail", "stop"].includes(word) ? [started, ...events] : [started, ...events, finished];
}

const server = createServer(async (request, response) => {
  if (request.method !== "POST" || request.url !== "/agent") return response.writeHead(404).end();
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  let json;
  try {
    json = JSON.parse(body);
  } catch {
    return response.writeHead(400).end("no");
  }
  const input = RunAgentInputSchema.safeParse(json);
  if (!input.success || input.data.messages.at(-1)?.content === "refuse") return response.writeHead(422).end("no");
  const encoder = new EventEncoder({ accept: request.headers.accept });
  response.writeHead(200, { "content-type": encoder.getContentType() });
  for (const event of play(input.data)) response.write(encoder.encodeBinary(event));
  response.end();
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/agent`));
process.stdin.resume().on("end", () => process.exit(0));
