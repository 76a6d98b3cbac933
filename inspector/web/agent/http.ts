import { HttpAgent, type AgentSubscriber, type RunAgentParameters, type RunAgentResult } from "@ag-ui/client";
import type { BaseEvent, RunAgentInput } from "@ag-ui/core";
import type { Observable } from "rxjs";
import { here, withToken } from "../api/client";

/** What the chat needs of an agent, whatever it is reached by. */
export interface Attachable {
  /** The run to attach to; the last one, if none is named. */
  attachTo: string | undefined;
}

/** The stock client, with its hook for attaching to what is there. */
export class ThreadlineAgent extends HttpAgent implements Attachable {
  attachTo: string | undefined;

  constructor(agent: string, threadId: string) {
    super({ url: here(`agents/${encodeURIComponent(agent)}`), threadId });
  }

  protected override requestInit(input: RunAgentInput): RequestInit {
    const init = super.requestInit(input);
    return { ...init, headers: withToken(init.headers) };
  }

  override connectAgent(parameters?: RunAgentParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    this.abortController = new AbortController(); // else nothing can be read after abortRun
    this.pendingInterrupts = []; // else it refuses while it holds a question; the answer has them again
    return super.connectAgent(parameters, subscriber);
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    const run = this.attachTo === undefined ? "" : `?run=${encodeURIComponent(this.attachTo)}`;
    const attached: HttpAgent = Object.create(this, { url: { value: `${this.url}/connect${run}` } });
    return attached.run(input);
  }
}
