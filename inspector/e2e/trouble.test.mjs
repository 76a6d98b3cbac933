import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { BINARY, Server, answer, close, idle, open, quit, say, threadOf } from "./harness.mjs";

after(quit);

test("a server that is killed and comes back is found again, without a reload", async () => {
  const server = await new Server().start();
  const page = await open(server);
  await say(page, "hello");
  await idle(page);
  await say(page, "slow");
  await answer(page).getByText(/1 2 3/).waitFor();
  await server.kill();
  await page.getByText("offline").waitFor();
  await page.getByText("Connection lost").waitFor();
  await server.start();
  await page.getByText("The run ended: abandoned").waitFor();
  await page.getByRole("status").getByText("live", { exact: true }).or(page.locator(".connection-live")).first().waitFor();
  // What was said before is there, once, and it goes on.
  await answer(page).getByText(/1 2 3/).waitFor();
  assert.equal(await page.locator(".message-user").filter({ hasText: "slow" }).count(), 1);
  await say(page, "state");
  await page.getByText("Visits of this thread: 1.").waitFor();
  // The stock client leaves the end of a stream that was cut unhandled.
  page.wrong = page.wrong.filter((message) => message !== "network error");
  await close(page);
  await server.stop();
});

test("events that come while the server is away are there when it is back, also under a filter", async () => {
  const server = await new Server().start();
  const page = await open(server);
  await say(page, "hello");
  await idle(page);
  const thread = threadOf(page);
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByText("14 events").waitFor();
  await server.kill();
  await page.getByText("offline").waitFor();
  await server.start();
  const input = { threadId: thread, runId: "later", state: {}, messages: [{ id: "l1", role: "user", content: "state" }], tools: [], context: [], forwardedProps: {} };
  await (await server.ask("/agui", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input) })).text();
  await page.getByText("22 events").waitFor();
  await page.getByText("Visits of this thread: 1.").waitFor();
  await page.getByRole("button", { name: "state", exact: true }).click();
  await page.getByText("2 events").waitFor();
  await (await server.ask("/agui", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ...input, runId: "latest" }) })).text();
  await page.getByText("4 events").waitFor();
  page.wrong = page.wrong.filter((message) => message !== "network error");
  await close(page);
  await server.stop();
});

test("the page is where paths.base says, and asks there", async () => {
  const dir = mkdtempSync(join(tmpdir(), "threadline-base-"));
  const file = join(dir, "threadline.toml");
  writeFileSync(file, '[paths]\nbase = "/deep/down"\n');
  const server = await new Server(["--config", file]).start();
  const page = await open(server, "deep/down/");
  await say(page, "hello");
  await page.getByText("I am a demo").waitFor();
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByText("14 events").waitFor();
  await close(page);
  await server.stop();
  rmSync(dir, { recursive: true });
});

test("where a token is needed it is asked for once, and kept in the page only", async () => {
  const dir = mkdtempSync(join(tmpdir(), "threadline-tokens-"));
  const file = join(dir, "tokens.jsonl");
  const said = execFileSync(BINARY, ["token", "create", "--user", "ann", "--permission", "admin", "--tokens", file]).toString();
  const token = /tl_\S+/.exec(said)[0];
  const server = await new Server(["--tokens", file]).start();
  const page = await open(server);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("That token was refused.").waitFor();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Go on" }).click();
  await say(page, "hello");
  await page.getByText("I am a demo").waitFor();
  await idle(page);
  await page.getByLabel("What runs go over").selectOption("websocket");
  await page.getByRole("button", { name: "New chat" }).click();
  await say(page, "state");
  await page.getByText("Visits of this thread: 1.").waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
  assert.ok(!kept.includes(token));
  assert.deepEqual(await page.context().cookies(), []);
  await page.reload();
  await page.getByLabel("Token").waitFor();
  await close(page);
  await server.stop();
  rmSync(dir, { recursive: true });
});
