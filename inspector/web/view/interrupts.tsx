import type { Interrupt, ResumeEntry } from "@ag-ui/core";
import { useState } from "preact/hooks";
import { parsed } from "./call";

/** The questions that a run waits with. All are answered together, as the protocol wants it. */
export function Interrupts({ interrupts, onAnswer }: { interrupts: readonly Interrupt[]; onAnswer: (answers: ResumeEntry[]) => void }) {
  const [answers, setAnswers] = useState<ReadonlyMap<string, ResumeEntry>>(new Map());
  const answer = (entry: ResumeEntry) => {
    const all = new Map(answers).set(entry.interruptId, entry);
    setAnswers(all);
    const entries = interrupts.flatMap((interrupt) => all.get(interrupt.id) ?? []);
    if (entries.length === interrupts.length) onAnswer(entries);
  };
  return (
    <>
      {interrupts.map((interrupt) => (
        <Question key={interrupt.id} interrupt={interrupt} isAnswered={answers.has(interrupt.id)} onAnswer={answer} />
      ))}
    </>
  );
}

function Question({ interrupt, isAnswered, onAnswer }: { interrupt: Interrupt; isAnswered: boolean; onAnswer: (entry: ResumeEntry) => void }) {
  const [text, setText] = useState("");
  const resolve = (payload: unknown) => onAnswer({ interruptId: interrupt.id, status: "resolved", payload });
  return (
    <form
      class="ask"
      aria-label={`Question: ${interrupt.reason}`}
      onSubmit={(event) => {
        event.preventDefault();
        resolve(parsed(text));
      }}
    >
      <p>
        <span class="chip chip-wait">{interrupt.reason}</span> {interrupt.message ?? "The agent waits for an answer."}
      </p>
      {interrupt.responseSchema !== undefined && (
        <details>
          <summary>What it expects</summary>
          <pre>{JSON.stringify(interrupt.responseSchema, null, 2)}</pre>
        </details>
      )}
      {isAnswered ? (
        <p class="faint">Answered. The others have to be, too.</p>
      ) : (
        <div class="row">
          <button type="button" class="primary" onClick={() => resolve({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => resolve({ approved: false })}>
            Deny
          </button>
          <button type="button" onClick={() => onAnswer({ interruptId: interrupt.id, status: "cancelled" })}>
            Cancel
          </button>
          <input aria-label="Another answer, as JSON or text" placeholder="Another answer: JSON or text" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <button type="submit" disabled={text === ""}>
            Answer
          </button>
        </div>
      )}
    </form>
  );
}
