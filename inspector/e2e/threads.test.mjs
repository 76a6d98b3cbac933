import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Server, close, idle, open, quit, say, threadOf, until } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await quit();
  await server.stop();
});

const list = (page) => page.getByRole("navigation", { name: "Threads" });
async function more(page, name, item) {
  await list(page).getByRole("listitem").filter({ hasText: name }).hover();
  await page.getByLabel(`More about ${name}`).click();
  await page.getByRole("menuitem", { name: item }).click();
}

test("threads are renamed, archived, found, exported, imported by a drop, and deleted, in every tab", async () => {
  const page = await open(server);
  const other = await open(server);
  await say(page, "hello zebra");
  await idle(page);
  const thread = threadOf(page);
  await list(other).getByText("hello zebra").waitFor();

  await more(page, "hello zebra", "Rename");
  await page.getByLabel("Name of the thread").fill("Striped");
  await page.keyboard.press("Enter");
  await list(other).getByText("Striped").waitFor();

  await page.getByLabel("Search threads by words").fill("zebra");
  await list(page).getByText("Striped").waitFor();
  await page.getByLabel("Search threads by words").fill("nosuchword");
  await list(page).getByText("Nothing found").waitFor();
  await page.getByLabel("Search threads by words").fill("");

  const download = page.waitForEvent("download");
  await more(page, "Striped", "Export records");
  const saved = readFileSync(await (await download).path(), "utf8");
  assert.match(saved, /"threadline":/);

  await more(page, "Striped", "Archive");
  await list(other).getByText("No threads yet").waitFor();
  await page.getByLabel("Archived").check();
  page.removeAllListeners("dialog");
  page.on("dialog", (dialog) => void dialog.accept());
  await more(page, "Striped", "Delete");
  await list(page).getByText("Nothing archived").waitFor();
  await until("it is gone", async () => (await fetch(`${server.url}/v1/threads/${thread}`)).status === 404);

  await other.evaluate((text) => {
    const files = new DataTransfer();
    files.items.add(new File([text], "export.jsonl"));
    document.querySelector("nav").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
  }, saved);
  await other.getByText("I am a demo without a model").waitFor();
  assert.equal(threadOf(other), thread);
  await close(page);
  await close(other);
});

test("what cannot be imported is said", async () => {
  const thread = await server.importEvents([{ type: "RUN_STARTED", threadId: "twice", runId: "r1" }]);
  const saved = await (await server.ask(`/v1/threads/${thread}/export`)).text();
  const page = await open(server);
  await page.setInputFiles('input[type="file"]', { name: "x.jsonl", mimeType: "text/plain", buffer: Buffer.from(saved) });
  await page.getByRole("alert").getByText("twice").waitFor();
  await close(page);
});

test("a run is exported as evidence, or it is said why it is none", async () => {
  const ids = { threadId: "evidence", runId: "r1" };
  const thread = await server.importEvents([
    { type: "RUN_STARTED", ...ids, timestamp: 1 },
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u1", role: "user", content: "Hello" }] },
    { type: "RUN_FINISHED", ...ids },
  ]);
  const page = await open(server, `#/t/${thread}/runs`);
  const download = page.waitForEvent("download");
  await page.getByLabel(/What to do with run/).click();
  await page.getByRole("menuitem", { name: "Export as evidence" }).click();
  const artifact = JSON.parse(readFileSync(await (await download).path(), "utf8"));
  assert.equal(artifact.schema, "ag-ui.compacted-message-snapshot.export.v1");
  assert.deepEqual(artifact.messages, [{ id: "u1", role: "user", content: "Hello" }]);

  await server.importEvents([
    { type: "RUN_STARTED", threadId: "none", runId: "r1" },
    { type: "RUN_FINISHED", threadId: "none", runId: "r1" },
  ]);
  await page.goto(`${server.url}/#/t/none/runs`);
  await page.getByLabel(/What to do with run/).click();
  await page.getByRole("menuitem", { name: "Export as evidence" }).click();
  await page.getByRole("alert").getByText("no_snapshot").waitFor();
  await close(page);
});
