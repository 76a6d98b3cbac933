import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { typesOf } from "../api.mjs";
import { Server } from "./harness.mjs";

test("the types of the server's answers are those that it describes", async () => {
  const server = await new Server().start();
  const held = readFileSync(new URL("../web/api/schema.ts", import.meta.url), "utf8");
  assert.equal(held, await typesOf(server.url), "run npm run api");
  await server.stop();
});
