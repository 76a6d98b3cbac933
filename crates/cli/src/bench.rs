//! `threadline bench URL`: how a server does under load.

mod histogram;
mod load;
mod measured;
mod write;

use crate::address::Address;
use crate::args::{ReportFormat, Reporting};
use crate::progress::Progress;
use crate::reach::ReachArgs;
use crate::report::{Failure, Report, Severity, printable};
use load::{Job, Load};
use measured::{Bench, Measured};
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Where runs are posted to
    url: String,
    /// How many runs are started
    #[arg(long, value_name = "COUNT", default_value = "100")]
    runs: NonZeroUsize,
    /// How many of them, and of the requests for history, go on at once
    #[arg(long, value_name = "COUNT", default_value = "8")]
    concurrency: NonZeroUsize,
    /// How many readers attach to one more run while it goes on, as `connect` of a Threadline server lets them
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    followers: usize,
    /// How often the history of the threads is asked for, as a Threadline server has it
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    history: usize,
    /// What the user says in each run
    #[arg(long, value_name = "TEXT", default_value = "hello")]
    message: String,
    /// How the figures are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,
    #[command(flatten)]
    reach: ReachArgs,
}

pub(crate) fn run(args: &BenchArgs) -> ExitCode {
    let reporting = Reporting { format: ReportFormat::Text, keep_going: false };
    let mut report = Report::new(args.url.clone(), reporting, io::stderr().lock());
    let result = measure(args, &mut report);
    report.finish(result)
}

fn measure(args: &BenchArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let address = Address::parse(&args.url).filter(|address| !address.is_socket);
    let address = address.ok_or_else(|| Failure::Usage(format!("not a url of http: {}", args.url)))?;
    report.warn(&plan(args));
    report.flush();
    if !args.reach.is_wanted(&address)? {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Environment(error.to_string()))?;
    let load = Load::new(&address, &args.reach, &args.message, args.runs.get())?;
    let mut phase = |job: Job, count: usize| -> Measured {
        let mut progress = Progress::of_things(count as u64, job.name());
        let mut done = || {
            if let Some(line) = progress.as_mut().and_then(|progress| progress.advance(1)) {
                report.show_progress(&line);
            }
        };
        let measured = runtime.block_on(load.carry_out(job, count, args.concurrency.get(), &mut done));
        report.erase_progress();
        measured
    };
    let bench = Bench {
        url: args.url.clone(),
        message: args.message.clone(),
        concurrency: args.concurrency.get(),
        runs: phase(Job::Runs, args.runs.get()),
        followers: (args.followers > 0).then(|| phase(Job::Followers, args.followers)),
        history: (args.history > 0).then(|| phase(Job::History, args.history)),
    };
    if let Some(error) = bench.runs.unreachable() {
        return Err(Failure::Environment(format!("the server cannot be asked: {error}")));
    }
    report.count(if bench.has_failed() { Severity::Finding } else { Severity::Note });
    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        ReportFormat::Text => write::text(&bench, &mut out),
        ReportFormat::Json => write::json(&bench, &mut out),
    }
    .and_then(|()| out.flush())
    .map_err(Failure::write)
}

/// What will be sent.
fn plan(args: &BenchArgs) -> String {
    let mut text =
        format!("starts {} runs at {}, {} at a time", args.runs, printable(&args.url), args.concurrency);
    if args.followers > 0 {
        text += &format!(", then one more with {} followers", args.followers);
    }
    if args.history > 0 {
        // Where it is has to be found out.
        text += &format!(", then asks up to {} times for history", args.history + 2);
    }
    text
}
