//! What a stream is told about an event.

use super::super::named_id::write_ids;
use super::rule::{Rule, Severity};
use crate::event::EventType;
use crate::stages::NamedId;
use std::fmt;

/// A violation of a rule. It shows as a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The event, counted from 0; the number of events if it is the end of the stream.
    pub position: u64,
    /// The event's type; none if 1.0 does not have it, or at the end of the stream.
    pub event_type: Option<EventType>,
    /// The ids it is about. Of long lists the first ones.
    pub ids: Vec<NamedId>,
    /// How many more there are.
    pub ids_omitted: usize,
}

impl Violation {
    /// Whether it is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// A short label for the reference's rule: `G` and a number for those of streams, `V` and a number for those of events.
    /// None if the rule is ours.
    #[must_use]
    pub const fn label(&self) -> Option<&'static str> {
        match (self.rule, self.event_type) {
            (Rule::AfterRunError, _) => Some("G1"),
            (Rule::AfterRunFinished, _) => Some("G2"),
            (Rule::BeforeRunStarted, _) => Some("G3"),
            (Rule::RunStillActive, _) => Some("G4"),
            // All other rules of the reference are sorted by the event that breaks them.
            (rule, Some(event_type)) if matches!(rule.severity(), Severity::Error) => row(event_type),
            _ => None,
        }
    }
}

const fn row(event_type: EventType) -> Option<&'static str> {
    Some(match event_type {
        EventType::TextMessageStart => "V1",
        EventType::TextMessageContent => "V2",
        EventType::TextMessageEnd => "V3",
        EventType::ToolCallStart => "V4",
        EventType::ToolCallArgs => "V5",
        EventType::ToolCallEnd => "V6",
        EventType::StepStarted => "V8",
        EventType::StepFinished => "V9",
        EventType::ReasoningStart => "V10",
        EventType::ReasoningMessageStart => "V11",
        EventType::ReasoningMessageContent | EventType::ReasoningMessageEnd => "V12",
        EventType::ReasoningEnd => "V13",
        EventType::ReasoningEncryptedValue => "V14",
        EventType::ActivityDelta => "V16",
        EventType::SubagentStarted => "V17",
        EventType::SubagentFinished | EventType::SubagentError => "V18",
        EventType::RunFinished => "V21",
        _ => return None,
    })
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule.describe())?;
        write_ids(f, &self.ids)?;
        match self.ids_omitted {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}
