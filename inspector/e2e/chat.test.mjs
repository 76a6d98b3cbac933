import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server, answer, close, focused, idle, open, quit, say, threadOf, until } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await quit();
  await server.stop();
});

const COUNTED = Array.from({ length: 60 }, (_, at) => at + 1).join(" ");

test("first visit, first answer: soon, small, and nothing from elsewhere", async () => {
  const page = await open(server);
  await page.getByText("Say something").waitFor();
  const { paint, bytes } = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter((entry) => /\/$|\/assets\//.test(new URL(entry.name).pathname))
      .reduce((sum, entry) => sum + entry.encodedBodySize, 0),
  }));
  assert.ok(paint < 1000, `first paint after ${paint} ms`);
  assert.ok(bytes > 1000 && bytes < 300 * 1024, `${bytes} bytes`);
  await say(page, "hello");
  await answer(page).getByText("Hello! I am a demo without a model. Say help.").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "hello" }).waitFor();
  await close(page);
});

test("a reload in mid-answer continues the answer", async () => {
  const page = await open(server);
  await say(page, "slow");
  await answer(page).getByText(/1 2 3 4 5/).waitFor();
  await page.reload();
  await answer(page).getByText(/1 2 3/).waitFor();
  const early = (await answer(page).innerText()).trim();
  assert.ok(!early.endsWith("60"), "it has to go on after the reload");
  await idle(page);
  await until("the whole answer, once", async () => (await answer(page).innerText()).trim() === COUNTED);
  assert.equal(await page.locator(".message-assistant").count(), 1);
  await close(page);
});

test("a second tab follows, and an idle one sees what another starts", async () => {
  const one = await open(server);
  await say(one, "hello");
  await idle(one);
  const other = await open(server, new URL(one.url()).hash);
  await other.getByText("I am a demo").waitFor();
  await say(one, "slow");
  await answer(other).getByText(/1 2 3/).waitFor();
  assert.ok(await other.getByLabel("Stop").isVisible(), "it goes on");
  for (const page of [one, other]) {
    await until("the whole answer", async () => (await answer(page).innerText()).trim() === COUNTED);
    await idle(page);
    await close(page);
  }
});

test("stop stops", async () => {
  const page = await open(server);
  await say(page, "slow");
  await answer(page).getByText(/1 2 3/).waitFor();
  await page.getByLabel("Stop").click();
  await page.getByText("The run ended: cancelled").waitFor();
  assert.ok(!(await answer(page).innerText()).includes("60"));
  await say(page, "hello");
  await page.getByText("I am a demo").waitFor();
  await close(page);
});

test("a question is answered after a reload", async () => {
  const page = await open(server);
  await say(page, "approve");
  await page.getByText("May I send the letter?").waitFor();
  await page.reload();
  await page.getByText("May I send the letter?").waitFor();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByText("Approved: the letter is sent.").waitFor();
  assert.equal(await page.getByText("May I send the letter?").count(), 0);
  await close(page);
});

test("who writes when a question comes stays where they write, and is there again after the answer", async () => {
  const page = await open(server);
  await say(page, "approve");
  await page.getByText("May I send the letter?").waitFor();
  const asked = page.url();
  // No shortcuts for a new chat and for the events.
  await page.keyboard.type("n2");
  await focused(page, "composer");
  assert.equal(page.url(), asked);
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await focused(page, "composer");
  await page.getByText("Approved: the letter is sent.").waitFor();
  await page.keyboard.type("next");
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "next");
  await close(page);
});

test("a client's tool is answered in place", async () => {
  const page = await open(server);
  await say(page, "ask");
  await page.getByPlaceholder("What the tool returns").fill("certainly");
  await page.getByRole("button", { name: "Send result" }).click();
  await page.getByText("Your tool answered: certainly").waitFor();
  await close(page);
});

test("reasoning is folded, calls have arguments and results, activities and state are there", async () => {
  const page = await open(server);
  await say(page, "think");
  await page.getByText("Reasoning", { exact: true }).click();
  await page.getByText("to see me think").waitFor();
  await idle(page);
  await say(page, "tool");
  await page.getByText("You wrote 1 words.").waitFor();
  await page.locator(".call summary").first().click();
  await page.locator(".call").getByText('"tool"', { exact: true }).waitFor();
  await idle(page);
  await say(page, "activity");
  await page.locator(".activity").getByText('"A plan"').waitFor();
  await idle(page);
  await say(page, "state");
  await page.getByLabel("State").getByText("visits").waitFor();
  await idle(page);
  await say(page, "fail");
  await page.getByText("The run ended: failed (demo_failed)").waitFor();
  await close(page);
});

test("an edit makes a branch, and both can be read", async () => {
  const page = await open(server);
  await say(page, "tool one two");
  await page.getByText("You wrote 3 words.").waitFor();
  await idle(page);
  await page.locator(".message-user").first().hover();
  await page.getByLabel("Edit and send again, as a branch").click();
  await page.getByLabel("The message, to be sent again").fill("tool one two three four");
  await page.getByRole("button", { name: "Send as a branch" }).click();
  await page.getByText("You wrote 5 words.").waitFor();
  await page.getByText("2/2").waitFor();
  assert.equal(await page.getByText("You wrote 3 words.").count(), 0);
  await page.getByLabel("The branch before").click();
  await page.getByText("You wrote 3 words.").waitFor();
  await page.getByText("1/2").waitFor();
  // It goes on from there, and not from the other.
  await say(page, "hello");
  await page.getByText("I am a demo").waitFor();
  await idle(page);
  await page.getByLabel("The next branch").click();
  await page.getByText("You wrote 5 words.").waitFor();
  assert.equal(await page.getByText("I am a demo").count(), 0);
  const { runs } = await (await server.ask(`/v1/threads/${threadOf(page)}/runs`)).json();
  assert.deepEqual(runs.map((run) => run.parentRunId), [null, null, runs[0].runId]);
  await close(page);
});

test("the branch that is shown is in the address", async () => {
  const page = await open(server);
  await say(page, "state");
  await page.getByText("Visits of this thread: 1.").waitFor();
  await idle(page);
  await page.locator(".message-assistant").hover();
  await page.getByLabel("Ask for another answer, as a branch").click();
  await page.getByText("2/2").waitFor();
  await page.getByLabel("The branch before").click();
  await page.getByText("Visits of this thread: 1.").waitFor();
  await page.reload();
  await page.getByText("Visits of this thread: 1.").waitFor();
  await page.getByText("1/2").waitFor();
  await close(page);
});

test("another answer is a branch, chosen on the answer", async () => {
  const page = await open(server);
  await say(page, "state");
  await page.getByText("Visits of this thread: 1.").waitFor();
  await idle(page);
  await page.locator(".message-assistant").hover();
  await page.getByLabel("Ask for another answer, as a branch").click();
  await page.getByText("Visits of this thread: 2.").waitFor();
  await page.locator(".message-assistant").getByText("2/2").waitFor();
  await page.getByLabel("The branch before").click();
  await page.getByText("Visits of this thread: 1.").waitFor();
  await close(page);
});

test("the same over the server's WebSocket", async () => {
  const page = await open(server);
  await page.getByLabel("What runs go over").selectOption("websocket");
  const socket = page.waitForEvent("websocket");
  await say(page, "slow");
  assert.match((await socket).url(), /\/agents\/demo\/ws$/);
  await answer(page).getByText(/1 2 3/).waitFor();
  await page.getByLabel("Stop").click();
  await page.getByText("The run ended: cancelled").waitFor();
  await say(page, "approve");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Denied: the letter stays here.").waitFor();
  await close(page);
});
