import { AbstractAgent, type AgentSubscriber, type RunAgentParameters, type RunAgentResult } from "@ag-ui/client";
import type { BaseEvent, RunAgentInput } from "@ag-ui/core";
import { Observable } from "rxjs";
import { here, refusalOf, send, token } from "../api/client";
import type { Attachable } from "./http";

/** What the server says over a socket. */
type Answer =
  | { type: "event"; event: BaseEvent }
  | { type: "end" | "detached" }
  | { type: "cut"; reason: string }
  | { type: "error"; status: number; error: unknown };

/** The same agent over the server's WebSocket: one socket a run. */
export class SocketAgent extends AbstractAgent implements Attachable {
  attachTo: string | undefined;
  #sockets = new Set<WebSocket>();

  constructor(
    readonly name: string,
    threadId: string,
  ) {
    super({ threadId });
  }

  override connectAgent(parameters?: RunAgentParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    this.pendingInterrupts = [];
    return super.connectAgent(parameters, subscriber);
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    return this.#exchange({ type: "run", input });
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    return this.#exchange({ type: "connect", input, ...(this.attachTo === undefined ? {} : { run: this.attachTo }) });
  }

  override abortRun(): void {
    for (const socket of this.#sockets) socket.close();
  }

  #exchange(message: { type: "run" | "connect"; input: RunAgentInput; run?: string }): Observable<BaseEvent> {
    return new Observable<BaseEvent>((events) => {
      let socket: WebSocket | undefined;
      let isOver = false;
      const fail = (error: unknown) => (isOver ? undefined : events.error(error));
      void this.#address()
        .then((address) => {
          if (isOver) return;
          const opened = new WebSocket(address);
          socket = opened;
          this.#sockets.add(opened);
          opened.onopen = () => opened.send(JSON.stringify({ id: "1", ...message }));
          opened.onclose = () => fail(new TypeError("the socket was closed"));
          opened.onmessage = ({ data }) => {
            const answer = JSON.parse(String(data)) as Answer;
            if (answer.type === "event") events.next(answer.event);
            else if (answer.type === "end") events.complete();
            else if (answer.type === "error") fail(refusalOf(answer.status, JSON.stringify({ error: answer.error })));
            else if (answer.type === "cut") fail(new TypeError(answer.reason));
          };
        })
        .catch(fail);
      return () => {
        isOver = true;
        if (socket !== undefined) this.#sockets.delete(socket);
        socket?.close();
      };
    });
  }

  /** A browser cannot send a header with a socket: where there is a token, a ticket stands for it. */
  async #address(): Promise<string> {
    const address = new URL(here(`agents/${encodeURIComponent(this.name)}/ws`));
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    if (token.value !== null) {
      const { ticket } = (await (await send("POST", "v1/tickets", { threadId: this.threadId })).json()) as { ticket: string };
      address.searchParams.set("ticket", ticket);
    }
    return address.href;
  }
}
