// A server of its own for each file of tests, and headless Chromium to look at it with.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const HERE = import.meta.dirname;
const TARGET = process.env.CARGO_TARGET_DIR ?? join(HERE, "../../target");
export const BINARY = process.env.THREADLINE_BIN ?? join(TARGET, "debug/threadline");
const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) => existsSync(file));

/** A server on a port and a directory that it keeps when it is started again. */
export class Server {
  #dir = mkdtempSync(join(tmpdir(), "threadline-e2e-"));
  #process;
  url = "";

  constructor(args = []) {
    this.args = args;
  }

  async start() {
    const listen = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    const child = spawn(BINARY, ["serve", "--listen", listen, "--store", join(this.#dir, "store"), "--log", "warn", ...this.args], { cwd: this.#dir });
    this.#process = child;
    let said = "";
    child.stderr.on("data", (piece) => process.stderr.write(piece));
    await new Promise((ready, fail) => {
      child.once("error", fail);
      child.once("exit", (code) => fail(new Error(`the server has ended with ${code}: ${said}`)));
      child.stdout.on("data", (piece) => {
        said += piece;
        const found = /listening on (http:\S+)/.exec(said);
        if (found && said.includes("  page ")) {
          this.url = found[1];
          child.removeAllListeners("exit");
          ready();
        }
      });
    });
    return this;
  }

  async kill(signal = "SIGKILL") {
    const child = this.#process;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    await gone;
  }

  async stop() {
    await this.kill("SIGTERM");
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async ask(path, init) {
    const response = await fetch(`${this.url}${path}`, init);
    assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
    return response;
  }

  /** Takes in AG-UI events as a thread. */
  async importEvents(lines) {
    const headers = { "content-type": "application/x-ndjson" };
    const answer = await this.ask("/v1/import", { method: "POST", headers, body: `${lines.map((line) => JSON.stringify(line)).join("\n")}\n` });
    return (await answer.json()).threadIds[0];
  }
}

let browser;
export async function launch() {
  assert.ok(CHROMIUM, "Chromium is needed: apt install chromium, or name one in CHROMIUM");
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  return browser;
}
export const quit = async () => {
  await browser?.close();
  browser = undefined;
};

/** A page of the inspector in a window of its own. Whatever it complains about is an error of the test. */
export async function open(server, hash = "", options = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    // A server that is away, and a run that fails, are what some tests are about.
    if (message.type() === "error" && !/Failed to load resource|Agent execution failed|WebSocket connection|net::ERR/.test(message.text())) wrong.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) wrong.push(`asked elsewhere: ${request.url()}`);
  });
  await page.goto(`${server.url}/${hash}`);
  page.wrong = wrong;
  return page;
}

/** Says something in the chat. */
export async function say(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByLabel("Message", { exact: true }).press("Enter");
}

/** Waits until an element has the focus. */
export const focused = (page, id) => page.waitForFunction((wanted) => document.activeElement?.id === wanted, id);

export const idle = (page) => page.locator('[role="log"][aria-busy="false"]').waitFor();
export const answer = (page) => page.locator(".message-assistant").last();
export const threadOf = (page) => decodeURIComponent(/#\/t\/([^/?]+)/.exec(page.url())[1]);

export async function close(page) {
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

/** What is there once a view shows what it has. */
export const SHOWN = { chat: '[role="log"][aria-busy="false"]', events: ".event-type", runs: ".node", travel: '[aria-label="State then"]', compact: ".compact-panes .event" };
export const seen = (page, view) => page.locator(SHOWN[view]).first().waitFor();

/** Waits until something holds. */
export async function until(what, holds) {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > end) assert.fail(`waited in vain: ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

export const SCREENSHOTS = process.env.THREADLINE_SCREENSHOTS && resolve(process.env.THREADLINE_SCREENSHOTS);
