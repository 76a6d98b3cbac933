import { useEffect, useMemo } from "preact/hooks";
import type { View } from "../logic/route";
import { RecordBook } from "../model/records";
import { CompactView } from "./compact";
import { EventsView } from "./events";
import { Empty, Trouble } from "./parts";
import { RunsView } from "./runs";
import { TravelView } from "./travel";

/** The ways to look at what is stored of a thread. They share its records. */
export function ThreadViews({ thread, view }: { thread: string; view: Exclude<View, "chat"> }) {
  const book = useMemo(() => new RecordBook(thread), [thread]);
  useEffect(() => () => book.close(), [book]);
  const range = book.range.value;
  if (range === null) {
    return book.failure.value === null ? <Empty title="Loading…" /> : <Empty title="This thread cannot be shown">{book.failure.value}</Empty>;
  }
  return (
    <>
      {book.failure.value !== null && <Trouble onDismiss={() => (book.failure.value = null)}>{book.failure.value}</Trouble>}
      {view === "events" && <EventsView book={book} />}
      {view === "runs" && <RunsView book={book} />}
      {view === "travel" && <TravelView book={book} range={range} />}
      {view === "compact" && <CompactView book={book} />}
    </>
  );
}
