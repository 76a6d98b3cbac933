//! From the events of one run to its artifact: a projection with a name, which drops much and counts it, and refuses the rest.

use crate::artifact::{Artifact, FRAMEWORK, RUN_ERROR, RUN_FINISHED, SCHEMA, SURFACE};
use crate::check::{Checker, check_value, told};
use crate::digest::{RangeDigest, RawRange};
use crate::json::{self, Value};
use crate::projection::{self, Projected};
use crate::reason::{Reason, Refusal, Refusals, Refused};
use crate::time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use threadline_protocol::{Envelope, EventType};

/// Whose clock the times of an artifact are of. No event says when it happened, unless its producer wrote it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// When the records were taken in, by the clock of whoever kept them.
    Recorded,
    /// What the events say.
    OfEvents,
    /// What whoever recorded them says.
    Given {
        /// When RUN_STARTED was seen.
        started_at: String,
        /// When the terminal event was seen.
        finished_at: Option<String>,
    },
}

impl Times {
    /// The word for the clock.
    #[must_use]
    pub const fn clock(&self) -> &'static str {
        match self {
            Self::Recorded => "recorder",
            Self::OfEvents => "events",
            Self::Given { .. } => "given",
        }
    }
}

/// What the projection left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// Whole events, by their type. Types that AG-UI 1.0 does not know are counted as `other`.
    pub events: BTreeMap<String, u64>,
    /// Members of the three events that are used, by type and name.
    pub members: BTreeMap<String, u64>,
}

/// An artifact, and what is known about where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The artifact.
    pub artifact: Artifact,
    /// The records that it came from.
    pub range: RawRange,
    /// How many bytes those have.
    pub raw_bytes: u64,
    /// What was left out.
    pub dropped: Dropped,
    /// Whose clock the times are of.
    pub clock: &'static str,
}

/// Takes the events of one run, in order, and makes its artifact.
///
/// ```
/// use threadline_evidence::{Deriver, Reason, Times};
///
/// let given = Times::Given { started_at: "2026-04-14T19:00:00Z".to_owned(), finished_at: None };
/// let mut deriver = Deriver::new(given);
/// for (offset, event) in (0..).zip([
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
///     r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"Hello"}]}"#,
///     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
/// ]) {
///     deriver.push(offset, None, event.as_bytes());
/// }
/// let derived = deriver.finish()?;
/// assert_eq!(derived.artifact.messages()[0].content, "Hello");
/// # Ok::<(), threadline_evidence::Refused>(())
/// ```
#[derive(Clone, Debug)]
pub struct Deriver {
    times: Times,
    /// The thread and the run by the log that has them.
    logged: Option<(String, String)>,
    refusals: Refusals,
    digest: RangeDigest,
    raw_bytes: u64,
    dropped: Dropped,
    started: Option<Start>,
    snapshot: Option<Vec<Projected>>,
    terminal: Option<End>,
}

#[derive(Clone, Debug)]
struct Start {
    thread: String,
    run: String,
    parent: Option<Value>,
    seen: Seen,
}

impl Start {
    /// Whether a terminal event means this run. A RUN_ERROR need not say which one it is.
    fn is_named_by(&self, name: &str, event: &Value) -> bool {
        [("threadId", &self.thread), ("runId", &self.run)].into_iter().all(|(member, own)| {
            match present(event, member) {
                Some(said) => said.as_str() == Some(own),
                None => name == RUN_ERROR,
            }
        })
    }
}

#[derive(Clone, Debug)]
struct End {
    name: &'static str,
    error_code: Option<Value>,
    error_message: Option<Value>,
    seen: Seen,
}

/// When an event was, in milliseconds, as far as somebody says it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    recorded: Option<i64>,
    said: Option<i64>,
}

/// One event, as far as it was read.
struct Read {
    offset: u64,
    event: Value,
    seen: Seen,
}

impl Deriver {
    /// Of a recording.
    #[must_use]
    pub fn new(times: Times) -> Self {
        Self {
            times,
            logged: None,
            refusals: Refusals::default(),
            digest: RangeDigest::default(),
            raw_bytes: 0,
            dropped: Dropped::default(),
            started: None,
            snapshot: None,
            terminal: None,
        }
    }

    /// Of a run in a log, which has taken in its records at known times and knows its ids.
    #[must_use]
    pub fn of_logged_run(thread: &str, run: &str) -> Self {
        Self { logged: Some((thread.to_owned(), run.to_owned())), ..Self::new(Times::Recorded) }
    }

    /// Takes the next event of the source's: its bytes as they came, and when they were taken in, in milliseconds since 1970.
    pub fn push(&mut self, offset: u64, recorded: Option<i64>, bytes: &[u8]) {
        self.digest.push(offset, bytes);
        self.raw_bytes += bytes.len() as u64;
        let event_type = match Envelope::read_bytes(bytes) {
            Ok(envelope) => envelope.event_type(),
            Err(_) => {
                let refusal = Refusal::new(Reason::MalformedEvent, "", "not an AG-UI event");
                return self.refusals.push(refusal.at(offset));
            }
        };
        self.must_be_inside(offset, event_type);
        let Some(used) = event_type.filter(|event_type| USED.contains(event_type)) else {
            let name = event_type.map_or("other", EventType::as_str);
            *self.dropped.events.entry(name.to_owned()).or_default() += 1;
            return;
        };
        let event = match json::read(bytes) {
            Ok(event) => event,
            Err(refusal) => return self.refusals.push(refusal.at(offset)),
        };
        let said = match event.get("timestamp") {
            Some(Value::Number(number)) => number.parse().ok(),
            _ => None,
        };
        let read = Read { offset, event, seen: Seen { recorded, said } };
        self.count_members(used.as_str(), &read.event);
        match used {
            EventType::RunStarted => self.start(&read),
            EventType::MessagesSnapshot => self.take_snapshot(&read),
            _ => self.end(used.as_str(), &read),
        }
    }

    /// Takes a record that the log keeps and does not count as the run's: all that matters is whether the source closed its run
    /// again.
    pub fn push_rejected(&mut self, offset: u64, bytes: &[u8]) {
        let event_type = Envelope::read_bytes(bytes).ok().and_then(|envelope| envelope.event_type());
        if self.terminal.is_some() && is_terminal(event_type) {
            self.refuse(
                Reason::DoubleTerminal,
                offset,
                "a second terminal event, which the log has rejected",
            );
        }
    }

    /// Notes something that is wrong with where the events come from.
    pub fn refuse_source(&mut self, refusal: Refusal) {
        if !self.refusals.has(refusal.reason) {
            self.refusals.push(refusal);
        }
    }

    /// The artifact, if there is one in what was taken.
    ///
    /// # Errors
    /// Everything that stands in the way.
    pub fn finish(mut self) -> Result<Derived, Refused> {
        self.must_be_complete();
        self.must_agree();
        let times = self.named_times();
        let artifact = self.projected(times);
        let clock = self.times.clock();
        let (range, raw_bytes, dropped) = (self.digest.range(), self.raw_bytes, self.dropped);
        let artifact = self.refusals.or(artifact)?;
        Ok(Derived { artifact, range, raw_bytes, dropped, clock })
    }

    fn refuse(&mut self, reason: Reason, offset: u64, message: &str) {
        self.refusals.push(Refusal::new(reason, "", message).at(offset));
    }

    fn must_be_inside(&mut self, offset: u64, event_type: Option<EventType>) {
        let is_first = event_type == Some(EventType::RunStarted);
        let is_outside = (self.started.is_none() && !is_first)
            // A second end, or a second start, is named as such.
            || (self.terminal.is_some() && !is_first && !is_terminal(event_type));
        if is_outside && !self.refusals.has(Reason::OutsideRun) {
            self.refuse(
                Reason::OutsideRun,
                offset,
                "an event before RUN_STARTED or after the terminal event",
            );
        }
    }

    /// Counts what an event has and the artifact has no place for.
    fn count_members(&mut self, name: &str, event: &Value) {
        let Value::Object(members) = event else { return };
        let is_used = |key: &str| match key {
            "type" => true,
            "timestamp" => self.times == Times::OfEvents && name != "MESSAGES_SNAPSHOT",
            "threadId" | "runId" => name != "MESSAGES_SNAPSHOT",
            "parentRunId" => name == "RUN_STARTED",
            "messages" => name == "MESSAGES_SNAPSHOT",
            "message" | "code" => name == RUN_ERROR,
            "outcome" => name == RUN_FINISHED,
            _ => false,
        };
        let unused: Vec<String> = members
            .iter()
            .filter(|(key, _)| !is_used(key))
            .map(|(key, _)| format!("{name}.{}", told(key)))
            .collect();
        for member in unused {
            *self.dropped.members.entry(member).or_default() += 1;
        }
    }

    fn start(&mut self, read: &Read) {
        if self.started.is_some() {
            return self.refuse(Reason::SeveralRunStarted, read.offset, "a second RUN_STARTED");
        }
        let id = |name| read.event.get(name).and_then(Value::as_str);
        let (Some(thread), Some(run)) = (id("threadId"), id("runId")) else {
            return self.refuse(Reason::MalformedEvent, read.offset, "RUN_STARTED without its ids");
        };
        let (thread, run) = (thread.to_owned(), run.to_owned());
        self.started =
            Some(Start { thread, run, parent: present(&read.event, "parentRunId"), seen: read.seen });
    }

    fn take_snapshot(&mut self, read: &Read) {
        let ours = read.event.get("metadata").and_then(|metadata| metadata.get("threadline"));
        if ours.is_some() {
            self.refuse(
                Reason::SynthesisedSnapshot,
                read.offset,
                "a snapshot that Threadline made, and no integration emitted",
            );
        }
        if self.snapshot.is_some() {
            return self.refuse(Reason::SeveralSnapshots, read.offset, "a second MESSAGES_SNAPSHOT");
        }
        let Some(Value::Array(messages)) = read.event.get("messages") else {
            return self.refuse(
                Reason::MalformedEvent,
                read.offset,
                "MESSAGES_SNAPSHOT without its messages",
            );
        };
        let projected = messages.iter().enumerate().map(|(index, message)| {
            projection::message(message, index).map_err(|refusals| {
                refusals.into_iter().for_each(|refusal| self.refusals.push(refusal.at(read.offset)));
            })
        });
        self.snapshot = Some(projected.collect());
    }

    fn end(&mut self, name: &'static str, read: &Read) {
        if self.terminal.is_some() {
            return self.refuse(Reason::DoubleTerminal, read.offset, "a second terminal event");
        }
        if let Some(outcome) = present(&read.event, "outcome").filter(|_| name == RUN_FINISHED) {
            // Before 1.0 it was the word alone.
            let word = outcome.get("type").unwrap_or(&outcome).as_str();
            match word {
                Some("success") => {}
                Some("interrupt") => {
                    self.refuse(
                        Reason::InterruptOutcome,
                        read.offset,
                        "the run waits for answers, which v1 cannot show",
                    );
                }
                Some("cancelled") => {
                    self.refuse(
                        Reason::CancelledOutcome,
                        read.offset,
                        "the run was stopped, which v1 cannot show",
                    );
                }
                _ => self.refuse(Reason::UnknownOutcome, read.offset, "an outcome that is not known"),
            }
        }
        if self.started.as_ref().is_some_and(|start| !start.is_named_by(name, &read.event)) {
            let message = "the terminal event names another thread or run than RUN_STARTED";
            self.refuse(Reason::IdsDisagree, read.offset, message);
        }
        let failed = name == RUN_ERROR;
        self.terminal = Some(End {
            name,
            error_code: present(&read.event, "code").filter(|_| failed),
            error_message: present(&read.event, "message").filter(|_| failed),
            seen: read.seen,
        });
    }

    fn must_be_complete(&mut self) {
        // What is not there to be read is not missing in the run.
        if self.refusals.has(Reason::RawNotKept) {
            return;
        }
        let missing = [
            (self.started.is_none(), Reason::NoRunStarted, "there is no RUN_STARTED"),
            (self.snapshot.is_none(), Reason::NoSnapshot, "there is no MESSAGES_SNAPSHOT"),
            (self.terminal.is_none(), Reason::NoTerminal, "there is neither RUN_FINISHED nor RUN_ERROR"),
        ];
        for (_, reason, message) in missing.into_iter().filter(|(is_missing, ..)| *is_missing) {
            self.refusals.push(Refusal::new(reason, "", message));
        }
    }

    fn must_agree(&mut self) {
        if let (Some(start), Some((thread, run))) = (&self.started, &self.logged)
            && (&start.thread, &start.run) != (thread, run)
        {
            let message = "RUN_STARTED names another thread or run than the log";
            self.refusals.push(Refusal::new(Reason::IdsDisagree, "", message));
        }
    }

    /// When the run started and finished.
    fn named_times(&mut self) -> Option<(String, Option<String>)> {
        let (start, end) = (self.started.as_ref()?.seen, self.terminal.as_ref().map(|end| end.seen));
        let times = match &self.times {
            Times::Given { started_at, finished_at } => {
                return Some((started_at.clone(), finished_at.clone()));
            }
            Times::Recorded => (start.recorded, end.and_then(|end| end.recorded)),
            Times::OfEvents => (start.said, end.and_then(|end| end.said)),
        };
        let (started, finished) =
            (times.0.and_then(time::write_millis), times.1.and_then(time::write_millis));
        if started.is_none() {
            let message = "no event says when it was, and nobody else has said when the run started";
            self.refusals.push(Refusal::new(Reason::NoClock, "", message));
        }
        Some((started?, finished))
    }

    fn projected(&mut self, times: Option<(String, Option<String>)>) -> Option<Artifact> {
        let (start, snapshot, terminal) =
            (self.started.as_ref()?, self.snapshot.as_ref()?, self.terminal.as_ref()?);
        if !self.refusals.is_empty() {
            // There will be no artifact. What else is wrong with the messages is worth knowing.
            let mut checker = Checker::default();
            for (index, message) in snapshot.iter().enumerate() {
                message.as_ref().ok().and_then(|message| checker.message(message, index));
            }
            if let Err(refused) = checker.refusals.or::<()>(None) {
                self.refusals.extend(refused);
            }
            return None;
        }
        let (started_at, finished_at) = times?;
        let text = |text: &str| Some(Value::String(text.to_owned()));
        let messages = snapshot.iter().flatten().cloned().collect();
        let fields = [
            ("schema", text(SCHEMA)),
            ("framework", text(FRAMEWORK)),
            ("surface", text(SURFACE)),
            ("thread_id_ref", text(&start.thread)),
            ("run_id_ref", text(&start.run)),
            ("parent_run_id_ref", start.parent.clone()),
            ("started_at", text(&started_at)),
            ("messages", Some(Value::Array(messages))),
            ("terminal_event", text(terminal.name)),
            ("finished_at", finished_at.as_deref().and_then(text)),
            ("error_code", terminal.error_code.clone()),
            ("error_message", terminal.error_message.clone()),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let artifact = check_value(&Value::Object(fields.collect()));
        artifact.and_then(|artifact| bounded(&artifact)).map_err(|refused| self.refusals.extend(refused)).ok()
    }
}

/// An artifact must not become too large by being written.
fn bounded(artifact: &Artifact) -> Result<Artifact, Refused> {
    crate::check::check(artifact.to_json().as_bytes())
}

/// The types that are used.
const USED: [EventType; 4] =
    [EventType::RunStarted, EventType::MessagesSnapshot, EventType::RunFinished, EventType::RunError];

const fn is_terminal(event_type: Option<EventType>) -> bool {
    matches!(event_type, Some(EventType::RunFinished | EventType::RunError))
}

/// A member, unless it says nothing.
fn present(event: &Value, name: &str) -> Option<Value> {
    event.get(name).filter(|value| **value != Value::Null).cloned()
}
