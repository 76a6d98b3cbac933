// The AG-UI npm clients behind a line protocol, to be pointed at a server. The
// requests and replies of each op are in ../README.md.

import { EventEmitter, once } from "node:events";
import { format } from "node:util";
import * as current from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import * as old from "client-0";
import { Observable } from "rxjs";
import WebSocket from "ws";
import { serve } from "./lines.mjs";

const PROTOBUF = "application/vnd.ag-ui.event+proto";

// Warnings belong to the reply of the request that caused them, and what the
// clients print about a failure is in the reply of that failure already.
let warnings = [];
console.warn = (...args) => warnings.push(format(...args));
console.log = console.info = console.debug = console.error = () => {};

/** What an application adds to the published agent: attaching, and protobuf if it wants that. */
const attachable = ({ HttpAgent }) =>
  class extends HttpAgent {
    protobuf = false;

    requestInit(input) {
      const init = super.requestInit(input);
      if (this.protobuf) init.headers.Accept = PROTOBUF;
      return init;
    }

    connectAgent(...parameters) {
      // As runAgent does it: who has broken off can read again.
      this.abortController = new AbortController();
      // The server knows what waits for an answer. While the agent holds a question, it refuses to attach.
      this.pendingInterrupts = [];
      return super.connectAgent(...parameters);
    }

    connect(input) {
      // The same agent at another address.
      return Object.create(this, { url: { value: `${this.url}/connect` } }).run(input);
    }
  };

/** A WebSocket that the agents of a URL share. */
class Socket {
  static #open = new Map();
  #socket;
  #opened;
  #asked = new Map();
  #count = 0;

  static at(url) {
    if (!this.#open.has(url)) this.#open.set(url, new Socket(url));
    return this.#open.get(url);
  }

  constructor(url) {
    this.#socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`);
    this.#opened = once(this.#socket, "open");
    this.#socket.on("message", (data) => {
      const { id, ...answer } = JSON.parse(data);
      this.#asked.get(id)?.(answer);
    });
    this.#socket.on("close", () => {
      Socket.#open.delete(url);
      for (const hear of this.#asked.values()) hear({ type: "cut", reason: "the socket was closed" });
    });
  }

  /** The events of a request, to its end. */
  ask(type, input, signal) {
    return new Observable((subscriber) => {
      const id = `${this.#count++}`;
      const say = (message) => this.#socket.send(JSON.stringify({ id, ...message }));
      this.#asked.set(id, (answer) => {
        if (answer.type === "event") return subscriber.next(EventSchemas.parse(answer.event));
        this.#asked.delete(id);
        if (answer.type === "end") return subscriber.complete();
        const { status, error, reason } = answer;
        subscriber.error(Object.assign(new Error(error?.message ?? reason), { status, payload: { error } }));
      });
      signal.addEventListener("abort", () => {
        this.#asked.delete(id);
        say({ type: "detach" });
        subscriber.error(new DOMException("aborted", "AbortError"));
      });
      this.#opened.then(() => say({ type, input }), (error) => subscriber.error(error));
    });
  }
}

/** The same over a WebSocket. */
const overSocket = (Agent) =>
  class extends Agent {
    run(input) {
      return Socket.at(this.url).ask("run", input, this.abortController.signal);
    }

    connect(input) {
      return Socket.at(this.url).ask("connect", input, this.abortController.signal);
    }
  };

const LIBRARIES = {
  "1.0.0": attachable(current),
  "1.0.0 over a socket": overSocket(attachable(current)),
  "0.0.59": attachable(old),
};

/** An agent object, and what it has seen of the run that it reads or has read last. */
class Client {
  #changed = new EventEmitter().setMaxListeners(0);
  #events = [];
  #error = null;
  #ended = true;

  constructor({ library = "1.0.0", url, threadId, protobuf = false }) {
    this.agent = new LIBRARIES[library]({ url, threadId });
    this.agent.protobuf = protobuf;
    this.agent.subscribe({
      onEvent: ({ event }) => {
        this.#events.push(event);
        this.#changed.emit("change");
      },
    });
  }

  /** Begins to read, and comes back as soon as there is something to see. */
  async begin(read) {
    if (!this.#ended) throw new Error("the client reads a run already");
    this.#events = [];
    this.#error = null;
    this.#ended = false;
    read
      .call(this.agent)
      .catch(({ message, status, payload }) => (this.#error = { message, status, payload }))
      .finally(() => {
        this.#ended = true;
        this.#changed.emit("change");
      });
    await this.until(() => this.#events.length > 0);
  }

  /** Waits for events, or for the end. */
  async until(isThere) {
    while (!this.#ended && !isThere(this.#events)) await once(this.#changed, "change");
    return isThere(this.#events);
  }

  /** Waits for the end, and says what an application would hold. */
  async end() {
    await this.until(() => false);
    const { messages, state, pendingInterrupts } = this.agent;
    return { messages, state, interrupts: pendingInterrupts ?? [], events: this.#events, error: this.#error };
  }
}

const clients = new Map();

const ops = {
  open({ client, ...options }) {
    clients.set(client, new Client(options));
  },

  hold({ client, messages, state }) {
    const { agent } = clients.get(client);
    if (messages !== undefined) agent.setMessages(messages);
    if (state !== undefined) agent.setState(state);
  },

  async run({ client, ...parameters }) {
    await clients.get(client).begin(function () {
      return this.runAgent(parameters);
    });
  },

  async connect({ client, ...parameters }) {
    await clients.get(client).begin(function () {
      return this.connectAgent(parameters);
    });
  },

  async until({ client, type }) {
    return { seen: await clients.get(client).until((events) => events.some((event) => event.type === type)) };
  },

  end: ({ client }) => clients.get(client).end(),

  abort({ client }) {
    clients.get(client).agent.abortRun();
  },
};

await serve(async (line) => {
  warnings = [];
  try {
    const { op, ...request } = JSON.parse(line);
    if (!Object.hasOwn(ops, op)) throw new Error(`unknown op: ${op}`);
    return JSON.stringify({ ok: true, ...(await ops[op](request)), warnings });
  } catch (error) {
    return JSON.stringify({ ok: false, error: error instanceof Error ? error.message : String(error), warnings });
  }
});
// Connections that the test left open must not keep the process.
process.exit(0);
