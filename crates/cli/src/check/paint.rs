//! Colours, where a person looks.

use std::io::{self, IsTerminal};
use threadline_protocol::check::{Severity, Verdict};

/// Colours text, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Colours on a terminal, unless they are not wanted: <https://no-color.org>.
    pub(crate) fn of_stdout() -> Self {
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { is_on: io::stdout().is_terminal() && !is_unwanted }
    }

    #[cfg(test)]
    pub(crate) const fn plain() -> Self {
        Self { is_on: false }
    }

    #[cfg(test)]
    pub(crate) const fn coloured() -> Self {
        Self { is_on: true }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn wrong(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn right(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn severity(self, severity: Severity, text: &str) -> String {
        let style = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "33",
            Severity::Note => "36",
        };
        self.paint(style, text)
    }

    pub(crate) fn verdict(self, verdict: Verdict, text: &str) -> String {
        let style = match verdict {
            Verdict::Conformant => "1;32",
            Verdict::Warnings => "1;33",
            _ => "1;31",
        };
        self.paint(style, text)
    }

    fn paint(self, style: &str, text: &str) -> String {
        if self.is_on { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
