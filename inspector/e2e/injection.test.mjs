// What agents, tools and users say is text, wherever it is shown.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server, close, open, quit, seen } from "./harness.mjs";

const server = new Server();
before(() => server.start());
after(async () => {
  await quit();
  await server.stop();
});

const CALLS = ["alert(1)", "window.pwned=1", "fetch('//evil.example')", "top.pwned=1", "eval('pwned=1')"];
const VECTORS = [
  (js) => `<script>${js}</script>`,
  (js) => `<img src=x onerror="${js}">`,
  (js) => `<svg onload="${js}">`,
  (js) => `<svg><script>${js}</script></svg>`,
  (js) => `<iframe srcdoc="<script>${js}</script>"></iframe>`,
  (js) => `<iframe src="javascript:${js}">`,
  (js) => `<a href="javascript:${js}">click</a>`,
  (js) => `[click](javascript:${js})`,
  (js) => `[click](JAVASCRIPT:${js})`,
  (js) => `[click](java\tscript:${js})`,
  (js) => `[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg== "${js}")`,
  (js) => `![x](x" onerror="${js})`,
  (js) => `<https://evil.example/" onmouseover="${js}>`,
  (js) => `https://evil.example/"onmouseover=${js}`,
  (js) => `\`\`\`"><script>${js}</script>\nx\n\`\`\``,
  (js) => `**<b onmouseover=${js}>x</b>**`,
  (js) => `<details open ontoggle="${js}">`,
  (js) => `<video><source onerror="${js}"></video>`,
  (js) => `<body onload="${js}">`,
  (js) => `<style>@import "//evil.example/x.css";</style><p style="background:url(//evil.example)">${js}`,
  (js) => `<math><mtext></p><img src onerror="${js}">`,
  (js) => `<template><script>${js}</script></template>`,
  (js) => `<form action="javascript:${js}"><input type=submit autofocus onfocus="${js}">`,
  (js) => `<object data="javascript:${js}"></object><embed src="javascript:${js}">`,
  (js) => `<link rel=stylesheet href="//evil.example/x.css"><base href="//evil.example/">${js}`,
  (js) => `"><script>${js}</script>`,
  (js) => `';${js};//`,
  (js) => `\${${js}}`,
  (js) => `{{constructor.constructor("${js}")()}}`,
  (js) => `</textarea></title></script><script>${js}</script>`,
  (js) => `<meta http-equiv="refresh" content="0;url=javascript:${js}">`,
  (js) => `<x onclick="${js}" tabindex=1 autofocus onfocus="${js}">`,
  (js) => `| <img src=x onerror="${js}"> | b |\n|---|---|\n| <script>${js}</script> | 2 |`,
  (js) => `> <img src=x onerror="${js}">\n- <svg/onload=${js}>`,
  (js) => `&lt;img src=x onerror=${js}&gt; &#60;script&#62;${js}&#60;/script&#62;`,
  (js) => `\u003cscript\u003e${js}\u003c/script\u003e\u2028`,
  (js) => `<img src="data:image/svg+xml,<svg onload='${js}'>">`,
  (js) => `<button popovertarget=x onbeforetoggle="${js}">`,
  (js) => `<marquee onstart="${js}">`,
  (js) => `__proto__ ${js} constructor`,
];
const PAYLOADS = VECTORS.flatMap((vector) => CALLS.map(vector));

test("200 payloads as message, tool result, state key and name of a thread: none is run", async () => {
  assert.ok(PAYLOADS.length >= 200, String(PAYLOADS.length));
  const events = [{ type: "RUN_STARTED", threadId: "hostile", runId: "h1", protocolVersion: "1.0" }];
  PAYLOADS.forEach((text, at) => {
    events.push({ type: "TEXT_MESSAGE_START", messageId: `m${at}`, role: "assistant" }, { type: "TEXT_MESSAGE_CONTENT", messageId: `m${at}`, delta: text }, { type: "TEXT_MESSAGE_END", messageId: `m${at}` });
    events.push({ type: "TOOL_CALL_START", toolCallId: `c${at}`, toolCallName: text }, { type: "TOOL_CALL_ARGS", toolCallId: `c${at}`, delta: text }, { type: "TOOL_CALL_END", toolCallId: `c${at}` });
    events.push({ type: "TOOL_CALL_RESULT", toolCallId: `c${at}`, messageId: `r${at}`, content: text });
    events.push({ type: "ACTIVITY_SNAPSHOT", messageId: `a${at}`, activityType: text, content: { [text]: text } });
  });
  events.push({ type: "REASONING_MESSAGE_START", messageId: "think", role: "reasoning" }, { type: "REASONING_MESSAGE_CONTENT", messageId: "think", delta: PAYLOADS.join("\n\n") }, { type: "REASONING_MESSAGE_END", messageId: "think" });
  events.push({ type: "STATE_SNAPSHOT", snapshot: Object.fromEntries(PAYLOADS.map((text, at) => [`${text}${at}`, text])) });
  events.push({ type: "CUSTOM", name: PAYLOADS[0], value: PAYLOADS[1] });
  const interrupts = [{ id: "i1", reason: PAYLOADS[0], message: PAYLOADS[1], responseSchema: { title: PAYLOADS[2] } }];
  events.push({ type: "RUN_FINISHED", threadId: "hostile", runId: "h1", outcome: { type: "interrupt", interrupts } });
  const thread = await server.importEvents(events);

  // Each payload is a name of a thread, too.
  for (const [at, name] of PAYLOADS.entries()) {
    await server.importEvents([
      { type: "RUN_STARTED", threadId: `n${at}`, runId: name.slice(0, 200), protocolVersion: "1.0" },
      { type: "RUN_ERROR", message: name, code: name },
    ]);
    await server.ask(`/v1/threads/n${at}`, { method: "PATCH", headers: { "content-type": "application/json" }, body: JSON.stringify({ name }) });
  }
  const page = await open(server, `#/t/${thread}`);
  const inspect = async () => {
    const found = await page.evaluate(() => ({
      pwned: "pwned" in window,
      // The page has one script of its own, and none of these.
      scripts: document.scripts.length,
      foreign: document.querySelectorAll("img, iframe, object, embed, video, audio, base, template, style, marquee, math").length,
      handlers: [...document.querySelectorAll("body *")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
      links: [...document.querySelectorAll("a[href]")].filter((link) => !["http:", "https:", "mailto:"].includes(link.protocol)).length,
      unsafe: [...document.querySelectorAll('a[target="_blank"]')].filter((link) => !link.rel.includes("noopener")).length,
    }));
    assert.deepEqual(found, { pwned: false, scripts: 1, foreign: 0, handlers: 0, links: 0, unsafe: 0 });
  };
  await page.getByRole("form", { name: /Question/ }).waitFor();
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
  assert.equal(await page.locator(".message-assistant").count() > 0, true);
  await inspect();
  const shown = await page.locator('[role="log"]').innerText();
  for (const text of [PAYLOADS[0], PAYLOADS[5], PAYLOADS[10]]) assert.ok(shown.includes(text), text);
  for (const [name, view] of [["Events", "events"], ["Runs", "runs"], ["Time travel", "travel"], ["Compaction", "compact"]]) {
    await page.getByRole("tab", { name }).click();
    await seen(page, view);
    await inspect();
  }
  // Names, in the list and as a title; menus, forms and what cannot be shown.
  for (const at of [0, 5, 31, 199]) {
    await page.goto(`${server.url}/#/t/n${at}`);
    await page.getByText("The run ended: failed").waitFor();
    await inspect();
  }
  await page.goto(`${server.url}/#/t/${encodeURIComponent(PAYLOADS[0])}/events`);
  await page.getByText("This thread cannot be shown").waitFor();
  await inspect();
  await close(page);
});
