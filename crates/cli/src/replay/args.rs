//! What can be said to `threadline replay`.

use crate::args::InputFormat;
use crate::store::args::{PlaceArgs, ScopeArgs};
use clap::ValueEnum;
use std::net::SocketAddr;

const EXAMPLES: &str = "\
Examples:
  threadline run demo --message hello --record run.sse && threadline replay run.sse
  threadline replay run.sse --speed 4
  threadline replay run.sse --listen 127.0.0.1:9000     # a front end at http://127.0.0.1:9000/
  threadline replay my-thread --server http://localhost:8000 --interval 0 --format sse";

/// Play a recording again, or a thread: for a person, for a program, or as an agent for a front end that is being made.
///
/// The time between events is that of the recording: what `threadline run --record` wrote down, the times of a thread's records, or the events'
/// own timestamps; 20 ms where nobody says.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// A file of events, - for standard input, or the id of a thread
    #[arg(value_name = "FILE|THREAD")]
    pub(crate) source: String,
    /// The format of a file; found out if not given
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Only this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// How many times as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) speed: f64,
    /// The time between events in milliseconds, in place of their own; 0 is as fast as they can be read
    #[arg(long, value_name = "MS", conflicts_with = "speed")]
    pub(crate) interval: Option<u64>,
    /// Serve them there, on a loopback address: every POST is answered with the next run, under the ids of its request; after the last one comes
    /// the first
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Pages that may ask, beside those of this machine
    #[arg(long = "origin", value_name = "ORIGIN", requires = "listen")]
    pub(crate) origins: Vec<String>,
    /// How it is written; text on a terminal, else lines of JSON
    #[arg(long, value_name = "FORMAT", conflicts_with = "listen")]
    pub(crate) format: Option<ReplayFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayFormat {
    /// For people
    Text,
    /// The events, a line each
    Json,
    /// Server-sent events
    Sse,
}
