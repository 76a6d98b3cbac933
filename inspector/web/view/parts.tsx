import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../api/client";

/** Icons, drawn here so that nothing is loaded. */
const PATHS = {
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM11 11l3 3",
  menu: "M2 4h12M2 8h12M2 12h12",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  edit: "M3 13l.8-3L11 2.8l2.2 2.2L6 12.2z",
  again: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
  close: "M4 4l8 8M12 4l-8 8",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z",
  half: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12",
  side: "M2 3h12v10H2zM10 3v10",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.6-.8 1.2M8 11.5h.01",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function IconButton({ icon, label, ...rest }: { icon: IconName; label: string } & JSX.IntrinsicElements["button"]) {
  return (
    <button type="button" aria-label={label} title={label} {...rest} class={`icon-button ${rest.class ?? ""}`}>
      <Icon name={icon} />
    </button>
  );
}

/** How a run stands, as a word with a colour. */
export function Status({ status }: { status: Run["status"] | null }) {
  return status === null ? null : <span class={`status status-${status}`}>{status}</span>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty" role="status">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Trouble({ children, onDismiss }: { children: ComponentChildren; onDismiss?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <span>{children}</span>
      {onDismiss && <IconButton icon="close" label="Dismiss" onClick={onDismiss} />}
    </div>
  );
}

/** A menu under a button. It closes by itself. */
export function Menu({ label, icon = "more", children }: { label: string; icon?: IconName; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const items = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // Beside the button, wherever there is room: lists would cut off what is within them.
    const [button, list] = [box.current?.getBoundingClientRect(), items.current];
    if (!isOpen || button === undefined || list === null) return;
    const below = button.bottom + list.offsetHeight <= innerHeight;
    list.style.top = `${Math.max(0, below ? button.bottom : button.top - list.offsetHeight)}px`;
    list.style.left = `${Math.max(4, button.right - list.offsetWidth)}px`;
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return;
    const onClick = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      setOpen(false);
      box.current?.querySelector("button")?.focus();
    };
    const onScroll = () => setOpen(false);
    document.addEventListener("scroll", onScroll, true);
    document.addEventListener("click", onClick);
    document.addEventListener("keydown", onKey, true);
    box.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus({ preventScroll: true });
    return () => {
      document.removeEventListener("scroll", onScroll, true);
      document.removeEventListener("click", onClick);
      document.removeEventListener("keydown", onKey, true);
    };
  }, [isOpen]);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    if (step === 0 || all.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + step + all.length) % all.length]?.focus();
  };
  return (
    <div class="menu" ref={box} onKeyDown={move}>
      <IconButton icon={icon} label={label} aria-haspopup="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} />
      {isOpen && (
        <div class="menu-items" ref={items} role="menu" aria-label={label} onClick={() => setOpen(false)}>
          {children}
        </div>
      )}
    </div>
  );
}

export function MenuItem({ children, ...rest }: JSX.IntrinsicElements["button"]) {
  return (
    <button type="button" role="menuitem" {...rest}>
      {children}
    </button>
  );
}

/** When something was, in a word or two. */
export function Ago({ time }: { time: number }) {
  const date = new Date(time);
  const seconds = (Date.now() - time) / 1000;
  const text =
    seconds < 60 ? "now" : seconds < 3600 ? `${Math.floor(seconds / 60)} min` : seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : date.toLocaleDateString();
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {text}
    </time>
  );
}

export const clock = (time: number): string => new Date(time).toISOString().slice(11, 23);

export const shortId = (id: string): string => (id.length > 14 ? `${id.slice(0, 8)}…` : id);
