//! `threadline import`: threads from exports and recordings.

use super::args::{ImportArgs, default_scope, named_scope};
use super::opened::Opened;
use super::remote::Remote;
use super::remote_import;
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report, Severity, printable};
use std::fmt::Display;
use std::io::{self, Write};
use threadline_log::ThreadKey;
use threadline_log::transfer::{ImportOptions, Imported, Importer, LINE_BYTES_MAX};
use threadline_protocol::Limits;
use threadline_protocol::codec::Place;
use threadline_protocol::stages::close::Cause;

pub(crate) fn run(args: &ImportArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let remote = Remote::of(&args.place)?;
    // Without an input nothing is made.
    let input = events::open(&args.source)?;
    if let Some(remote) = remote {
        return remote_import::run(args, input, &remote, report);
    }
    let opened = Opened::for_writing(&args.place.store)?;
    let options = ImportOptions {
        scope: named_scope(args.app.as_ref(), args.user.as_ref()),
        default_scope: default_scope()?,
        thread: args.thread.clone(),
        cause: Cause::Truncated,
    };
    let importer = opened.engine.import(options);
    let unread = Unread::default();
    let import = Import { opened: &opened, importer, unread, is_over: false, is_damaged: false };
    let result = events::run_opened(input, &args.source, report, import);
    opened.close();
    result
}

struct Import<'a> {
    opened: &'a Opened,
    importer: Importer,
    unread: Unread,
    /// The store has refused something, so that nothing more is written.
    is_over: bool,
    /// Some of the input could not be read.
    is_damaged: bool,
}

impl Command for Import<'_> {
    const PRINTS_AT_THE_END: bool = true;

    /// Lines of exports hold more than an event.
    fn limits() -> Limits {
        Limits { event_bytes_max: LINE_BYTES_MAX, line_bytes_max: LINE_BYTES_MAX }
    }

    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let error = match self.opened.wait(self.importer.push(json)) {
            Ok(None) => return Ok(()),
            Ok(Some(reason)) => return self.unread.say(place, &reason, report),
            Err(error) => error,
        };
        self.is_over = true;
        say_kept(&names(self.importer.whole()), report);
        report.say(
            place,
            &Entry {
                severity: Severity::Note,
                code: "refused",
                event_type: None,
                path: "",
                message: error.to_string(),
            },
        )?;
        Err(Failure::Refused(error))
    }

    fn no_event(&mut self, place: Place, entry: &Entry<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
        self.is_damaged = true;
        report.say(place, entry)
    }

    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(self, report: &mut Report<'_>) -> Result<(), Failure> {
        if self.is_over {
            return Ok(());
        }
        let whole = names(self.importer.whole());
        // A thread of which something is missing must not look like a whole one.
        if self.is_damaged && self.importer.is_export() {
            say_kept(&whole, report);
            return Ok(self.opened.wait(self.importer.abandon())?);
        }
        match self.opened.wait(self.importer.finish()) {
            Ok(imported) => say(&imported),
            Err(error) => {
                say_kept(&whole, report);
                Err(error.into())
            }
        }
    }
}

/// What cannot be read as events.
#[derive(Debug, Default)]
pub(super) struct Unread {
    pub(super) count: u64,
}

impl Unread {
    /// Tells of the first one. There may be many, as in a file that is no recording at all.
    pub(super) fn say(
        &mut self,
        place: Place,
        reason: &impl Display,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        self.count += 1;
        if self.count > 1 {
            return Ok(());
        }
        let message = format!("cannot be read as an event: {reason}");
        let severity = Severity::Finding;
        report.say(place, &Entry { severity, code: "not_an_event", event_type: None, path: "", message })
    }
}

fn names(threads: &[ThreadKey]) -> Vec<String> {
    threads.iter().map(ToString::to_string).collect()
}

/// What stays though the rest was refused.
pub(super) fn say_kept(threads: &[String], report: &mut Report<'_>) {
    if !threads.is_empty() {
        report.warn(&format!("imported before that, and kept: {}", threads.join(", ")));
    }
}

/// What was imported.
pub(super) fn say(imported: &Imported) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for thread in &imported.threads {
        writeln!(out, "{}", printable(&thread.to_string())).map_err(Failure::write)?;
    }
    let count = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (runs, records) = (count(imported.runs, "run"), count(imported.records, "record"));
    let unread = match imported.unreadable {
        0 => String::new(),
        unreadable => format!(", {unreadable} of them cannot be read as events"),
    };
    writeln!(io::stderr().lock(), "imported {runs}, {records}{unread}").map_err(Failure::write)
}
