import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chat } from "../model/chat";
import { isStateShown } from "../model/look";
import { go, place } from "../model/place";
import { agents, connection, threadNamed } from "../model/threads";
import { Interrupts } from "./interrupts";
import { Json } from "./json";
import { MessageView, textOf } from "./message";
import { Empty, IconButton, Trouble } from "./parts";

/** What the demo agent knows; said to who has nothing to say yet. */
const IDEAS = ["hello", "think", "tool", "ask", "state", "activity", "team", "approve", "slow", "help"];

/** A chat, new or old. A new one gets its thread when something is said. */
export function ChatView({ agent }: { agent: string }) {
  const { thread, run } = place.value;
  const [draft, setDraft] = useState(() => crypto.randomUUID());
  const id = thread ?? draft;
  const wasNew = useRef<string | undefined>(undefined);
  const name = (thread !== undefined ? threadNamed(thread)?.agent : undefined) ?? agent;
  const chat = useMemo(() => new Chat(id, name, run), [id, name]);
  useEffect(() => () => chat.close(), [chat]);
  useEffect(() => {
    // The address of a new chat is known once there is one.
    if (thread === undefined && wasNew.current === id) setDraft(crypto.randomUUID());
    wasNew.current = id;
  }, [thread, id]);
  // What is said begins a run, which is where the thread then ends: the address need not say where anybody looks.
  const begin = (): void => go({ thread: id, view: "chat" }, thread === undefined ? "push" : "replace");
  const choose = (to: string): void => go({ thread: id, view: "chat", run: to }, "replace");
  return <Conversation chat={chat} onBegin={begin} onChoose={choose} />;
}

function Conversation({ chat, onBegin, onChoose }: { chat: Chat; onBegin: () => void; onChoose: (run: string) => void }) {
  const messages = chat.messages.value;
  const status = chat.status.value;
  const isBusy = status !== "idle";
  const begin = (said: Promise<void>): void => {
    onBegin();
    isAtEnd.current = true;
    void said;
  };
  const composer = useRef<HTMLTextAreaElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current) end.current?.scrollIntoView({ block: "end" });
  }, [messages, status, chat.interrupts.value]);
  const results = useMemo(
    () => new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, textOf(message.content)] as const] : []))),
    [messages],
  );
  const tip = chat.runs.value.find((run) => run.runId === chat.tip.value);
  const ended = tip !== undefined && status === "idle" && ["failed", "cancelled", "abandoned"].includes(tip.status) ? tip : undefined;
  const lastCall = messages.findLastIndex((message) => message.role === "assistant" && (message.toolCalls?.length ?? 0) > 0);
  return (
    <div class="chat">
      <div class="chat-main">
        <div
          class="chat-scroll"
          ref={scroller}
          onScroll={({ currentTarget: box }) => {
            isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
          }}
        >
          <div class="chat-messages" role="log" aria-label="Conversation" aria-busy={status === "running"}>
            {messages.length === 0 && status === "loading" && <Empty title="Loading…" />}
            {messages.length === 0 && status === "idle" && <Welcome onSay={(text) => begin(chat.send(text))} />}
            {messages.map((message, at) => (
              <MessageView
                key={message.id}
                message={message}
                results={results}
                choice={chat.choices.value.get(message.id)}
                isBusy={isBusy}
                onChoose={(run) => onChoose(chat.choose(run))}
                onEdit={(text) => begin(chat.edit(message.id, text))}
                onRegenerate={() => begin(chat.regenerate(message.id))}
                onAnswerCall={at === lastCall && status === "idle" && ended === undefined ? (call, content) => begin(chat.answerCall(call, content)) : undefined}
              />
            ))}
            {chat.interrupts.value.length > 0 && (
              <Interrupts
                interrupts={chat.interrupts.value}
                onAnswer={(answers) => {
                  begin(chat.resume(answers));
                  // The button that had the focus goes away: what is typed next would be taken for shortcuts.
                  offerToWrite(composer.current);
                }}
              />
            )}
            {status === "running" && <p class="working">Working…</p>}
            {status === "lost" && <p class="working">Connection lost. Trying again…</p>}
            {ended && (
              <p class="ended">
                The run ended: {ended.status}
                {ended.errorCode ? ` (${ended.errorCode})` : ""}.
              </p>
            )}
          </div>
          <div ref={end} />
        </div>
        {chat.failure.value !== null && <Trouble onDismiss={() => (chat.failure.value = null)}>{chat.failure.value}</Trouble>}
        <Composer
          box={composer}
          isBusy={isBusy}
          isRunning={status === "running"}
          isWaiting={chat.interrupts.value.length > 0}
          onStop={() => void chat.stop()}
          onSend={(text) => begin(chat.send(text))}
        />
      </div>
      {isStateShown.value && (
        <aside class="state" aria-label="State">
          <header>
            <h2>State</h2>
            <IconButton icon="close" label="Hide the state" onClick={() => (isStateShown.value = false)} />
          </header>
          {Object.keys((chat.state.value as object | null) ?? {}).length === 0 ? <p class="faint">Empty.</p> : <Json value={chat.state.value} open={3} />}
        </aside>
      )}
    </div>
  );
}

function Welcome({ onSay }: { onSay: (text: string) => void }) {
  const isDemo = agents.value.some((agent) => agent.name === "demo");
  return (
    <Empty title="Say something">
      Every event of the answer is kept before you see it. Reload in the middle, or open this page twice: it goes on.
      {isDemo && (
        <span class="ideas">
          {IDEAS.map((word) => (
            <button type="button" key={word} onClick={() => onSay(word)} disabled={connection.value !== "live"}>
              {word}
            </button>
          ))}
        </span>
      )}
    </Empty>
  );
}

/** Gives a box the focus, unless a keyboard on the screen would then cover the chat. */
const offerToWrite = (box: HTMLElement | null): void => {
  if (matchMedia("(min-width: 720px)").matches) box?.focus();
};

interface ComposerProps {
  box: RefObject<HTMLTextAreaElement | null>;
  isBusy: boolean;
  isRunning: boolean;
  isWaiting: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}

function Composer({ box, isBusy, isRunning, isWaiting, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  // Before the next key comes: an effect that waits for the picture could take the focus between two of them.
  useLayoutEffect(() => offerToWrite(box.current), []);
  useEffect(() => {
    const area = box.current;
    if (area === null) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, 200)}px`;
  }, [text]);
  const submit = () => {
    if (isBusy || isWaiting || text.trim() === "") return;
    onSend(text);
    setText("");
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        id="composer"
        ref={box}
        rows={1}
        aria-label="Message"
        placeholder={isWaiting ? "The agent waits for your answer above" : "Message"}
        value={text}
        // Not disabled, which would take the focus from who writes just then, and make shortcuts of the rest of the word.
        readOnly={isWaiting}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            submit();
          }
        }}
      />
      {isRunning ? (
        <IconButton icon="stop" label="Stop" class="primary round" onClick={onStop} />
      ) : (
        <IconButton icon="send" label="Send" class="primary round" type="submit" disabled={isBusy || isWaiting || text.trim() === ""} />
      )}
    </form>
  );
}
