//! The events that everything is measured on: made by a seeded generator, the same on every machine.

mod application;
mod conversation;
mod deltas;
mod generator;
mod prose;
pub(crate) mod random;
mod writer;

pub use conversation::conversation;
pub use deltas::Deltas;
pub use generator::generate;

use serde::Serialize;

/// Events in the order an agent would send them.
#[derive(Debug)]
pub struct Corpus {
    /// The events.
    pub samples: Vec<Sample>,
}

/// One event.
#[derive(Debug)]
pub struct Sample {
    /// What it is about.
    pub family: Family,
    /// Its JSON, as a producer would write it.
    pub json: String,
}

/// Events that cost alike. An average over all of them hides that deltas are many and snapshots are large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// `TEXT_MESSAGE_*`.
    Text,
    /// `TOOL_CALL_*`.
    Tool,
    /// `REASONING_*`.
    Reasoning,
    /// `STATE_DELTA`.
    StateDelta,
    /// `STATE_SNAPSHOT`.
    StateSnapshot,
    /// `MESSAGES_SNAPSHOT`.
    MessagesSnapshot,
    /// `RUN_*` and `STEP_*`.
    Run,
    /// `ACTIVITY_*`, `SUBAGENT_*`.
    Activity,
    /// `CUSTOM` and `RAW`.
    Passthrough,
    /// Types that AG-UI does not have.
    Unknown,
}

impl Family {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Text,
        Self::Tool,
        Self::Reasoning,
        Self::StateDelta,
        Self::StateSnapshot,
        Self::MessagesSnapshot,
        Self::Run,
        Self::Activity,
        Self::Passthrough,
        Self::Unknown,
    ];

    /// A few words for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Tool => "tool calls",
            Self::Reasoning => "reasoning",
            Self::StateDelta => "state deltas",
            Self::StateSnapshot => "state snapshots",
            Self::MessagesSnapshot => "messages snapshots",
            Self::Run => "runs and steps",
            Self::Activity => "activities, subagents",
            Self::Passthrough => "custom and raw",
            Self::Unknown => "unknown types",
        }
    }
}
