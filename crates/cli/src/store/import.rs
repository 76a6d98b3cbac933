//! `threadline import`: threads from exports and recordings.

use super::args::{ImportArgs, default_scope, named_scope};
use super::opened::Opened;
use super::remote::Remote;
use super::remote_import;
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report, Severity, printable};
use std::io::{self, Write};
use threadline_log::transfer::{ImportOptions, Imported, Importer, LINE_BYTES_MAX};
use threadline_protocol::Limits;
use threadline_protocol::codec::Place;
use threadline_protocol::stages::close::Cause;

pub(crate) fn run(args: &ImportArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    if let Some(remote) = Remote::of(&args.place)? {
        return remote_import::run(args, &remote, report);
    }
    let opened = Opened::for_writing(&args.place.store)?;
    let options = ImportOptions {
        scope: named_scope(args.app.as_ref(), args.user.as_ref()),
        default_scope: default_scope()?,
        thread: args.thread.clone(),
        cause: Cause::Truncated,
    };
    let importer = opened.engine.import(options);
    let result = events::run(
        &args.source,
        report,
        Import { opened: &opened, importer, is_over: false, is_damaged: false },
    );
    opened.close();
    result
}

struct Import<'a> {
    opened: &'a Opened,
    importer: Importer,
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
        let Err(error) = self.opened.wait(self.importer.push(json)) else { return Ok(()) };
        self.is_over = true;
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

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        if self.is_over {
            return Ok(());
        }
        // A thread of which something is missing must not look like a whole one.
        if self.is_damaged && self.importer.is_export() {
            return Ok(self.opened.wait(self.importer.abandon())?);
        }
        let imported = self.opened.wait(self.importer.finish())?;
        say(&imported)
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
    writeln!(io::stderr().lock(), "imported {runs}, {records}").map_err(Failure::write)
}
