//! The `threadline` binary.

mod args;
mod convert;
mod enforce;
mod events;
mod report;
mod sink;
mod translate;

use args::{Args, Command};
use clap::{CommandFactory, Parser};
use report::{Failure, Report};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(command) = args.command else {
        return match write!(io::stdout().lock(), "{}", Args::command().render_long_help()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report::failed(&Failure::write(error)),
        };
    };
    let mut report = Report::new(command.common(), io::stderr().lock());
    let result = match &command {
        Command::Convert(options) => convert::run(options, &mut report),
        Command::Translate(options) => translate::run(options, &mut report),
        Command::Enforce(options) => enforce::run(options, &mut report),
    };
    match result {
        Ok(()) => report.finish(),
        Err(failure) => report::failed(&failure),
    }
}
