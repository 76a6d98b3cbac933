import type { ToolCall } from "@ag-ui/core";
import { useState } from "preact/hooks";
import { Json } from "./json";

/** What a text holds, if it is JSON; else the text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Props {
  call: ToolCall;
  result: string | undefined;
  /** Answers it, if it is the client's to answer. */
  onAnswer: ((content: string) => void) | undefined;
}

/** A call of a tool, with what it was given and what came of it. */
export function Call({ call, result, onAnswer }: Props) {
  const args = parsed(call.function.arguments);
  return (
    <div class="call">
      <details open={result === undefined}>
        <summary>
          <span class="call-name">{call.function.name}</span>
          <span class="faint one-line">{call.function.arguments}</span>
          <span class={`chip ${result === undefined ? "chip-wait" : ""}`}>{result === undefined ? "no result yet" : "done"}</span>
        </summary>
        <div class="call-part">
          <h4>Arguments</h4>
          {typeof args === "string" ? <pre>{args}</pre> : <Json value={args} />}
        </div>
        {result !== undefined && (
          <div class="call-part">
            <h4>Result</h4>
            {typeof parsed(result) === "object" ? <Json value={parsed(result)} /> : <pre>{result}</pre>}
          </div>
        )}
      </details>
      {result === undefined && onAnswer && <Answer name={call.function.name} onAnswer={onAnswer} />}
    </div>
  );
}

function Answer({ name, onAnswer }: { name: string; onAnswer: (content: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer(text);
      }}
    >
      <label>
        Answer for <code>{name}</code>
        <input value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="What the tool returns" />
      </label>
      <div class="row">
        <button type="submit" class="primary" disabled={text === ""}>
          Send result
        </button>
        <button type="button" onClick={() => onAnswer("yes")}>
          yes
        </button>
        <button type="button" onClick={() => onAnswer("no")}>
          no
        </button>
      </div>
    </form>
  );
}
