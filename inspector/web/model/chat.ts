import type { AbstractAgent, AgentSubscriber, RunAgentParameters } from "@ag-ui/client";
import type { Interrupt, Message, ResumeEntry } from "@ag-ui/core";
import { batch, effect, signal } from "@preact/signals";
import { type Attachable, ThreadlineAgent } from "../agent/http";
import { SocketAgent } from "../agent/socket";
import { type EventPage, Refused, type Run, get, pause, refusalOf, said, send, threadPath } from "../api/client";
import { type Asked, type Choice, chainOf, choices, forks, tipFrom } from "../logic/lineage";
import { connection, reached, threadNamed } from "./threads";

/** What runs go over. */
export const transport = signal<"http" | "websocket">("http");

const agentClass = () => (transport.value === "http" ? ThreadlineAgent : SocketAgent);

/** What the chat is doing. */
export type Status = "idle" | "loading" | "running" | "lost";

const PAUSE_MS_MAX = 5_000;

/** One thread as a chat: the stock client, and what it does not know about branches, other tabs and servers that come back. */
export class Chat {
  readonly messages = signal<readonly Message[]>([]);
  readonly state = signal<unknown>({});
  readonly interrupts = signal<readonly Interrupt[]>([]);
  readonly status = signal<Status>("idle");
  readonly failure = signal<string | null>(null);
  /** The run at the end of the branch that is shown. */
  readonly tip = signal<string | undefined>(undefined);
  readonly runs = signal<readonly Run[]>([]);
  /** Where another branch can be chosen, by message. */
  readonly choices = signal<ReadonlyMap<string, Choice>>(new Map());

  #agent: AbstractAgent & Attachable;
  #asked = new Map<string, Asked>();
  #tail = -1;
  #frame = 0;
  #isClosed = false;
  /** What is under way; what was begun before it must not be shown any more. */
  #turn = 0;
  #stops: (() => void)[] = [];

  constructor(
    readonly threadId: string,
    readonly agentName: string,
    run?: string,
  ) {
    this.#agent = this.#newAgent();
    const known = threadNamed(threadId);
    if (known !== undefined) {
      this.status.value = "loading";
      void this.#attach(run);
    }
    // Another tab has started something, or the server is back.
    this.#stops.push(
      effect(() => {
        const thread = threadNamed(threadId);
        void reached.value;
        if (thread === undefined || connection.value !== "live") return;
        const isNews = thread.tail !== this.#tail && this.#tail >= 0;
        if (isNews && (this.status.peek() === "idle" || this.status.peek() === "lost")) void this.#catchUp();
        else this.#tail = thread.tail;
      }),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#turn += 1;
    for (const stop of this.#stops) stop();
    this.#agent.abortRun();
  }

  async send(text: string): Promise<void> {
    this.#agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    await this.#run();
  }

  /** Says something else in place of a message: a branch beside the one that it began. The id stays, which is how the server knows. */
  async edit(messageId: string, text: string): Promise<void> {
    const at = this.#agent.messages.findIndex((message) => message.id === messageId);
    if (at < 0) return;
    await this.#fork([...this.#agent.messages.slice(0, at), { id: messageId, role: "user", content: text }]);
  }

  /** Asks again for the answer that a message is part of: a branch beside it. */
  async regenerate(messageId: string): Promise<void> {
    const at = this.#agent.messages.findIndex((message) => message.id === messageId);
    const question = this.#agent.messages.slice(0, at).findLastIndex((message) => message.role === "user");
    if (question >= 0) await this.#fork(this.#agent.messages.slice(0, question + 1));
  }

  async #fork(messages: Message[]): Promise<void> {
    const [state, tip] = [this.#agent.state, this.tip.value];
    this.#agent = this.#newAgent();
    this.#agent.setMessages(messages);
    this.#agent.setState(state);
    this.interrupts.value = [];
    await this.#run();
    const refusal = this.failure.value;
    // A branch that was refused is none: what was there is shown again.
    if (refusal !== null && !this.runs.value.some((run) => run.runId === this.tip.value)) {
      await this.#attach(tip);
      this.failure.value = refusal;
    }
  }

  /** Answers a call of a client's tool. */
  async answerCall(toolCallId: string, content: string): Promise<void> {
    this.#agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content });
    const open = this.#agent.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
    const answered = new Set(this.#agent.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
    this.#show();
    // Several calls are answered together.
    if (open.every((call) => answered.has(call.id))) await this.#run();
  }

  async resume(resume: ResumeEntry[]): Promise<void> {
    this.interrupts.value = [];
    await this.#run({ resume });
  }

  async stop(): Promise<void> {
    const run = this.tip.value;
    try {
      await send("POST", `agents/${encodeURIComponent(this.agentName)}/cancel`, { threadId: this.threadId, ...(run ? { runId: run } : {}) });
    } catch (error) {
      if (!(error instanceof Refused && error.code === "no_active_run")) this.failure.value = said(error);
    }
  }

  /** Shows another branch: the one that a run is on. The run that it ends with. */
  choose(run: string): string {
    const tip = tipFrom(this.runs.value, run);
    void this.#attach(tip);
    return tip;
  }

  #newAgent(): AbstractAgent & Attachable {
    return new (agentClass())(this.agentName, this.threadId);
  }

  /** If something else was chosen since, an agent for that goes on with what this one holds. */
  #switchTransport(): void {
    const before = this.#agent;
    if (before instanceof agentClass()) return;
    this.#agent = this.#newAgent();
    this.#agent.messages = before.messages;
    this.#agent.state = before.state;
    this.#agent.pendingInterrupts = before.pendingInterrupts;
  }

  #subscriber(turn: number, runId: string): AgentSubscriber {
    return {
      onRunStartedEvent: ({ event }) => {
        if (turn !== this.#turn) return;
        // The server says another id where it tells how things are; that is no run.
        if (event.runId !== runId || this.status.value === "running") {
          this.tip.value = event.runId;
          this.status.value = "running";
        }
      },
      onRunFinishedEvent: ({ event }) => {
        const last = (event.metadata as { threadline?: { runId?: string; status?: string } } | undefined)?.threadline;
        if (turn === this.#turn && last?.runId !== undefined) this.tip.value = last.runId;
      },
      onRunErrorEvent: ({ event }) => {
        if (turn === this.#turn) this.failure.value = event.message;
      },
      onEvent: () => {
        if (turn === this.#turn) this.#show();
      },
      onMessagesChanged: () => {
        if (turn === this.#turn) this.#show();
      },
    };
  }

  async #run(parameters: RunAgentParameters = {}): Promise<void> {
    const turn = ++this.#turn;
    const runId = crypto.randomUUID();
    this.#switchTransport();
    batch(() => {
      this.failure.value = null;
      this.status.value = "running";
      this.tip.value = runId;
    });
    this.#show();
    await this.#settle(turn, "run", this.#agent.runAgent({ ...parameters, runId }, this.#subscriber(turn, runId)));
  }

  async #attach(run?: string, wait = 250): Promise<void> {
    const turn = ++this.#turn;
    this.#agent.abortRun();
    this.#agent = this.#newAgent();
    this.#agent.attachTo = run;
    const runId = crypto.randomUUID();
    batch(() => {
      if (this.status.value !== "lost") this.status.value = "loading";
      this.failure.value = null;
      this.tip.value = run;
    });
    await this.#settle(turn, "attach", this.#agent.connectAgent({ runId }, this.#subscriber(turn, runId)), wait);
  }

  /** Waits for the end of a stream. If it was cut, the run goes on: attaching gives the rest. */
  async #settle(turn: number, how: "run" | "attach", stream: Promise<unknown>, wait = 250): Promise<void> {
    try {
      await stream;
    } catch (error) {
      if (turn !== this.#turn || this.#isClosed) return;
      const refused = refusalIn(error);
      // A server that is about to stop, or has just begun, refuses for a while; a run that it refused is the user's to repeat.
      const isAway = refused === undefined || (how === "attach" && refused.status >= 500);
      if (isAway && this.failure.value === null) {
        this.status.value = "lost";
        const run = this.tip.value;
        await pause(wait);
        if (turn === this.#turn) await this.#reattach(run, Math.min(wait * 2, PAUSE_MS_MAX));
        return;
      }
      if (refused !== undefined) this.failure.value = refused.message;
    }
    if (turn !== this.#turn || this.#isClosed) return;
    await this.#learn(turn);
    if (turn !== this.#turn) return;
    const head = this.runs.value.at(-1);
    if (how === "attach" && head?.status === "running" && head.parentRunId === this.tip.value) {
      // It was begun while this was read.
      await this.#attach();
      return;
    }
    this.status.value = "idle";
    this.#show();
  }

  /** A run that the server has never heard of is none to attach to. */
  async #reattach(run: string | undefined, wait: number): Promise<void> {
    const turn = this.#turn;
    try {
      this.runs.value = (await get<{ runs: Run[] }>(threadPath(this.threadId, "/runs"))).runs;
    } catch (error) {
      if (!(error instanceof Refused)) {
        await pause(wait);
        if (turn === this.#turn && !this.#isClosed) await this.#reattach(run, Math.min(wait * 2, PAUSE_MS_MAX));
        return;
      }
    }
    if (turn === this.#turn) await this.#attach(this.runs.value.some(({ runId }) => runId === run) ? run : undefined, wait);
  }

  /** Something has happened elsewhere: whoever looks at the end of the thread sees it. */
  async #catchUp(): Promise<void> {
    this.#tail = threadNamed(this.threadId)?.tail ?? this.#tail;
    const head = this.runs.value.at(-1)?.runId;
    if (head === undefined || head === this.tip.value) await this.#attach();
    else await this.#learn(this.#turn);
  }

  /** What branches there are. */
  async #learn(turn: number): Promise<void> {
    try {
      const { runs } = await get<{ runs: Run[] }>(threadPath(this.threadId, "/runs"));
      if (turn !== this.#turn) return;
      this.runs.value = runs;
      this.tip.value ??= runs.at(-1)?.runId;
      this.#tail = Math.max(this.#tail, ...runs.map((run) => run.next));
      const chain = chainOf(runs, this.tip.value ?? "");
      const found = new Map<string, Choice>();
      for (const siblings of forks(runs, chain)) {
        const asked = await Promise.all(siblings.map((run) => this.#askedBy(run)));
        const shown = siblings.find((run) => chain.includes(run));
        const order = this.#agent.messages.map((message) => message.id);
        if (shown) for (const [id, choice] of choices(asked, shown.runId, order)) found.set(id, choice);
      }
      if (turn === this.#turn) this.choices.value = found;
    } catch {
      // Without them, only this branch is shown.
    }
  }

  /** What a run was asked, from its first record. It stays as it is. */
  async #askedBy(run: Run): Promise<Asked> {
    const known = this.#asked.get(run.runId);
    if (known !== undefined) return known;
    const query = { after: run.first > 0 ? run.first - 1 : undefined, limit: 1 };
    const page = await get<EventPage>(threadPath(this.threadId, "/events"), query);
    const start = page.records[0]?.event as { input?: { messages?: Message[] } } | undefined;
    const messages = (start?.input?.messages ?? []).map((message) => ({ id: message.id, text: JSON.stringify(message) }));
    const asked = { runId: run.runId, messages };
    this.#asked.set(run.runId, asked);
    return asked;
  }

  /** Shows what the client holds, once a frame. */
  #show(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      // What is shown stays until there is something to show in its place.
      if (this.status.value === "loading" && this.#agent.messages.length === 0) return;
      batch(() => {
        this.messages.value = [...this.#agent.messages];
        this.state.value = this.#agent.state;
        this.interrupts.value = this.status.value === "idle" ? this.#agent.pendingInterrupts : [];
      });
    });
  }
}

/** The refusal in an error of the client's, which has the body in its message. */
function refusalIn(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  const { status, payload } = error as { status?: unknown; payload?: unknown };
  if (typeof status !== "number") return undefined;
  return refusalOf(status, typeof payload === "string" ? payload : JSON.stringify(payload ?? ""));
}
