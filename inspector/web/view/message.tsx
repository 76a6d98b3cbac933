import type { Message } from "@ag-ui/core";
import { useState } from "preact/hooks";
import type { Choice } from "../logic/lineage";
import { Call } from "./call";
import { Json } from "./json";
import { Markdown } from "./markdown";
import { IconButton } from "./parts";

interface Props {
  message: Message;
  /** Results of calls, by the call's id. */
  results: ReadonlyMap<string, string>;
  choice: Choice | undefined;
  isBusy: boolean;
  onChoose: (run: string) => void;
  onEdit: (text: string) => void;
  onRegenerate: () => void;
  onAnswerCall: ((call: string, content: string) => void) | undefined;
}

/** The text of a message; parts that are none are named. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { type?: string; text?: string }) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

export function MessageView(props: Props) {
  const { message, choice, onChoose } = props;
  const [isEdited, setEdited] = useState(false);
  if (message.role === "tool") return null; // It is shown with its call.
  const text = message.role === "activity" ? "" : textOf(message.content);
  const isUser = message.role === "user";
  const tools = (
    <div class="message-tools">
      {choice && <Switcher choice={choice} onChoose={onChoose} isBusy={props.isBusy} />}
      {text !== "" && <IconButton icon="copy" label="Copy the text" onClick={() => void navigator.clipboard?.writeText(text)} />}
      {isUser && <IconButton icon="edit" label="Edit and send again, as a branch" disabled={props.isBusy} onClick={() => setEdited(true)} />}
      {message.role === "assistant" && <IconButton icon="again" label="Ask for another answer, as a branch" disabled={props.isBusy} onClick={props.onRegenerate} />}
    </div>
  );
  return (
    <article class={`message message-${message.role}`} aria-label={`Message of ${message.role}`} data-message={message.id}>
      {isEdited ? (
        <Edit
          text={text}
          onCancel={() => setEdited(false)}
          onSend={(changed) => {
            setEdited(false);
            props.onEdit(changed);
          }}
        />
      ) : (
        <Body {...props} text={text} />
      )}
      {!isEdited && (isUser || message.role === "assistant" || choice) && tools}
    </article>
  );
}

function Body({ message, text, results, onAnswerCall }: Props & { text: string }) {
  switch (message.role) {
    case "user":
      return <div class="bubble">{text}</div>;
    case "assistant":
      return (
        <>
          {"subagentRunId" in message && message.subagentRunId !== undefined && <span class="chip">subagent</span>}
          {text !== "" && <Markdown text={text} />}
          {message.toolCalls?.map((call) => (
            <Call key={call.id} call={call} result={results.get(call.id)} onAnswer={onAnswerCall && ((content) => onAnswerCall(call.id, content))} />
          ))}
        </>
      );
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={text} />
        </details>
      );
    case "activity":
      return (
        <div class="activity">
          <span class="chip">{message.activityType}</span>
          <Json value={message.content} open={3} />
        </div>
      );
    default:
      return (
        <details class="reasoning">
          <summary>{message.role}</summary>
          <pre>{text}</pre>
        </details>
      );
  }
}

function Switcher({ choice: { runs, shown }, onChoose, isBusy }: { choice: Choice; onChoose: (run: string) => void; isBusy: boolean }) {
  const to = (step: number) => {
    const run = runs[shown + step];
    if (run !== undefined) onChoose(run);
  };
  return (
    <span class="switcher" role="group" aria-label={`Branch ${shown + 1} of ${runs.length}`}>
      <IconButton icon="left" label="The branch before" disabled={isBusy || shown === 0} onClick={() => to(-1)} />
      <span class="num">
        {shown + 1}/{runs.length}
      </span>
      <IconButton icon="right" label="The next branch" disabled={isBusy || shown === runs.length - 1} onClick={() => to(1)} />
    </span>
  );
}

function Edit({ text, onSend, onCancel }: { text: string; onSend: (text: string) => void; onCancel: () => void }) {
  const [changed, setChanged] = useState(text);
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(changed);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <textarea aria-label="The message, to be sent again" rows={3} value={changed} onInput={(event) => setChanged(event.currentTarget.value)} ref={(box) => box?.focus()} />
      <div class="row">
        <button type="submit" class="primary" disabled={changed.trim() === ""}>
          Send as a branch
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
