//! What becomes of what a source gives: which records are kept, and where the run ends. No I/O.

use super::source::Given;
use std::collections::HashSet;
use threadline_log::delivery::{Delivery, is_legible};
use threadline_log::run::{RunEnd, RunStatus};
use threadline_log::{Kind, NewRecord, RunId, ThreadId};
use threadline_protocol::event::RunStarted;
use threadline_protocol::stages::close::Cause;
use threadline_protocol::{Envelope, Event, EventType, Received};

/// Judges the events of one run's source.
#[derive(Debug)]
pub struct Ingest {
    run: RunId,
    /// The other runs of the thread: a source that starts one of them repeats what is known.
    others: HashSet<RunId>,
    /// What clients see, so that a run ends when they see it end.
    delivery: Delivery,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Events are the run's.
    Open,
    /// The source has started a run of an id that is nobody's. Most likely it makes up ids of its own, and this is the run;
    /// but it may repeat an old one before ours, so that its end waits for what comes next.
    Assumed { end: Option<NewRecord> },
    /// Events are of another run, until that one ends.
    Elsewhere,
    /// The run is over.
    Ended,
}

/// What is to be appended.
#[derive(Debug, Default)]
pub struct Judged {
    /// In order.
    pub records: Vec<NewRecord>,
    /// The run's end, which is among the records.
    pub end: Option<RunEnd>,
}

impl Judged {
    /// Something to be kept and not to be delivered.
    fn reject(&mut self, record: NewRecord) {
        self.records.push(NewRecord { kind: Kind::Rejected, ..record });
    }
}

impl Ingest {
    /// Of a run, in a thread with these runs.
    #[must_use]
    pub fn new(thread: &ThreadId, run: &RunId, others: HashSet<RunId>) -> Self {
        let mut delivery = Delivery::new(thread, run);
        let started = Event::from(RunStarted::new(thread.as_str(), run.as_str()));
        delivery.push(Kind::Made, started.to_json().as_bytes());
        Self { run: run.clone(), others, delivery, stage: Stage::Open }
    }

    /// Whether the run has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Whether the run ends if nothing else comes.
    #[must_use]
    pub const fn may_have_ended(&self) -> bool {
        matches!(self.stage, Stage::Assumed { end: Some(_) })
    }

    /// Takes what the source gave next.
    pub fn push(&mut self, given: Given, judged: &mut Judged) {
        let (kind, bytes) = match given {
            Given::Json(bytes) => (Kind::Event, bytes),
            Given::FromProtobuf(bytes) => (Kind::Transcoded, bytes),
            Given::Undecodable(bytes) => (Kind::Rejected, bytes),
        };
        let boundary = if kind == Kind::Rejected { None } else { Boundary::of(&bytes) };
        if let Some(Boundary::Start(id)) = &boundary {
            self.starts(id, judged);
        }
        let record = NewRecord { kind, bytes };
        match &self.stage {
            Stage::Assumed { end: None } if matches!(boundary, Some(Boundary::End)) => {
                self.stage = Stage::Assumed { end: Some(record) };
            }
            Stage::Open | Stage::Assumed { end: None } => {
                let closing = match boundary {
                    Some(Boundary::End) => self.closing(&record.bytes),
                    Some(Boundary::Start(_)) | None => Vec::new(),
                };
                self.take(record, closing, judged);
            }
            Stage::Assumed { end: Some(_) } => {
                self.finish(judged);
                judged.reject(record);
            }
            Stage::Elsewhere => {
                if let Some(Boundary::End) = boundary {
                    self.stage = Stage::Open;
                }
                judged.reject(record);
            }
            Stage::Ended => judged.reject(record),
        }
    }

    /// The source gives no more.
    pub fn finish(&mut self, judged: &mut Judged) {
        if let Stage::Assumed { end: Some(end) } = std::mem::replace(&mut self.stage, Stage::Open) {
            let closing = self.closing(&end.bytes);
            self.take(end, closing, judged);
        }
    }

    /// What has to be said before an end, if it is one that leaves open what is: text without an end and calls without results.
    fn closing(&self, end: &[u8]) -> Vec<NewRecord> {
        let Ok(received) = Received::read_bytes(end) else { return Vec::new() };
        let cause = match RunEnd::of(received.event()).map(|end| end.status) {
            None | Some(RunStatus::Finished | RunStatus::Interrupted) => return Vec::new(),
            Some(RunStatus::Cancelled) => Cause::Cancelled,
            Some(_) => Cause::Failed,
        };
        let made = |event: &Event<'_>| NewRecord::made(event.to_json().into_bytes());
        self.delivery.closing(cause).iter().map(made).collect()
    }

    fn starts(&mut self, id: &str, judged: &mut Judged) {
        let is_ours = id == self.run.as_str();
        match &mut self.stage {
            Stage::Open if !is_ours => {
                let is_known = RunId::new(id).is_ok_and(|id| self.others.contains(&id));
                self.stage = if is_known { Stage::Elsewhere } else { Stage::Assumed { end: None } };
            }
            Stage::Assumed { end } if is_ours => {
                // So it was another run that came before.
                if let Some(end) = end.take() {
                    judged.reject(end);
                }
                self.stage = Stage::Open;
            }
            Stage::Elsewhere if is_ours => self.stage = Stage::Open,
            _ => {}
        }
    }

    /// Takes an event of the run's own, with what has to be said before it if it ends the run.
    fn take(&mut self, record: NewRecord, closing: Vec<NewRecord>, judged: &mut Judged) {
        let delivered = self.delivery.push(record.kind, &record.bytes);
        // What nobody sees may be of an unknown type, or no event at all.
        if delivered.is_empty() && !is_legible(&record.bytes) {
            return judged.reject(record);
        }
        let end = delivered.iter().find_map(RunEnd::of);
        if end.is_some() {
            judged.records.extend(closing);
        }
        judged.records.push(record);
        if let Some(end) = end {
            self.stage = Stage::Ended;
            judged.end = Some(end);
        }
    }
}

/// Where a run begins or ends.
enum Boundary {
    Start(String),
    End,
}

impl Boundary {
    fn of(bytes: &[u8]) -> Option<Self> {
        // Most events are something else, which is soon seen.
        match Envelope::read_bytes(bytes).ok()?.event_type()? {
            EventType::RunStarted => match Received::read_bytes(bytes).ok()?.into_event() {
                Event::RunStarted(started) => Some(Self::Start(started.run_id.to_string())),
                _ => None,
            },
            EventType::RunFinished | EventType::RunError => Some(Self::End),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(events: &[&str]) -> (Vec<(Kind, String)>, Option<RunStatus>) {
        let thread = ThreadId::new("t").unwrap();
        let run = RunId::new("ours").unwrap();
        let mut ingest = Ingest::new(&thread, &run, HashSet::from([RunId::new("old").unwrap()]));
        let mut judged = Judged::default();
        for event in events {
            ingest.push(Given::Json(event.as_bytes().to_vec().into()), &mut judged);
        }
        ingest.finish(&mut judged);
        let text = |record: NewRecord| (record.kind, String::from_utf8(record.bytes.to_vec()).unwrap());
        (judged.records.into_iter().map(text).collect(), judged.end.map(|end| end.status))
    }

    fn kinds(events: &[&str]) -> (Vec<Kind>, Option<RunStatus>) {
        let (records, end) = judged(events);
        assert_eq!(records.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), events);
        (records.into_iter().map(|(kind, _)| kind).collect(), end)
    }

    const OURS: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"ours"}"#;
    const OLD: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"old"}"#;
    const NEW: &str = r#"{"type":"RUN_STARTED","threadId":"x","runId":"made up"}"#;
    const TEXT: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"d"}"#;
    const DONE: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"ours"}"#;
    const ERROR: &str = r#"{"type":"RUN_ERROR","message":"m"}"#;
    const ODD: &str = r#"{"type":"VENDOR_EVENT","x":1.50}"#;

    #[test]
    fn what_is_good_is_kept_as_it_came() {
        use Kind::Event;
        assert_eq!(
            kinds(&[OURS, TEXT, ODD, DONE]),
            (vec![Event, Event, Event, Event], Some(RunStatus::Finished))
        );
        assert_eq!(kinds(&[TEXT, ERROR]), (vec![Event, Event], Some(RunStatus::Failed)));
        assert_eq!(kinds(&[TEXT]), (vec![Event], None));
    }

    #[test]
    fn what_is_open_is_closed_before_a_run_that_fails() {
        const START: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#;
        const CALL: &str = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#;
        const STOPPED: &str =
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"ours","outcome":{"type":"cancelled"}}"#;
        let made = |end: &str| {
            let (records, status) = judged(&[OURS, START, CALL, end, TEXT]);
            let text: Vec<String> = records.iter().map(|(_, text)| text.clone()).collect();
            assert_eq!(text.iter().filter(|text| *text == end).count(), 1, "{text:?}");
            let (kinds, at) = (records.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), text.len() - 2);
            assert_eq!((kinds[at], kinds[at + 1]), (Kind::Event, Kind::Rejected), "{text:?}");
            assert!(kinds[3..at].iter().all(|kind| *kind == Kind::Made), "{text:?}");
            let types = ["TEXT_MESSAGE_END", "TOOL_CALL_END", "TOOL_CALL_RESULT"];
            let said =
                text[3..at].iter().map(|text| types.iter().find(|name| text.contains(**name)).copied());
            (said.collect::<Vec<_>>(), status)
        };
        let closed = vec![Some("TEXT_MESSAGE_END"), Some("TOOL_CALL_END"), Some("TOOL_CALL_RESULT")];
        assert_eq!(made(ERROR), (closed.clone(), Some(RunStatus::Failed)));
        assert_eq!(made(STOPPED), (closed, Some(RunStatus::Cancelled)));
        assert_eq!(made(DONE), (Vec::new(), Some(RunStatus::Finished)), "as its source says");
    }

    #[test]
    fn what_cannot_be_read_is_kept_and_harms_nothing() {
        use Kind::{Event, Rejected};
        let (kinds, end) = kinds(&["{", TEXT, "[DONE]", "null", "", r#"{"type":1}"#, DONE]);
        assert_eq!(kinds, [Rejected, Event, Rejected, Rejected, Rejected, Rejected, Event]);
        assert_eq!(end, Some(RunStatus::Finished));
    }

    #[test]
    fn a_run_ends_once() {
        use Kind::{Event, Rejected};
        let (kinds, end) = kinds(&[OURS, DONE, ERROR, TEXT, OURS, DONE]);
        assert_eq!(kinds, [Event, Event, Rejected, Rejected, Rejected, Rejected]);
        assert_eq!(end, Some(RunStatus::Finished));
    }

    #[test]
    fn a_run_that_is_known_is_not_told_again() {
        use Kind::{Event, Rejected};
        let (kinds, end) = kinds(&[OLD, TEXT, DONE, OURS, TEXT, DONE]);
        assert_eq!(kinds, [Rejected, Rejected, Rejected, Event, Event, Event]);
        assert_eq!(end, Some(RunStatus::Finished));
        let (kinds, _) = self::kinds(&[OURS, OLD, TEXT, DONE, TEXT]);
        assert_eq!(kinds, [Event, Rejected, Rejected, Rejected, Event]);
    }

    #[test]
    fn a_source_may_have_ids_of_its_own() {
        use Kind::{Event, Rejected};
        assert_eq!(kinds(&[NEW, TEXT, DONE]), (vec![Event, Event, Event], Some(RunStatus::Finished)));
        assert_eq!(kinds(&[NEW, TEXT]), (vec![Event, Event], None));
        assert_eq!(
            kinds(&[NEW, TEXT, DONE, ERROR]),
            (vec![Event, Event, Event, Rejected], Some(RunStatus::Finished))
        );
        // What came before ours was another run; nothing can be taken back, but ours is not lost.
        assert_eq!(
            kinds(&[NEW, TEXT, DONE, OURS, TEXT, ERROR]),
            (vec![Event, Event, Rejected, Event, Event, Event], Some(RunStatus::Failed))
        );
    }
}
