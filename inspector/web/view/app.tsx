import { useEffect, useState } from "preact/hooks";
import { isLocked, token } from "../api/client";
import { VIEWS, type View, writePlace } from "../logic/route";
import { transport } from "../model/chat";
import { isHelpOpen, isListOpen, isStateShown, nextTheme, theme } from "../model/look";
import { go, place } from "../model/place";
import { onKey } from "../model/shortcuts";
import { agents, connection, threadNamed } from "../model/threads";
import { ChatView } from "./chat";
import { Help } from "./help";
import { ThreadViews } from "./inspect";
import { Empty, IconButton, Status } from "./parts";
import { ListButton, Sidebar, Troubles, nameOf } from "./sidebar";

const TITLES: Record<View, string> = { chat: "Chat", events: "Events", runs: "Runs", travel: "Time travel", compact: "Compaction" };

export function App() {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const { thread } = place.value;
  const shown = thread === undefined ? undefined : threadNamed(thread);
  useEffect(() => {
    document.title = shown === undefined ? "Threadline" : `${nameOf(shown)} · Threadline`;
  }, [shown]);
  return (
    <div class="app">
      <Sidebar />
      {isListOpen.value && <button type="button" class="shade" aria-label="Close the list" onClick={() => (isListOpen.value = false)} />}
      <main class="main">{isLocked.value ? <TokenForm /> : <Main />}</main>
      <Troubles />
      <Help />
    </div>
  );
}

function Main() {
  const { thread, view } = place.value;
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const agent = chosen ?? agents.value.find((known) => known.default)?.name ?? agents.value[0]?.name;
  const shown = thread === undefined ? undefined : threadNamed(thread);
  return (
    <>
      <header class="bar">
        <ListButton />
        <h2 class="one-line">{shown ? nameOf(shown) : "New chat"}</h2>
        {shown && <Status status={shown.status} />}
        {thread === undefined && agents.value.length > 1 && (
          <select aria-label="Agent" value={agent} onInput={(event) => setChosen(event.currentTarget.value)}>
            {agents.value.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
        <span class="spring" />
        {thread !== undefined && (
          <div class="tabs" role="tablist" aria-label="Ways to look at the thread">
            {VIEWS.map((name) => (
              <a
                key={name}
                role="tab"
                aria-selected={view === name}
                href={writePlace({ thread, view: name })}
                onClick={(event) => {
                  event.preventDefault();
                  go({ ...place.value, view: name });
                }}
              >
                {TITLES[name]}
              </a>
            ))}
          </div>
        )}
        <span class="spring" />
        <select class="only-wide" aria-label="What runs go over" value={transport.value} onInput={(event) => (transport.value = event.currentTarget.value as typeof transport.value)}>
          <option value="http">HTTP</option>
          <option value="websocket">WebSocket</option>
        </select>
        <IconButton icon="side" class="only-wide" label={isStateShown.value ? "Hide the state" : "Show the state"} aria-pressed={isStateShown.value} onClick={() => (isStateShown.value = !isStateShown.value)} />
        <IconButton icon={theme.value === "light" ? "sun" : theme.value === "dark" ? "moon" : "half"} label={`Colours: ${theme.value}`} onClick={nextTheme} />
        <IconButton icon="help" label="Keyboard shortcuts" onClick={() => (isHelpOpen.value = true)} />
      </header>
      {agent === undefined ? (
        <Empty title={connection.value === "lost" ? "The server cannot be reached" : "Loading…"}>{connection.value === "lost" && "This page tries again by itself."}</Empty>
      ) : view === "chat" || thread === undefined ? (
        <ChatView agent={agent} />
      ) : (
        <ThreadViews key={thread} thread={thread} view={view} />
      )}
    </>
  );
}

/** Asks for a token. It is kept while the page is open, and nowhere. */
function TokenForm() {
  const [text, setText] = useState("");
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        token.value = text.trim();
      }}
    >
      <h2>Who are you?</h2>
      <p>This server wants a token. It is kept in this page only, and forgotten when you reload it.</p>
      <label>
        Token
        <input type="password" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} ref={(box) => box?.focus()} />
      </label>
      {token.value !== null && <p class="trouble">That token was refused.</p>}
      <button type="submit" class="primary" disabled={text.trim() === "" || text.trim() === token.value}>
        Go on
      </button>
    </form>
  );
}
