import { useEffect, useRef, useState } from "preact/hooks";
import { type Thread, said } from "../api/client";
import { isListOpen } from "../model/look";
import { go, place } from "../model/place";
import { archive, connection, exportThread, importFile, remove, rename, search, threads } from "../model/threads";
import { Ago, Empty, Icon, IconButton, Menu, MenuItem, Status, Trouble } from "./parts";

export const trouble = (error: unknown): void => {
  window.dispatchEvent(new CustomEvent("trouble", { detail: said(error) }));
};

export const nameOf = (thread: Thread): string => thread.name || thread.threadId;

/** How many threads are shown, until somebody wants more. */
const LISTED = 200;

/** The threads, live. */
export function Sidebar() {
  const [words, setWords] = useState("");
  const [found, setFound] = useState<readonly Thread[] | null>(null);
  const [isArchive, setArchive] = useState(false);
  const [isOver, setOver] = useState(false);
  const [most, setMost] = useState(LISTED);
  useEffect(() => {
    // What has no word in it is no search.
    if (!/[\p{Alphabetic}\p{N}]/u.test(words)) return setFound(null);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      search(words, stop.signal).then(setFound, (error: unknown) => stop.signal.aborted || trouble(error));
    }, 150);
    return () => (clearTimeout(timer), stop.abort());
  }, [words, threads.value]);
  const shown = (found ?? threads.value).filter((thread) => thread.archived === isArchive);
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    await takeIn([...(event.dataTransfer?.files ?? [])]);
  };
  return (
    <nav
      class={`sidebar ${isListOpen.value ? "is-open" : ""} ${isOver ? "is-over" : ""}`}
      aria-label="Threads"
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => void drop(event)}
    >
      <div class="sidebar-head">
        <h1>
          <svg class="logo" viewBox="0 0 16 16" aria-hidden="true">
            <path d="M3 2v12M3 5c6 0 4 6 10 6" />
          </svg>
          Threadline
        </h1>
        <button type="button" class="primary" onClick={() => (go({ thread: undefined, view: "chat" }), (isListOpen.value = false))}>
          <Icon name="plus" /> New chat
        </button>
      </div>
      <div class="search">
        <Icon name="search" />
        <input id="search" type="search" aria-label="Search threads by words" placeholder="Search words" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      </div>
      <ul class="threads">
        {shown.slice(0, most).map((thread) => (
          <Row key={thread.threadId} thread={thread} />
        ))}
        {shown.length > most && (
          <li>
            <button type="button" class="link more" onClick={() => setMost(most + LISTED)}>
              {shown.length - most} more
            </button>
          </li>
        )}
        {shown.length === 0 && connection.value === "connecting" && <Empty title="Loading…" />}
        {shown.length === 0 && connection.value !== "connecting" && <Empty title={words ? "Nothing found" : isArchive ? "Nothing archived" : "No threads yet"} />}
      </ul>
      <footer class="sidebar-foot">
        <label class="check">
          <input type="checkbox" checked={isArchive} onInput={(event) => setArchive(event.currentTarget.checked)} /> Archived
        </label>
        <ImportButton />
        <span class={`connection connection-${connection.value}`} role="status">
          {connection.value === "live" ? "live" : connection.value === "lost" ? "offline" : "connecting"}
        </span>
      </footer>
    </nav>
  );
}

async function takeIn(files: File[]): Promise<void> {
  try {
    for (const file of files) {
      const [thread] = await importFile(file);
      if (thread !== undefined) go({ thread, view: "chat" });
    }
  } catch (error) {
    trouble(error);
  }
}

function ImportButton() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="link" title="Or drop a file on this list" onClick={() => input.current?.click()}>
        Import
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="A file to import"
        onInput={({ currentTarget }) => {
          void takeIn([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </>
  );
}

function Row({ thread }: { thread: Thread }) {
  const [isNamed, setNamed] = useState(false);
  const { thread: shown, view } = place.value;
  const isShown = shown === thread.threadId;
  const id = thread.threadId;
  const act = (what: Promise<unknown>) => void what.catch(trouble);
  if (isNamed) {
    return (
      <li>
        <form
          class="rename"
          onSubmit={(event) => {
            event.preventDefault();
            act(rename(id, new FormData(event.currentTarget).get("name")?.toString() ?? ""));
            setNamed(false);
          }}
        >
          <input name="name" aria-label="Name of the thread" defaultValue={nameOf(thread)} maxLength={1024} ref={(box) => box?.focus()} onBlur={() => setNamed(false)} onKeyDown={(event) => event.key === "Escape" && setNamed(false)} />
        </form>
      </li>
    );
  }
  return (
    <li class={isShown ? "is-shown" : ""}>
      <a
        href={`#/t/${encodeURIComponent(id)}`}
        aria-current={isShown ? "page" : undefined}
        onClick={(event) => {
          event.preventDefault();
          isListOpen.value = false;
          go({ thread: id, view: isShown ? "chat" : view });
        }}
      >
        <span class="one-line">{nameOf(thread)}</span>
        <span class="thread-facts">
          {thread.status !== "finished" && <Status status={thread.status} />}
          <Ago time={thread.updated} />
        </span>
      </a>
      <Menu label={`More about ${nameOf(thread)}`}>
        <MenuItem onClick={() => setNamed(true)}>Rename</MenuItem>
        <MenuItem onClick={() => act(archive(id, !thread.archived))}>{thread.archived ? "Take out of the archive" : "Archive"}</MenuItem>
        <MenuItem onClick={() => act(exportThread(id, "raw"))}>Export records</MenuItem>
        <MenuItem onClick={() => act(exportThread(id, "compact"))}>Export compacted events</MenuItem>
        <MenuItem onClick={() => act(exportThread(id, "snapshot"))}>Export a snapshot</MenuItem>
        <MenuItem
          class="danger"
          onClick={() => {
            if (!confirm(`Delete “${nameOf(thread)}”? It cannot be brought back.`)) return;
            act(remove(id));
            if (isShown) go({ thread: undefined, view: "chat" });
          }}
        >
          Delete
        </MenuItem>
      </Menu>
    </li>
  );
}

/** What went wrong anywhere, said for a while. */
export function Troubles() {
  const [message, setMessage] = useState<string | null>(null);
  useEffect(() => {
    const show = (event: Event) => setMessage((event as CustomEvent<string>).detail);
    window.addEventListener("trouble", show);
    return () => window.removeEventListener("trouble", show);
  }, []);
  return message === null ? null : (
    <div class="toast">
      <Trouble onDismiss={() => setMessage(null)}>{message}</Trouble>
    </div>
  );
}

export const ListButton = () => <IconButton icon="menu" label="Threads" class="only-narrow" onClick={() => (isListOpen.value = !isListOpen.value)} />;
