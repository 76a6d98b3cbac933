// CopilotKit's runtime with its in-memory runner in front of an agent, on loopback: `node copilotkit.mjs FOLDER URL`, where FOLDER
// is one that @copilotkit/runtime is installed in. Says its port, and serves until its standard input ends.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

process.env.NODE_ENV = "production";
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
process.env.DO_NOT_TRACK = "1";

const [folder, url] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/package.json`));
const { CopilotRuntime, InMemoryAgentRunner } = require("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = require("@copilotkit/runtime/v2/node");
const { HttpAgent } = require("@ag-ui/client");

const runtime = new CopilotRuntime({
  agents: { flood: new HttpAgent({ url }) },
  runner: new InMemoryAgentRunner(),
});
const server = createServer(createCopilotNodeListener({ runtime }));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
