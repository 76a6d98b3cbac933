//! The lines of a raw export. Kept stable: members may be added, never renamed.

use crate::error::Error;
use crate::hex::{from_hex, to_hex};
use crate::names::{Owner, RunId, Scope, ThreadId, ThreadKey, Timestamp};
use crate::record::{Kind, NewRecord, Record};
use crate::run::{BaseState, RunEnd};
use crate::thread::Metadata;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the format.
pub(super) const EXPORT_VERSION: u32 = 1;

/// The longest line of an export that is taken in: that of a run has the request that started it, and records that are no JSON are
/// written as texts, or in hexadecimal digits.
pub const LINE_BYTES_MAX: usize = 80 * 1024 * 1024;

/// The last millisecond of the year 9999.
const TIME_MAX: i64 = 253_402_300_799_999;

/// A line, of which only the members of one kind are there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    /// The first line has this.
    pub(super) threadline: Option<u32>,
    pub(super) thread: Option<ThreadLine>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    pub(super) first: Option<u64>,
    pub(super) tail: Option<u64>,
    pub(super) records: Option<u64>,
    pub(super) runs: Option<usize>,
    /// A run begins, or a record belongs to it.
    pub(super) run: Option<RunId>,
    pub(super) parent: Option<RunId>,
    pub(super) spawned_by: Option<String>,
    pub(super) number: Option<usize>,
    pub(super) base_state: Option<BaseState>,
    pub(super) until: Option<u64>,
    pub(super) lines: Option<usize>,
    #[serde(borrow)]
    pub(super) request: Option<&'a RawValue>,
    pub(super) request_text: Option<String>,
    pub(super) offset: Option<u64>,
    pub(super) time: Option<Timestamp>,
    pub(super) kind: Option<String>,
    pub(super) part: Option<usize>,
    #[serde(borrow)]
    pub(super) event: Option<&'a RawValue>,
    pub(super) text: Option<String>,
    pub(super) hex: Option<String>,
    /// The run ends with this record.
    pub(super) end: Option<RunEnd>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ThreadLine {
    pub(super) app: Owner,
    pub(super) user: Owner,
    pub(super) id: ThreadId,
}

impl ThreadLine {
    pub(super) fn of(key: &ThreadKey) -> Self {
        Self { app: key.scope.app.clone(), user: key.scope.user.clone(), id: key.thread.clone() }
    }

    pub(super) fn scope(&self) -> Scope {
        Scope { app: self.app.clone(), user: self.user.clone() }
    }
}

/// The first line.
#[derive(Serialize)]
pub(super) struct HeadLine<'a> {
    pub(super) threadline: u32,
    pub(super) thread: ThreadLine,
    pub(super) metadata: &'a Metadata,
    /// The first offset that is kept; none if it is a part of a thread, so that others are missing, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<u64>,
    pub(super) tail: u64,
    /// How many records follow, without those that stand for compacted runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) records: Option<u64>,
    pub(super) runs: usize,
}

/// A run begins.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunLine<'a> {
    pub(super) run: &'a RunId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<&'a RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spawned_by: Option<&'a str>,
    /// The how manyth run of the export it is, from 1.
    pub(super) number: usize,
    pub(super) base_state: BaseState,
    /// Its records are gone, and what follows is their compaction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) compacted: bool,
    /// One past the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<u64>,
    /// How many lines their compaction has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_text: Option<&'a str>,
}

/// A record.
#[derive(Serialize)]
pub(super) struct RecordLine<'a> {
    pub(super) offset: u64,
    pub(super) time: Timestamp,
    pub(super) run: &'a RunId,
    pub(super) kind: &'static str,
    /// The how manyth line of its run's compaction it is, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<&'a RunEnd>,
}

impl<'a> RecordLine<'a> {
    pub(super) fn new(record: &'a Record, run: &'a RunId, end: Option<&'a RunEnd>) -> Self {
        let (event, text) = embedded(&record.bytes);
        let hex = (event.is_none() && text.is_none()).then(|| to_hex(&record.bytes));
        let Record { offset, time, kind, .. } = *record;
        Self { offset, time, run, kind: kind.name(), part: None, event, text, hex, end }
    }

    pub(super) const fn with_part(mut self, part: usize) -> Self {
        self.part = Some(part);
        self
    }
}

/// A record as a line of an export has it: offset, time, run, kind, and the event as it came.
///
/// # Panics
/// Never: what cannot be JSON is written as a text or in hexadecimal digits.
#[must_use]
pub fn record_json(record: &Record, run: &RunId) -> String {
    serde_json::to_string(&RecordLine::new(record, run, None)).expect("a record can be written")
}

/// JSON as it came, if a line can hold it; else the text of it. A member that is `null` reads as one that is absent.
pub(super) fn embedded(bytes: &[u8]) -> (Option<&RawValue>, Option<&str>) {
    let Ok(text) = std::str::from_utf8(bytes) else { return (None, None) };
    let fits = text != "null" && !text.contains(['\n', '\r']);
    let raw =
        serde_json::from_str::<&RawValue>(text).ok().filter(|raw| fits && raw.get().len() == text.len());
    (raw, raw.is_none().then_some(text))
}

/// Whether an export begins with this text: the first line has a member that says so, wherever it stands. Events have a type.
#[must_use]
pub fn begins_export(json: &str) -> bool {
    #[derive(Deserialize)]
    struct First {
        threadline: Option<IgnoredAny>,
        r#type: Option<IgnoredAny>,
    }
    // Few lines have it anywhere.
    if !json.contains("\"threadline\"") {
        return false;
    }
    let json = without_mark(json);
    match serde_json::from_str::<First>(json) {
        Ok(first) => first.threadline.is_some() && first.r#type.is_none(),
        // One that is damaged behind that.
        Err(_) => json.trim_start().starts_with("{\"threadline\":"),
    }
}

/// A text without the mark that some editors put before it.
pub(super) fn without_mark(json: &str) -> &str {
    json.strip_prefix('\u{feff}').unwrap_or(json)
}

/// Whether it can only be a line of an export, and not its first.
pub(super) fn is_of_export(json: &str) -> bool {
    serde_json::from_str(json).is_ok_and(|line: Line<'_>| {
        let begins_run = line.offset.is_none() && line.base_state.is_some();
        let is_record = line.offset.is_some() && line.kind.is_some();
        line.run.is_some() && (begins_run || is_record)
    })
}

impl Line<'_> {
    /// The record that the line holds.
    pub(super) fn record(&self) -> Result<NewRecord, Error> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let kind =
            Kind::from_name(kind).ok_or_else(|| Error::Invalid(format!("no such kind. kind={kind}")))?;
        let bytes = match (self.event, &self.text, &self.hex) {
            (Some(event), ..) => event.get().as_bytes().to_vec(),
            (None, Some(text), _) => text.clone().into_bytes(),
            (None, None, Some(hex)) => {
                from_hex(hex).ok_or_else(|| Error::Invalid("no hexadecimal digits".to_owned()))?
            }
            (None, None, None) => return Err(Error::Invalid("a record without an event".to_owned())),
        };
        Ok(NewRecord { kind, bytes: bytes.into() })
    }

    /// When the record was taken in. A thread is never updated before that again, so that it has to make sense.
    pub(super) fn time(&self) -> Result<Timestamp, Error> {
        let time = self.time.unwrap_or_default();
        if (0..=TIME_MAX).contains(&time.0) {
            return Ok(time);
        }
        Err(Error::Invalid(format!("a time that is not of the years 1970 to 9999. time={}", time.0)))
    }

    /// The request of a run that begins.
    pub(super) fn request(&self) -> Vec<u8> {
        let raw = self.request.map(RawValue::get).or(self.request_text.as_deref());
        raw.unwrap_or_default().as_bytes().to_vec()
    }
}
