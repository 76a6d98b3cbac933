// Light, dark and narrow; keys; names for who cannot see. With THREADLINE_SCREENSHOTS=DIR the pictures of the README are made.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { SCREENSHOTS, Server, close, focused, idle, open, quit, say, seen, threadOf } from "./harness.mjs";

const server = new Server();
let hash;
before(async () => {
  await server.start();
  const page = await open(server);
  for (const word of ["state of the order", "think it over", "tool: count these words"]) {
    await say(page, word);
    await page.locator(".message-user").filter({ hasText: word }).waitFor();
    await idle(page);
  }
  await page.locator(".message-user").last().hover();
  await page.getByLabel("Edit and send again, as a branch").last().click();
  await page.getByLabel("The message, to be sent again").fill("tool: count these few words");
  await page.getByRole("button", { name: "Send as a branch" }).click();
  await page.getByText("2/2").waitFor();
  await say(page, "approve it");
  await page.getByText("May I send the letter?").waitFor();
  hash = `#/t/${threadOf(page)}`;
  await close(page);
});
after(async () => {
  await quit();
  await server.stop();
});

const VIEWS = { chat: "", events: "/events?at=24", runs: "/runs", travel: "/travel?at=20", compact: "/compact" };

async function looked(page, kind, view) {
  const name = `${kind}-${view}`;
  await seen(page, view);
  if (view === "events") await page.getByRole("complementary").getByText("TOOL_CALL_START").first().waitFor();
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  const { wide, nameless } = await page.evaluate(() => {
    const labelled = (element) => element.getAttribute("aria-label") || element.textContent.trim() || element.title || element.labels?.length || element.getAttribute("aria-labelledby");
    const all = [...document.querySelectorAll("button, a, input, select, textarea, [role=listbox], [role=img], nav, aside, section, form.ask")];
    return { wide: document.documentElement.scrollWidth - innerWidth, nameless: all.filter((element) => !element.hidden && !labelled(element)).map((element) => element.outerHTML.slice(0, 120)) };
  });
  assert.deepEqual(nameless, [], name);
  assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
}

for (const [kind, options] of Object.entries({
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  narrow: { colorScheme: "light", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
})) {
  test(`all views, ${kind}`, async () => {
    const page = await open(server, hash, options);
    await page.getByText("May I send the letter?").waitFor();
    for (const [view, path] of Object.entries(VIEWS)) {
      await page.evaluate((to) => (location.hash = to), hash + path);
      await page.getByRole("tab", { selected: true }).waitFor();
      await looked(page, kind, view);
    }
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper === "rgb(255, 255, 255)", kind !== "dark", paper);
    await close(page);
  });
}

test("the list is over the rest where there is no room for it", async () => {
  const page = await open(server, hash, { viewport: { width: 390, height: 844 } });
  await page.getByText("May I send the letter?").waitFor();
  assert.ok(!(await page.getByRole("navigation").isVisible()));
  await page.getByRole("button", { name: "Threads" }).click();
  await page.getByRole("navigation").getByRole("button", { name: "New chat" }).click();
  await page.getByText("Say something").waitFor();
  assert.ok(!(await page.getByRole("navigation").isVisible()));
  await close(page);
});

test("keys do what their list says", async () => {
  const page = await open(server, hash);
  await page.getByText("May I send the letter?").waitFor();
  await focused(page, "composer");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  for (const [key, view] of [["2", "Events"], ["3", "Runs"], ["4", "Time travel"], ["5", "Compaction"], ["1", "Chat"]]) {
    await page.keyboard.press(key);
    await page.getByRole("tab", { name: view, selected: true }).waitFor();
  }
  // The chat takes the focus, for who wants to write, and keeps it when it turns out that the agent waits.
  await page.getByText("May I send the letter?").waitFor();
  await focused(page, "composer");
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  await page.keyboard.press("s");
  assert.equal(await page.getByRole("complementary", { name: "State" }).count(), 0);
  await page.keyboard.press("/");
  await focused(page, "search");
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.getByText("Say something").waitFor();
  await focused(page, "composer");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.getByText("May I send the letter?").waitFor();
  await close(page);
});
