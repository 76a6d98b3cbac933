//! One thing that is wrong with one event.

use super::code::Code;
use super::finding::Severity;

/// Something about one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issue {
    pub(super) severity: Severity,
    pub(super) code: Code,
    /// Where in the event as it was written, as a JSON pointer.
    pub(super) path: String,
    /// Where in the event as it was meant.
    pub(super) meant_path: String,
    pub(super) message: String,
    /// What to do; what the code says if there is nothing better.
    pub(super) advice: Option<String>,
}

impl Issue {
    /// About a place that has the same name in the event as it was meant.
    pub(super) fn new(severity: Severity, code: Code, path: impl Into<String>) -> Self {
        let path = path.into();
        let meant_path = path.clone();
        Self { severity, code, path, meant_path, message: code.summary().to_owned(), advice: None }
    }

    pub(super) fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    pub(super) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Whether it counts against the stream.
    pub(super) fn is_deviation(&self) -> bool {
        self.severity >= Severity::Warning
    }
}
