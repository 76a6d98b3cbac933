//! Families of events.

use crate::event::EventType;
use std::fmt;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// Runs and their steps.
    Lifecycle,
    /// Text messages.
    Text,
    /// Tool calls and their results.
    ToolCalls,
    /// Reasoning.
    Reasoning,
    /// State and messages as a whole.
    State,
    /// Activities.
    Activity,
    /// Subagents.
    Subagents,
    /// What AG-UI only carries.
    Passthrough,
    /// What is no event of AG-UI, and what cannot be read.
    Other,
}

impl Family {
    /// All of them, in the order of the protocol's own description.
    pub const ALL: &'static [Self] = &[
        Self::Lifecycle,
        Self::Text,
        Self::ToolCalls,
        Self::Reasoning,
        Self::State,
        Self::Activity,
        Self::Subagents,
        Self::Passthrough,
        Self::Other,
    ];

    /// The name, for people and for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lifecycle => "lifecycle",
            Self::Text => "text",
            Self::ToolCalls => "tool calls",
            Self::Reasoning => "reasoning",
            Self::State => "state",
            Self::Activity => "activity",
            Self::Subagents => "subagents",
            Self::Passthrough => "passthrough",
            Self::Other => "other",
        }
    }

    /// The family of an event.
    #[must_use]
    pub fn of(event_type: EventType) -> Self {
        // The names are the families' own, but for a few.
        let name = event_type.as_str();
        match name.split('_').next() {
            Some("RUN" | "STEP") => Self::Lifecycle,
            Some("TEXT") => Self::Text,
            Some("TOOL") => Self::ToolCalls,
            Some("REASONING") => Self::Reasoning,
            Some("STATE" | "MESSAGES") => Self::State,
            Some("ACTIVITY") => Self::Activity,
            Some("SUBAGENT") => Self::Subagents,
            Some("RAW" | "CUSTOM") => Self::Passthrough,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_family() {
        assert!(EventType::ALL.iter().all(|&event_type| Family::of(event_type) != Family::Other));
    }
}
