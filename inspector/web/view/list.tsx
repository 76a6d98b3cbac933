import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { rowsIn, scale } from "../logic/window";

interface Props {
  count: number;
  rowHeight: number;
  label: string;
  /** A row to be seen; another one than before is scrolled to. */
  shown?: number | undefined;
  /** The id of the element that is chosen, for who cannot see. */
  active?: string | undefined;
  /** Whether somebody at the end stays there when more comes. */
  isLive?: boolean;
  row: (at: number) => ComponentChildren;
  onRows?: (first: number, end: number) => void;
}

/** A list of any length, of which only the rows that can be seen are there. */
export function LongList({ count, rowHeight, label, shown, active, isLive = false, row, onRows }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [height, setHeight] = useState(600);
  const isAtEnd = useRef(isLive);
  const { drawn, factor } = scale(count, rowHeight, height);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (isLive && isAtEnd.current && shown === undefined && box.current) box.current.scrollTop = drawn;
  }, [count, height, isLive]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || shown === undefined || shown < 0) return;
    const top = shown * rowHeight - element.scrollTop * factor;
    if (top < 0 || top + rowHeight > element.clientHeight) element.scrollTop = (shown * rowHeight - element.clientHeight / 2) / factor;
  }, [shown, count > 0]);
  const whole = scrolled * factor;
  const { first, end } = rowsIn(whole, height, rowHeight, count);
  useEffect(() => onRows?.(first, end), [first, end]);
  const rows = [];
  for (let at = first; at < end; at += 1) {
    rows.push(
      <div key={at} class="long-row" style={{ transform: `translateY(${scrolled + at * rowHeight - whole}px)`, height: `${rowHeight}px` }}>
        {row(at)}
      </div>,
    );
  }
  return (
    <div
      class="long"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={active}
      onScroll={({ currentTarget }) => {
        setScrolled(currentTarget.scrollTop);
        isAtEnd.current = currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight < rowHeight * 2;
      }}
    >
      <div class="long-inner" style={{ height: `${drawn}px` }}>
        {rows}
      </div>
    </div>
  );
}
