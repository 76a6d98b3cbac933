//! Runs benchmarks and prints what they found.

use clap::{Parser, Subcommand, ValueEnum};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use threadline_bench::measure::measure;
use threadline_bench::protocol::Parsed;
use threadline_bench::report::Report;
use threadline_bench::{client, corpus, protobuf, protocol, server, stages, store};
use threadline_protocol::codec::SseId;

/// As the binary has it. The peers in this process have it, too.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Benchmarks of Threadline beside its peers.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    subject: Subject,
    /// How to print what was found.
    #[arg(long, value_enum, default_value_t = Format::Markdown, global = true)]
    format: Format,
    /// How often each candidate is timed.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..), global = true)]
    rounds: u16,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Reading, writing and framing events.
    Protocol,
    /// Consuming, verifying, folding and compacting conversations, beside the reference in Node.
    Stages {
        /// Lets the reference consume 50,000 events, which takes it minutes.
        #[arg(long)]
        full: bool,
    },
    /// Clients over loopback: a run from its request to its end, beside the `ag-ui` crate and the reference in Node.
    Client {
        /// How many events the run has; may be given several times.
        #[arg(long, default_values_t = [1_000, 10_000])]
        events: Vec<usize>,
    },
    /// Appending, reading, following and opening, beside a bare file and other stores.
    Store {
        /// Writes for longer, and reads from and opens one GiB.
        #[arg(long)]
        full: bool,
        /// Where stores are made; they are removed in the end.
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        dir: PathBuf,
        /// Measures only this; may be given several times.
        #[arg(long, value_enum)]
        only: Vec<store::Part>,
    },
    /// Our store in PostgreSQL, with one, two and three instances, beside the same rows inserted by hand and beside the embedded store.
    Postgres {
        /// Writes for longer.
        #[arg(long)]
        full: bool,
        /// Where the files of the embedded store are made; they are removed in the end.
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        dir: PathBuf,
        /// Measures only this; may be given several times.
        #[arg(long, value_enum)]
        only: Vec<store::DatabasePart>,
    },
    /// The server over loopback: runs, delay, history and attaching, beside a pass-through and the engine alone.
    Server {
        /// Measures for longer.
        #[arg(long)]
        full: bool,
        /// Where stores are made; they are removed in the end.
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        dir: PathBuf,
        /// A folder that @copilotkit/runtime is installed in, which is then measured as well.
        #[arg(long)]
        copilotkit: Option<PathBuf>,
        /// `threadline`, built for release: what it takes by itself with many connections is then measured as well.
        #[arg(long)]
        program: Option<PathBuf>,
        /// Measures only this; may be given several times.
        #[arg(long, value_enum)]
        only: Vec<server::Part>,
    },
    /// Durable appends to one store with nothing beside it, for a look with a profiler.
    StoreAppend {
        /// The store, as the tables call it.
        name: String,
        /// How many writers there are.
        #[arg(long, default_value_t = 512)]
        writers: u64,
        /// For how long they write.
        #[arg(long, default_value_t = 5)]
        seconds: u64,
        /// Where the store is made; it is removed in the end.
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        dir: PathBuf,
    },
    /// Opens what a killed `store-fill` has left, for a look with a profiler. The runs that went on are closed, so that it can be done once.
    StoreOpen {
        /// The store, as the tables call it.
        name: String,
        /// Where it is.
        dir: PathBuf,
        /// Takes it out of the page cache before.
        #[arg(long)]
        cold: bool,
    },
    /// Appends to a store until it is killed.
    StoreFill {
        /// The store.
        name: String,
        /// Where it is.
        dir: PathBuf,
        /// Says "ready" after so many bytes.
        bytes: u64,
        /// How often that was done before.
        times: u32,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Markdown,
    Json,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let rounds = usize::from(arguments.rounds);
    match arguments.subject {
        Subject::Protocol => print(&protocol_report(rounds), arguments.format),
        Subject::Stages { full } => print(&stages::report(rounds, full)?, arguments.format),
        Subject::Client { events } => print(&client::report(&events)?, arguments.format),
        Subject::Store { full, dir, only } => {
            let scale = if full { store::Scale::full() } else { store::Scale::short() };
            print(&store::report(&scale, &dir, &only)?, arguments.format)
        }
        Subject::Postgres { full, dir, only } => {
            let scale = if full { store::Scale::full() } else { store::Scale::short() };
            print(&store::database_report(&scale, &dir, &only)?, arguments.format)
        }
        Subject::Server { full, dir, copilotkit, program, only } => {
            let scale = if full { server::Scale::full() } else { server::Scale::short() };
            print(
                &server::report(&scale, &dir, copilotkit.as_deref(), program.as_deref(), &only)?,
                arguments.format,
            )
        }
        Subject::StoreAppend { name, writers, seconds, dir } => {
            let appended = store::append_alone(&name, &dir, writers, Duration::from_secs(seconds))?;
            writeln!(io::stdout(), "{appended}")
        }
        Subject::StoreOpen { name, dir, cold } => {
            writeln!(io::stdout(), "{}", store::open_alone(&name, &dir, cold)?)
        }
        Subject::StoreFill { name, dir, bytes, times } => store::fill(&name, &dir, bytes, times),
    }
}

fn print(report: &(impl Display + Serialize), format: Format) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        Format::Markdown => write!(out, "{report}"),
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, report)?;
            writeln!(out)
        }
    }
}

fn protocol_report(rounds: usize) -> Report {
    let corpus = corpus::generate();
    let parsed = Parsed::read(&corpus);
    let encoded = protobuf::encoded(&parsed);
    let frames = protocol::frames(&corpus);
    let stream = frames.concat();
    let id = SseId::new("0198c0de-7a3f/18446744073709551615").expect("one line");
    let plans = [
        protocol::reading(&corpus),
        protocol::reading_beside_ag_ui(&corpus),
        protocol::reading_beside_ag_ui_core(&corpus),
        protocol::writing(&corpus, &parsed),
        protocol::framing(&corpus, &id),
        protocol::unframing_live(&corpus, &frames),
        protocol::unframing_backlog(&corpus, &stream),
        protobuf::encoding(&corpus, &parsed, &encoded),
        protobuf::decoding(&corpus, &encoded),
    ];
    let measurements = plans.iter().map(|plan| measure(plan, rounds)).collect();
    Report::new(&corpus, rounds, protocol::fidelity(&corpus), measurements)
}
