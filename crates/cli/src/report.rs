//! What a command has to say, and how it ends.

use crate::args::{ReportFormat, Reporting};
use serde::Serialize;
use std::fmt;
use std::io::{self, BufWriter, StderrLock, Write};
use std::path::Path;
use std::process::ExitCode;
use thiserror::Error;
use threadline_log::ErrorKind;
use threadline_protocol::codec::Place;

/// Why a command could not do its work.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    /// A file beside the events that holds something else than it should.
    #[error("cannot use {path}: {message}")]
    Invalid { path: String, message: String },
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// The store cannot be used.
    #[error("{0}")]
    Store(String),
    /// What was asked makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Something that is needed is not to be had.
    #[error("{0}")]
    Environment(String),
    /// The store has it otherwise.
    #[error("{0}")]
    Refused(threadline_log::Error),
    /// Nobody has said that something may be lost.
    #[error("nothing was deleted: say --yes")]
    Unconfirmed,
    /// Was reported, with its place.
    #[error("the input cannot be read")]
    Unreadable,
}

impl From<threadline_log::Error> for Failure {
    fn from(error: threadline_log::Error) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// A store that cannot be used, and all that is known about why.
    pub(crate) fn store(place: impl fmt::Display, error: &dyn std::error::Error) -> Self {
        let mut text = format!("{place}: {error}");
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        for cause in causes.map(ToString::to_string) {
            // Some errors repeat their cause.
            if !text.ends_with(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        Self::Store(text)
    }

    /// A place where there is none.
    pub(crate) fn no_store(place: impl fmt::Display) -> Self {
        Self::Store(format!("there is no store at {place}"))
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.display().to_string(), source }
    }

    pub(crate) fn invalid(path: &Path, message: &impl ToString) -> Self {
        Self::Invalid { path: path.display().to_string(), message: message.to_string() }
    }

    pub(crate) const fn write(source: io::Error) -> Self {
        Self::Write(source)
    }
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// For information.
    Note,
    /// Something a person should know; exit code 1.
    Finding,
    /// Input that cannot be read; exit code 2.
    Unreadable,
}

/// Something to say about one event.
#[derive(Debug, Serialize)]
pub(crate) struct Entry<'a> {
    pub(crate) severity: Severity,
    /// A stable word for programs.
    pub(crate) code: &'static str,
    /// The type of the event, where it is known.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) event_type: Option<&'a str>,
    /// Where in the event.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) path: &'a str,
    pub(crate) message: String,
}

impl<'a> Entry<'a> {
    /// Input that cannot be read.
    pub(crate) fn unreadable(code: &'static str, message: &impl ToString) -> Self {
        let message = message.to_string();
        Self { severity: Severity::Unreadable, code, event_type: None, path: "", message }
    }

    /// Something a person should know.
    pub(crate) fn finding(
        code: &'static str,
        event_type: &'a str,
        path: &'a str,
        message: &impl ToString,
    ) -> Self {
        let message = message.to_string();
        Self { severity: Severity::Finding, code, event_type: Some(event_type), path, message }
    }
}

/// An entry with its place, for programs.
#[derive(Serialize)]
struct Placed<'a> {
    /// Which event of the input, from 1.
    event: u64,
    /// Where it begins, if the input has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(flatten)]
    entry: &'a Entry<'a>,
}

/// Collects what a command has to say. If standard error is gone, the work goes on and the exit code has to do.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    out: BufWriter<StderrLock<'a>>,
    input: String,
    reporting: Reporting,
    findings: u64,
    unreadable: u64,
    /// Whether a line about progress is on the screen.
    progress: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(input: String, reporting: Reporting, out: StderrLock<'a>) -> Self {
        Self { out: BufWriter::new(out), input, reporting, findings: 0, unreadable: 0, progress: false }
    }

    /// Counts something that is said elsewhere.
    pub(crate) const fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Note => {}
            Severity::Finding => self.findings += 1,
            Severity::Unreadable => self.unreadable += 1,
        }
    }

    /// Says something about an event. Input that cannot be read ends the work, unless it was asked to go on.
    pub(crate) fn say(&mut self, place: Place, entry: &Entry<'_>) -> Result<(), Failure> {
        self.count(entry.severity);
        let line = match self.reporting.format {
            ReportFormat::Text => {
                let event_type = entry.event_type.map(|name| format!("{name}: ")).unwrap_or_default();
                printable(&format!("{}: {place}: {event_type}{}", self.input, entry.message))
            }
            ReportFormat::Json => {
                let placed = Placed { event: place.event, line: place.line, entry };
                serde_json::to_string(&placed).expect("strings and numbers are JSON")
            }
        };
        self.erase_progress();
        let _ = writeln!(self.out, "{line}");
        let ends = entry.severity == Severity::Unreadable && !self.reporting.keep_going;
        if ends { Err(Failure::Unreadable) } else { Ok(()) }
    }

    /// Says something that has no place in an input.
    pub(crate) fn warn(&mut self, message: &str) {
        self.erase_progress();
        let _ = writeln!(self.out, "threadline: {}", printable(message));
    }

    /// Says something to programs: a line of JSON.
    pub(crate) fn tell(&mut self, json: &str) {
        self.erase_progress();
        let _ = writeln!(self.out, "{json}");
    }

    /// Shows a line that stays until there is something else to show.
    pub(crate) fn show_progress(&mut self, line: &str) {
        let _ = write!(self.out, "\r{line}\x1b[K");
        self.progress = true;
        self.flush();
    }

    pub(crate) fn erase_progress(&mut self) {
        if std::mem::take(&mut self.progress) {
            let _ = write!(self.out, "\r\x1b[K");
        }
    }

    /// Shows what was said.
    pub(crate) fn flush(&mut self) {
        let _ = self.out.flush();
    }

    /// Says how the command ended, by words where there are any to say and by its exit code.
    pub(crate) fn finish(mut self, result: Result<(), Failure>) -> ExitCode {
        let code = match result {
            Err(Failure::Read { .. } | Failure::Store(_) | Failure::Environment(_)) => 3,
            Err(Failure::Refused(ref error)) => exit_code(error),
            // Whoever read our output has seen enough; what was found before still counts.
            Err(Failure::Write(ref error)) if error.kind() != io::ErrorKind::BrokenPipe => 3,
            Err(Failure::Invalid { .. } | Failure::Unconfirmed | Failure::Usage(_)) => 2,
            _ if self.unreadable > 0 => 2,
            _ if self.findings > 0 => 1,
            _ => 0,
        };
        self.erase_progress();
        if let Err(failure) = result
            && code > 1
            && !matches!(failure, Failure::Unreadable)
        {
            let _ = writeln!(self.out, "threadline: {}", printable(&failure.to_string()));
        }
        self.flush();
        ExitCode::from(code)
    }
}

/// Whether the request was wrong, or what was needed for it.
const fn exit_code(error: &threadline_log::Error) -> u8 {
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Unavailable | ErrorKind::Indeterminate => 3,
        _ => 2,
    }
}

/// What an event says must neither forge a line of ours, nor command the terminal, nor look like something else.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_invisible(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Characters without width, and those that turn the direction of what follows.
const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(
            printable("a\u{202E}b\u{200B}\u{2066}\u{FEFF}\n"),
            r"a\u{202e}b\u{200b}\u{2066}\u{feff}\n"
        );
        assert_eq!(printable("für 東京 עברית 🙂"), "für 東京 עברית 🙂");
    }
}
