//! `threadline evidence`: artifacts of runs.

mod args;
mod chain;
mod check;
mod derive;
mod diff;
mod files;
mod head;
mod keygen;
mod raw;
mod sign;
mod verify;

pub(crate) use args::EvidenceArgs;

use crate::args::{ReportFormat, Reporting};
use crate::report::Report;
use args::EvidenceCommand;
use std::io;
use std::process::ExitCode;

pub(crate) fn run(args: &EvidenceArgs) -> ExitCode {
    let (input, format) = match &args.command {
        EvidenceCommand::Derive(args) => (args.source.name(), args.format),
        EvidenceCommand::Verify(args) => (args.raw_name(), ReportFormat::Text),
        _ => (String::new(), ReportFormat::Text),
    };
    let reporting = Reporting { format, keep_going: false };
    let mut report = Report::new(input, reporting, io::stderr().lock());
    let result = match &args.command {
        EvidenceCommand::Derive(args) => derive::run(args, &mut report),
        EvidenceCommand::Check(args) => check::run(args, &mut report),
        EvidenceCommand::Sign(args) => sign::run(args, &mut report),
        EvidenceCommand::Verify(args) => verify::run(args, &mut report),
        EvidenceCommand::Diff(args) => diff::run(args, &mut report),
        EvidenceCommand::Head(args) => head::run(args, &mut report),
        EvidenceCommand::Keygen(args) => keygen::run(args),
    };
    report.finish(result)
}
