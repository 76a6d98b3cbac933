//! What a command has to say, and how it ends.

use crate::args::{CommonArgs, ReportFormat};
use serde::Serialize;
use std::io::{self, StderrLock, Write};
use std::path::Path;
use std::process::ExitCode;
use thiserror::Error;
use threadline_protocol::codec::Place;

/// Why a command could not do its work.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// Already reported, with its place.
    #[error("the input cannot be read")]
    Unreadable,
}

impl Failure {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.display().to_string(), source }
    }

    pub(crate) const fn write(source: io::Error) -> Self {
        Self::Write(source)
    }
}

/// Says why a command failed and gives the exit code.
pub(crate) fn failed(failure: &Failure) -> ExitCode {
    match failure {
        // Whoever read our output has seen enough.
        Failure::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Failure::Unreadable => return ExitCode::from(2),
        Failure::Read { .. } | Failure::Write(_) => {}
    }
    // If standard error is gone as well, the exit code has to do.
    let _ = writeln!(io::stderr().lock(), "threadline: {failure}");
    ExitCode::from(3)
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
    /// Which event of the input, from 1.
    event: u64,
    /// Where it begins, if the input has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    event_type: Option<&'a str>,
    /// Where in the event.
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    message: &'a str,
}

/// Collects what a command has to say.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    out: StderrLock<'a>,
    input: String,
    format: ReportFormat,
    keep_going: bool,
    findings: u64,
    unreadable: u64,
}

impl<'a> Report<'a> {
    pub(crate) fn new(options: &CommonArgs, out: StderrLock<'a>) -> Self {
        let input = options.input.display().to_string();
        let input = if input == "-" { "stdin".to_owned() } else { input };
        Self {
            out,
            input,
            format: options.format,
            keep_going: options.keep_going,
            findings: 0,
            unreadable: 0,
        }
    }

    /// Something about an event.
    pub(crate) fn say(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Place,
        event_type: Option<&str>,
        path: &str,
        message: &str,
    ) -> Result<(), Failure> {
        match severity {
            Severity::Note => {}
            Severity::Finding => self.findings += 1,
            Severity::Unreadable => self.unreadable += 1,
        }
        let entry = Entry { severity, code, event: place.event, line: place.line, event_type, path, message };
        let written = match self.format {
            ReportFormat::Text => {
                let event_type = event_type.map(|name| format!("{name}: ")).unwrap_or_default();
                writeln!(self.out, "{}: {place}: {event_type}{message}", self.input)
            }
            ReportFormat::Json => serde_json::to_writer(&mut self.out, &entry)
                .map_err(io::Error::from)
                .and_then(|()| self.out.write_all(b"\n")),
        };
        written.map_err(Failure::write)?;
        if severity == Severity::Unreadable && !self.keep_going { Err(Failure::Unreadable) } else { Ok(()) }
    }

    /// The exit code of a command that came to its end.
    pub(crate) fn finish(self) -> ExitCode {
        match (self.unreadable, self.findings) {
            (0, 0) => ExitCode::SUCCESS,
            (0, _) => ExitCode::from(1),
            _ => ExitCode::from(2),
        }
    }
}
