//! What was found.

use std::fmt;
use std::ops::Range;
use threadline_log::ThreadKey;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing to worry about: it is mended by itself when the store is opened.
    Note,
    /// Something derived is wrong. Nothing is lost; it can be made anew.
    Derived,
    /// Data that were durable are damaged.
    Damage,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// File, thread and offset, as far as they are known.
    pub place: String,
    /// What is wrong.
    pub what: String,
}

/// Records that are gone without anybody having wanted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Their thread.
    pub thread: ThreadKey,
    /// Their offsets.
    pub offsets: Range<u64>,
}

/// What was found in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What is not as it should be.
    pub findings: Vec<Finding>,
    /// Records that cannot be read any more.
    pub lost: Vec<Lost>,
    /// The files that were put aside, in `damaged/`.
    pub put_aside: Vec<String>,
    /// The catalogue was made anew.
    pub is_rebuilt: bool,
    /// How many threads were looked at.
    pub threads: usize,
    /// How many records.
    pub records: u64,
}

impl Report {
    /// The worst of it.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        let lost = (!self.lost.is_empty()).then_some(Severity::Damage);
        self.findings.iter().map(|finding| finding.severity).chain(lost).max()
    }

    pub(super) fn find(&mut self, severity: Severity, place: impl Into<String>, what: impl fmt::Display) {
        self.findings.push(Finding { severity, place: place.into(), what: what.to_string() });
    }
}
