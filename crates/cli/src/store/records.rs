//! The records of a thread, a line each.

use super::args::OutputFormat;
use super::opened::Opened;
use super::remote::{Refused, Remote, failure, thread_path};
use super::time::readable;
use crate::report::{Failure, printable};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::io::Write;
use std::ops::Range;
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::{ThreadId, Timestamp};
use threadline_protocol::Envelope;

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 1024 * 1024;

/// A record, as far as it is shown.
pub(crate) struct RecordLine<'a> {
    offset: u64,
    time: Timestamp,
    run: &'a str,
    kind: &'a str,
    event_type: String,
    bytes: usize,
}

impl RecordLine<'_> {
    pub(crate) fn write(&self, out: &mut impl Write, format: OutputFormat) -> Result<(), Failure> {
        let Self { offset, time, run, kind, event_type, bytes } = self;
        let line = match format {
            OutputFormat::Text => printable(&format!(
                "{offset:>8}  {}  {run}  {kind:<10}  {event_type}  {bytes} bytes",
                readable(*time),
            )),
            OutputFormat::Json => json!({"offset": offset, "time": time.0, "run": run, "kind": kind,
                "type": event_type, "bytes": bytes})
            .to_string(),
        };
        writeln!(out, "{line}").map_err(Failure::write)
    }
}

fn event_type(text: &str) -> String {
    Envelope::read(text).map_or_else(|_| "-".to_owned(), |envelope| envelope.type_name().to_string())
}

pub(crate) fn begin_records(out: &mut impl Write, format: OutputFormat) -> Result<(), Failure> {
    if format == OutputFormat::Text { writeln!(out).map_err(Failure::write) } else { Ok(()) }
}

/// Those of a store.
pub(crate) fn stored_records(
    opened: &Opened,
    info: &ThreadInfo,
    runs: &[RunInfo],
    mut each: impl FnMut(&RecordLine<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Range { start: mut next, end } = info.offsets;
    while next < end {
        let page = opened.wait(opened.engine.store().read(&info.key, next..end, None, PAGE_BYTES))?;
        next = page.next;
        for record in page.records {
            each(&RecordLine {
                offset: record.offset,
                time: record.time,
                run: runs.get(record.run.index()).map_or("-", |run| run.id.as_str()),
                kind: record.kind.name(),
                event_type: event_type(&String::from_utf8_lossy(&record.bytes)),
                bytes: record.bytes.len(),
            })?;
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Page {
    records: Vec<Told>,
}

#[derive(Deserialize)]
struct Told {
    offset: u64,
    time: Timestamp,
    run: String,
    kind: String,
    event: Option<Box<RawValue>>,
    text: Option<String>,
    hex: Option<String>,
}

impl Told {
    fn line(&self) -> RecordLine<'_> {
        let text = self.event.as_ref().map(|event| event.get()).or(self.text.as_deref());
        let hex_bytes = self.hex.as_ref().map_or(0, |hex| hex.len() / 2);
        RecordLine {
            offset: self.offset,
            time: self.time,
            run: &self.run,
            kind: &self.kind,
            event_type: event_type(text.unwrap_or_default()),
            bytes: text.map_or(hex_bytes, str::len),
        }
    }
}

/// Those of a server.
pub(crate) fn told_records(
    remote: &Remote,
    thread: &ThreadId,
    offsets: Range<u64>,
    mut each: impl FnMut(&RecordLine<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Range { start: mut next, end } = offsets;
    while next < end {
        let after = next.checked_sub(1).map(|last| format!("after={last}&")).unwrap_or_default();
        let path = format!("{}/events?{after}until={end}", thread_path(thread));
        match remote.try_get::<Page>(&path)? {
            Ok(page) => {
                page.records.iter().try_for_each(|record| each(&record.line()))?;
                next = page.records.last().map_or(end, |last| last.offset + 1);
            }
            // What is gone is passed over, as in a store.
            Err(error) => {
                let refused =
                    Refused::of(&error).filter(|said| ["compacted", "trimmed"].contains(&&*said.code));
                let Some(refused) = refused else { return Err(failure(&error)) };
                next = refused.details["first"].as_u64().filter(|first| *first > next).unwrap_or(end);
            }
        }
    }
    Ok(())
}
