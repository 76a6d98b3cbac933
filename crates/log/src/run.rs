//! Runs: what is known about each of them beside its records.

use crate::names::{Epoch, RunId, RunNo, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use threadline_protocol::event::Event;
use threadline_protocol::run::RunOutcome;
use threadline_protocol::stages::close::Cause;

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// It succeeded.
    Finished,
    /// It waits for answers, which another run will bring.
    Interrupted,
    /// Somebody stopped it.
    Cancelled,
    /// It failed.
    Failed,
    /// Whoever executed it is gone.
    Abandoned,
}

impl RunStatus {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Which state a run begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseState {
    /// That of the run it continues.
    #[default]
    Branch,
    /// That of its own input, where an absent one is `{}`.
    Input,
}

/// How a run ended. What is known at its terminal event, so that nobody has to read it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// How.
    pub status: RunStatus,
    /// The terminal event's `outcome`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Value>,
    /// The code of the error it failed with, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The terminal event's `usage`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// The ids of the interrupts that it opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<String>,
}

/// Which messages a branch holds after a run, as far as a parent has to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLineage {
    /// How many messages were said up to the run's end; activities and reasoning are left out.
    pub said: u64,
    /// A hash over their ids in order.
    pub hash: u64,
    /// Hashes of the ids of all messages that the run added.
    pub ids: Vec<u64>,
}

/// What is known about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Its place among the runs of the thread.
    pub no: RunNo,
    /// Its id.
    pub id: RunId,
    /// The run it continues; none for a root.
    pub parent: Option<RunNo>,
    /// A `parentRunId` that names no run of this thread: who ordered it.
    pub spawned_by: Option<String>,
    /// Which state it begins with.
    pub base_state: BaseState,
    /// The SHA-256 of the request that started it, in hexadecimal digits.
    pub request_digest: String,
    /// Its first record, and one past the last that it has so far.
    pub offsets: Range<u64>,
    /// How many records it has: those of runs that overlap lie between.
    pub records: u64,
    /// When it was opened.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// One past the record that it ended with, if that was written down: rejected ones may follow.
    pub ended_at: Option<u64>,
    /// How it ended; none while it goes on.
    pub end: Option<RunEnd>,
    /// The generation of its writer.
    pub epoch: Epoch,
    /// When somebody else may take it over.
    pub lease_until: Timestamp,
    /// Its messages, known some time after its end.
    pub lineage: Option<RunLineage>,
    /// Whether its records were replaced by their compaction.
    pub compacted: bool,
}

impl RunInfo {
    /// A run of which nothing more is known.
    pub(crate) const fn unknown(no: RunNo, id: RunId, first: u64, time: Timestamp) -> Self {
        Self {
            no,
            id,
            parent: None,
            spawned_by: None,
            base_state: BaseState::Branch,
            request_digest: String::new(),
            offsets: first..first,
            records: 0,
            started: time,
            ended: None,
            ended_at: None,
            end: None,
            epoch: Epoch(1),
            lease_until: time,
            lineage: None,
            compacted: false,
        }
    }

    /// What is in the place of a run whose opening was lost.
    pub(crate) fn stand_in(no: RunNo, first: u64, time: Timestamp) -> Self {
        Self::unknown(no, stand_in_id(no), first, time)
    }

    /// Whether it is in the place of one whose opening was lost. Others have the digest of a request.
    pub(crate) fn is_stand_in(&self) -> bool {
        self.request_digest.is_empty() && self.id == stand_in_id(self.no)
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.end.as_ref().map_or(RunStatus::Running, |end| end.status)
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.end.is_none()
    }

    /// Whether it has ended and has no checkpoint, so that what it held is not known.
    #[must_use]
    pub const fn is_unfolded(&self) -> bool {
        !self.is_running() && self.lineage.is_none()
    }
}

fn stand_in_id(no: RunNo) -> RunId {
    RunId::new(format!("lost-{}", no.0)).expect("it is short")
}

/// What nests deeper is left out of a [`RunEnd`]: within a fact or an export it could not be read again.
const DEPTH_MAX: usize = 64;

/// How deep a value nests. What was read does not nest without a bound.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(values) => values.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}

/// Members of an event that nest no deeper than what is kept of an end.
fn members<const N: usize>(event: &Event<'_>, names: [&str; N]) -> [Option<Value>; N] {
    let mut said: Value = serde_json::from_str(&event.to_json()).unwrap_or_default();
    names.map(|name| said.get_mut(name).map(Value::take).filter(|value| depth(value) <= DEPTH_MAX))
}

impl RunEnd {
    /// What a terminal event says. None if it is no terminal event.
    #[must_use]
    pub fn of(event: &Event<'_>) -> Option<Self> {
        match event {
            Event::RunFinished(finished) => {
                let outcome = finished.outcome.as_ref();
                let (status, interrupts) = match outcome {
                    Some(RunOutcome::Interrupt(outcome)) => {
                        let ids = outcome.interrupts.as_slice().iter().map(|one| one.id.to_string());
                        (RunStatus::Interrupted, ids.collect())
                    }
                    Some(RunOutcome::Cancelled(_)) => (RunStatus::Cancelled, Vec::new()),
                    _ => (RunStatus::Finished, Vec::new()),
                };
                let [outcome, usage] = members(event, ["outcome", "usage"]);
                Some(Self { status, outcome, error_code: None, usage, interrupts })
            }
            Event::RunError(error) => {
                let code = error.code.as_ref().map(ToString::to_string);
                let status = match code.as_deref() == Some(Cause::Abandoned.code()) {
                    true => RunStatus::Abandoned,
                    false => RunStatus::Failed,
                };
                let [usage] = members(event, ["usage"]);
                Some(Self { status, outcome: None, error_code: code, usage, interrupts: Vec::new() })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Fact;
    use crate::names::RunNo;
    use threadline_protocol::Received;

    #[test]
    fn what_models_were_given_and_gave_is_kept_of_every_end() {
        let usage = r#"[{"model":"m","inputTokens":3,"outputTokens":5}]"#;
        for event in [
            format!(r#"{{"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":{usage}}}"#),
            format!(r#"{{"type":"RUN_ERROR","message":"no more","code":"spent","usage":{usage}}}"#),
        ] {
            let received = Received::read(&event).expect("an event");
            let end = RunEnd::of(received.event()).expect("a terminal");
            assert_eq!(end.usage, serde_json::from_str(usage).ok(), "{event}");
        }
    }

    #[test]
    fn an_end_can_be_read_wherever_it_was_written() {
        for depth in 0..200 {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            let usage = format!(r#"[{{"of":{open}1{close}}}]"#);
            let interrupt = format!(r#"{{"id":"i","reason":"r","metadata":{{"of":{open}1{close}}}}}"#);
            let event = format!(
                r#"{{"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":{usage},
                    "outcome":{{"type":"interrupt","interrupts":[{interrupt}]}}}}"#
            );
            let Ok(received) = Received::read(&event) else { continue };
            let end = RunEnd::of(received.event()).expect("a terminal");
            assert_eq!(end.interrupts, ["i"]);
            assert_eq!(end.outcome.is_some(), depth <= 60, "{depth}");
            let fact = Fact::Ended { run: RunNo(0), end, at: Some(7) };
            let json = serde_json::to_string(&fact).expect("it is JSON");
            assert_eq!(serde_json::from_str::<Fact>(&json).expect("it is read"), fact, "{depth}");
        }
    }
}
