//! `threadline check`: what is wrong with a stream, or with what an endpoint does, and what to do about it.

mod json;
mod live;
mod markdown;
pub(crate) mod paint;
mod sarif;
mod text;

use crate::address::Address;
use crate::args::{CheckArgs, CheckFormat};
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report, Severity};
use paint::Paint;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use threadline_protocol::check::{CheckReport, Checker, Finding, Verdict};
use threadline_protocol::codec::Place;

pub(crate) fn run(options: &CheckArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    if let Some(url) = options.source.input.to_str().filter(|input| Address::is_meant(input)) {
        return live::run(url, options, report);
    }
    if options.live.is_given() {
        let message = "--say, --header, --timeout, --plan and --yes are for a URL, and this is a file";
        return Err(Failure::Usage(message.to_owned()));
    }
    let mut check = Check { checker: Checker::new(), position: 0, places: HashMap::new() };
    events::run(&options.source, report, &mut check)?;
    let checked =
        Checked { input: options.source.name(), report: check.checker.finish(), places: check.places };
    report.count(match checked.report.verdict {
        Verdict::Conformant => Severity::Note,
        Verdict::Unreadable => Severity::Unreadable,
        _ => Severity::Finding,
    });
    let mut out = BufWriter::new(io::stdout().lock());
    match options.format {
        CheckFormat::Text => text::write(&checked, Paint::of_stdout(), &mut out),
        CheckFormat::Markdown => markdown::write(&checked, &mut out),
        CheckFormat::Json => json::write(&checked, &mut out),
        CheckFormat::Sarif => sarif::write(&checked, &mut out),
    }
    .and_then(|()| out.flush())
    .map_err(Failure::write)
}

struct Check {
    checker: Checker,
    position: u64,
    /// Where the events are that a finding names.
    places: HashMap<u64, Place>,
}

/// What was found in an input.
struct Checked {
    input: String,
    report: CheckReport,
    places: HashMap<u64, Place>,
}

impl Check {
    fn remember(&mut self, is_named: bool, place: Place) {
        if is_named {
            self.places.insert(self.position, place);
        }
    }
}

impl Checked {
    /// Where a finding was made: the first few places, none for the end of the stream.
    fn places(&self, finding: &Finding) -> Vec<Option<Place>> {
        finding.positions.iter().map(|position| self.places.get(position).copied()).collect()
    }
}

impl Command for &mut Check {
    const PRINTS_AT_THE_END: bool = true;

    fn event(&mut self, json: &str, place: Place, _: &mut Report<'_>) -> Result<(), Failure> {
        let is_named = self.checker.push(json);
        self.remember(is_named, place);
        self.position += 1;
        Ok(())
    }

    fn no_event(&mut self, place: Place, entry: &Entry<'_>, _: &mut Report<'_>) -> Result<(), Failure> {
        // Something was lost, and the rest of the event follows.
        if let Some(event_type) = entry.event_type {
            let is_named = self.checker.lost(event_type, entry.path);
            self.remember(is_named, place);
        } else {
            let is_named = self.checker.push_unreadable(&entry.message);
            self.remember(is_named, place);
            self.position += 1;
        }
        Ok(())
    }

    fn joined(&mut self, place: Place) {
        // Every event of an SSE stream has come here, as an event or as none.
        let position = place.event - 1;
        if self.checker.joined(position) {
            self.places.insert(position, place);
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        Ok(())
    }
}
