import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server, close, idle, open, quit, say, threadOf } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await quit();
  await server.stop();
});

async function talked(...words) {
  const page = await open(server);
  for (const word of words) {
    await say(page, word);
    await page.locator(".message-user").filter({ hasText: word }).waitFor();
    await idle(page);
  }
  return page;
}
const view = (page, name) => page.getByRole("tab", { name }).click();

test("events are filtered by family, run and text, and each is told exactly", async () => {
  const page = await talked("state", "tool");
  const thread = threadOf(page);
  await view(page, "Events");
  await page.getByText("RUN_FINISHED").first().waitFor();
  await page.getByRole("button", { name: "state", exact: true }).click();
  await page.getByText("2 events").waitFor();
  await page.getByRole("button", { name: "state", exact: true }).click();
  await page.getByLabel("Text in events").fill("COUNT_WORDS");
  await page.getByText("1 events").waitFor();
  await page.getByRole("listbox").getByRole("option").first().click();
  await page.getByRole("complementary").getByText('"count_words"').waitFor();
  await page.getByRole("button", { name: "Stored bytes" }).click();
  const offset = Number(/at=(\d+)/.exec(page.url())[1]);
  const stored = await (await server.ask(`/v1/threads/${thread}/events?after=${offset - 1}&limit=1`)).text();
  const shown = await page.locator(".bytes").innerText();
  assert.ok(stored.includes(`"event":${shown}}`), shown);
  await page.getByLabel("Text in events").fill("");
  await page.getByLabel("Run", { exact: true }).selectOption({ index: 1 });
  await page.getByText("8 events").waitFor();
  await close(page);
});

test("arrow keys go through the events", async () => {
  const page = await talked("hello");
  await view(page, "Events");
  await page.getByText("RUN_FINISHED").waitFor();
  await page.keyboard.press("ArrowUp");
  await page.getByText("Offset 13").waitFor();
  await page.keyboard.press("ArrowUp");
  await page.getByText("Offset 12").waitFor();
  await page.goto(page.url().replace("at=12", "at=5"));
  const before = threadOf(page);
  await page.getByRole("button", { name: "Copy up to here" }).click();
  await page.getByText("The run ended: cancelled").waitFor();
  assert.notEqual(threadOf(page), before);
  assert.equal((await page.locator(".message-assistant").innerText()).trim(), "Hello! I am");
  await close(page);
});

test("what is wrong with an event is said on it", async () => {
  const thread = await server.importEvents([
    { type: "RUN_STARTED", threadId: "odd", runId: "odd-1", protocolVersion: "1.0" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant", vendor: 1.5 },
    { type: "TEXT_MESSAGE_END", messageId: "m" },
    { type: "RUN_FINISHED", threadId: "odd", runId: "odd-1" },
  ]);
  const page = await open(server, `#/t/${thread}/events`);
  await page.getByRole("option").filter({ hasText: "finding" }).click();
  await page.getByRole("complementary").getByText("/vendor").first().waitFor();
  await close(page);
});

test("scrubbing back shows the messages and the state of then, and what has changed them", async () => {
  const page = await talked("state one", "state two", "state three");
  await view(page, "Time travel");
  const state = page.getByLabel("State then");
  await state.getByText("3", { exact: true }).waitFor();
  const { runs } = await (await server.ask(`/v1/threads/${threadOf(page)}/runs`)).json();
  await page.getByLabel("Offset", { exact: true }).fill(String(runs[0].next - 1));
  await state.getByText("1", { exact: true }).waitFor();
  await page.getByLabel("Messages then").getByText("Visits of this thread: 1.").waitFor();
  assert.equal(await page.getByLabel("Messages then").getByText("Visits of this thread: 2.").count(), 0);
  await page.getByLabel("Compared with").fill("0");
  const cause = page.getByLabel("Changes of the state").getByRole("button").last();
  await cause.click();
  await page.getByRole("complementary").getByText("STATE_SNAPSHOT").first().waitFor();
  await page.goBack();
  await state.getByText("1", { exact: true }).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(new RegExp(`at=${runs[0].next - 2}`));
  await close(page);
});

test("runs are a tree, with what can be done from each", async () => {
  const page = await talked("hello", "state");
  await page.locator(".message-user").last().hover();
  await page.getByLabel("Edit and send again, as a branch").last().click();
  await page.getByLabel("The message, to be sent again").fill("think");
  await page.getByRole("button", { name: "Send as a branch" }).click();
  await page.getByText("2/2").waitFor();
  await view(page, "Runs");
  await page.getByRole("img", { name: "3 runs in 2 branches" }).waitFor();
  await page.getByText("Followers here").waitFor();
  await page.getByLabel(/What to do with run/).nth(1).click();
  await page.getByRole("menuitem", { name: "Chat on from here" }).click();
  await page.getByText("Visits of this thread: 1.").waitFor();
  assert.equal(await page.getByText("the answer is 42").count(), 0);
  await view(page, "Runs");
  await page.getByLabel(/What to do with run/).first().click();
  const before = threadOf(page);
  await page.getByRole("menuitem", { name: "Copy the branch to a new thread" }).click();
  await page.getByText("I am a demo").waitFor();
  assert.notEqual(threadOf(page), before);
  await close(page);
});

test("what came is beside what it is compacted to", async () => {
  const page = await talked("hello");
  await view(page, "Compaction");
  await page.getByText(/\d+% saved/).waitFor();
  assert.equal(await page.getByLabel("As it came").last().locator(".event").count(), 14);
  assert.equal(await page.getByLabel("Compacted").last().locator(".event").count(), 6);
  await close(page);
});

test("a thread of 100,000 events opens within 2 s and scrolls", async () => {
  const deltas = Array.from({ length: 100_000 }, (_, at) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: `piece ${at} ` }));
  const thread = await server.importEvents([
    { type: "RUN_STARTED", threadId: "long", runId: "long-1" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    ...deltas,
    { type: "TEXT_MESSAGE_END", messageId: "m" },
    { type: "RUN_FINISHED", threadId: "long", runId: "long-1" },
  ]);
  const page = await open(server);
  await page.getByText("Say something").waitFor();
  const started = Date.now();
  await page.evaluate((id) => (location.hash = `#/t/${id}/events`), thread);
  await page.getByText("RUN_FINISHED").waitFor();
  const took = Date.now() - started;
  assert.ok(took < 2_000, `it took ${took} ms`);
  await page.getByText(/^100,00[45] events/).waitFor();
  const box = page.getByRole("listbox", { name: "Events" });
  const slow = await box.evaluate(async (element) => {
    // The longest that a frame took while somebody scrolls through all of it.
    let longest = 0;
    for (let step = 0; step < 60; step += 1) {
      const before = performance.now();
      element.scrollTop = (element.scrollHeight * step) / 60;
      await new Promise(requestAnimationFrame);
      longest = Math.max(longest, performance.now() - before);
    }
    return longest;
  });
  assert.ok(slow < 250, `a frame took ${slow} ms`);
  await box.evaluate((element) => (element.scrollTop = element.scrollHeight / 2));
  await page.getByText(/piece 500\d\d/).first().waitFor();
  assert.ok((await page.locator(".event").count()) < 200, "only what can be seen is there");
  await page.getByLabel("Text in events").fill("piece 77777 ");
  await page.getByText("1 events").waitFor();
  await close(page);
});
