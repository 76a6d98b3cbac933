//! Commands that work on a store, or on that of a running server.

pub(crate) mod args;
mod clone;
mod delete;
mod doctor;
mod doctor_reading;
mod export;
mod import;
mod migrate;
pub(crate) mod opened;
pub(crate) mod place;
mod rechecked;
pub(crate) mod records;
pub(crate) mod remote;
mod remote_import;
mod show;
mod threads;
pub(crate) mod time;
mod told;

pub(crate) use args::StoreCommand;

use crate::args::{ReportFormat, Reporting};
use crate::report::Report;
use std::io;
use std::process::ExitCode;

pub(crate) fn run(command: &StoreCommand) -> ExitCode {
    let (input, reporting) = match command {
        StoreCommand::Import(args) => (args.source.name(), args.reporting),
        _ => (String::new(), Reporting { format: ReportFormat::Text, keep_going: false }),
    };
    let mut report = Report::new(input, reporting, io::stderr().lock());
    let result = match command {
        StoreCommand::Threads(args) => threads::run(args, &mut report),
        StoreCommand::Show(args) => show::run(args),
        StoreCommand::Export(args) => export::run(args, &mut report),
        StoreCommand::Import(args) => import::run(args, &mut report),
        StoreCommand::Clone(args) => clone::run(args),
        StoreCommand::Delete(args) => delete::run(args),
        StoreCommand::Migrate(args) => migrate::run(args, &mut report),
        StoreCommand::Doctor(args) => doctor::run(args, &mut report),
    };
    report.finish(result)
}
