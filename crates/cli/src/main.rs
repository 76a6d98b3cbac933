//! The `threadline` binary.

mod args;
mod check;
mod compact;
mod convert;
mod enforce;
mod events;
mod expand;
mod fold;
mod normalise;
mod progress;
mod repair;
mod report;
mod sink;
mod translate;

use args::{Args, Command};
use clap::{CommandFactory, Parser};
use report::Report;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(command) = args.command else {
        let shown = write!(io::stdout().lock(), "{}", Args::command().render_long_help());
        return if shown.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(3) };
    };
    let mut report = Report::new(command.source().name(), command.reporting(), io::stderr().lock());
    let result = match &command {
        Command::Convert(options) => convert::run(options, &mut report),
        Command::Translate(options) => translate::run(options, &mut report),
        Command::Enforce(options) => enforce::run(options, &mut report),
        Command::Expand(options) => expand::run(options, &mut report),
        Command::Compact(options) => compact::run(options, &mut report),
        Command::Repair(options) => repair::run(options, &mut report),
        Command::Normalise(options) => normalise::run(options, &mut report),
        Command::Fold(options) => fold::run(options, &mut report),
        Command::Check(options) => check::run(options, &mut report),
    };
    report.finish(result)
}
