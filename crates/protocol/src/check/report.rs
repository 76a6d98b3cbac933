//! What a check has to say.

use super::coverage::Coverage;
use super::finding::Finding;
use std::fmt;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// In a word.
    pub verdict: Verdict,
    /// How many events there were, those included that could not be read.
    pub events: u64,
    /// How many of them could be read as events, whatever is wrong with them.
    pub readable: u64,
    /// How many errors.
    pub errors: u64,
    /// How many warnings.
    pub warnings: u64,
    /// How many notes.
    pub notes: u64,
    /// The findings by family, errors first, in the order they were found.
    pub findings: Vec<Finding>,
    /// How many errors, warnings and notes are in no finding, because there are too many different ones.
    pub omitted: u64,
    /// What of the protocol the stream uses.
    pub coverage: Coverage,
}

/// How far a stream is from AG-UI 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Neither errors nor warnings.
    Conformant,
    /// No errors, but warnings.
    Warnings,
    /// Errors, in less than half of the events.
    Drift,
    /// Errors in half of the events or more.
    Severe,
    /// There is no event that could be read.
    Unreadable,
}

impl Verdict {
    /// The name, for people and for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::Warnings => "warnings",
            Self::Drift => "drift",
            Self::Severe => "severe",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
