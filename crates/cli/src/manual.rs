//! `threadline completions` and `threadline man`: made from what the command line is defined by, so that they say the same.

use crate::args::{Args, ReportFormat, Reporting};
use crate::report::{Failure, Report};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Where they go; it is made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run_completions(args: &CompletionsArgs) -> ExitCode {
    // The generator cannot say that it failed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "threadline", &mut script);
    finish(io::stdout().lock().write_all(&script).map_err(Failure::write))
}

pub(crate) fn run_man(args: &ManArgs) -> ExitCode {
    finish(write_pages(&args.dir).map_err(Failure::write))
}

/// A page for the program and one for each command.
fn write_pages(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Args::command(), dir)
}

fn finish(result: Result<(), Failure>) -> ExitCode {
    let reporting = Reporting { format: ReportFormat::Text, keep_going: false };
    Report::new("threadline".to_owned(), reporting, io::stderr().lock()).finish(result)
}
