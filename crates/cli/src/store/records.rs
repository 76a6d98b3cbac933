//! The records of a thread, a line each.

use super::args::OutputFormat;
use super::opened::Opened;
use super::remote::{Refused, Remote, escaped, failure, thread_path};
use super::time::readable;
use crate::report::{Failure, printable};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::{RunId, ThreadId, Timestamp};
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

/// A record, as a server tells it.
#[derive(Deserialize)]
pub(crate) struct Told {
    offset: u64,
    time: Timestamp,
    run: String,
    kind: String,
    event: Option<Box<RawValue>>,
    text: Option<String>,
    hex: Option<String>,
}

impl Told {
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) const fn time(&self) -> Timestamp {
        self.time
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Its bytes as they came.
    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        match (self.event_text(), &self.hex) {
            (Some(text), _) => Cow::Borrowed(text.as_bytes()),
            (None, hex) => Cow::Owned(from_hex(hex.as_deref().unwrap_or_default())),
        }
    }

    fn event_text(&self) -> Option<&str> {
        self.event.as_ref().map(|event| event.get()).or(self.text.as_deref())
    }

    fn line(&self) -> RecordLine<'_> {
        let text = self.event_text();
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

/// The records of a run are gone.
pub(crate) struct Gone;

/// Those of a server as they came, of one run or of all.
pub(crate) fn told_raw(
    remote: &Remote,
    thread: &ThreadId,
    run: Option<&RunId>,
    offsets: Range<u64>,
    mut each: impl FnMut(&Told),
) -> Result<Result<(), Gone>, Failure> {
    let Range { start: mut next, end } = offsets;
    let run = run.map(|run| format!("&run={}", escaped(run.as_str()))).unwrap_or_default();
    while next < end {
        let after = next.checked_sub(1).map(|last| format!("after={last}&")).unwrap_or_default();
        let path = format!("{}/events?{after}until={end}{run}", thread_path(thread));
        let page = match remote.try_get::<Page>(&path)? {
            Ok(page) => page,
            Err(error) => {
                let is_gone =
                    Refused::of(&error).is_some_and(|said| ["compacted", "trimmed"].contains(&&*said.code));
                return if is_gone { Ok(Err(Gone)) } else { Err(failure(&error)) };
            }
        };
        page.records.iter().for_each(&mut each);
        next = page.records.last().map_or(end, |last| last.offset + 1);
    }
    Ok(Ok(()))
}

/// The bytes of hexadecimal digits, as far as they are such.
fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
