//! What can be wrong with a chunk.

use super::super::named_id::write_ids;
use crate::event::EventType;
use crate::stages::NamedId;
use std::fmt;
use thiserror::Error;

/// A chunk that cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ExpandError {
    /// What is wrong.
    pub rule: ExpandRule,
    /// The type of the chunk.
    pub event_type: EventType,
    /// The ids it is about.
    pub ids: Vec<NamedId>,
}

/// The rules that a chunk can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExpandRule {
    /// It opens something and does not say what.
    MissingId,
    /// It opens a call and does not name the tool.
    MissingToolCallName,
    /// It says neither what it continues nor whose, and there are several things that it could continue.
    Ambiguous,
    /// It continues what belongs to another producer than the one it names.
    OwnerMismatch,
    /// It repeats something that was said when the message or call was opened, and says it differently.
    Conflict {
        /// The field that differs.
        field: &'static str,
    },
}

impl ExpandRule {
    /// The name of the rule, for programs. It never changes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MissingId => "chunk_without_id",
            Self::MissingToolCallName => "chunk_without_tool_call_name",
            Self::Ambiguous => "chunk_ambiguous",
            Self::OwnerMismatch => "chunk_owner_mismatch",
            Self::Conflict { .. } => "chunk_conflict",
        }
    }
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            ExpandRule::MissingId => write!(f, "nothing to continue, and no id to open anything with"),
            ExpandRule::MissingToolCallName => write!(f, "the first chunk of a call must name the tool"),
            ExpandRule::Ambiguous => write!(f, "neither id nor tag, and several lanes to continue"),
            ExpandRule::OwnerMismatch => write!(f, "the tag names another than the owner"),
            ExpandRule::Conflict { field } => write!(f, "{field} differs from what the first chunk said"),
        }?;
        write_ids(f, &self.ids)
    }
}
