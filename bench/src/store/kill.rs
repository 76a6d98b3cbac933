//! Opening a store whose process was killed while it was written to.

use super::candidates::KILLED;
use super::load::fill_and_count;
use super::subject::{Durability, Reads, Tally};
use crate::corpus::Deltas;
use crate::disk::evict;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// How many threads a store has that is killed.
const THREADS: u32 = 1_000;

/// How long a run is. A run more for each thread is 18 MB.
const RUN_EVENTS: usize = 100;

/// How many runs of a thread are read after the kill.
const RUNS_READ: usize = 5;

/// How much a process appends that should have been killed.
const UNKILLED_BYTES_MAX: u64 = 256 << 20;

/// The name of the program's command that is killed.
pub(super) const COMMAND: &str = "store-fill";

/// What the child says when there is enough.
const READY: &str = "ready";

/// What it took to go on after a kill, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) open_ms: f64,
    /// Until somebody can be served: runs that the killed process has left are closed.
    pub(super) ready_ms: f64,
    /// A thread's first 500 events, read at once after opening.
    pub(super) read_ms: f64,
}

/// Appends to a store until somebody kills this process. Says when so many bytes of JSON are acknowledged, while other runs go on.
/// `times` is how often that was done to the same store before.
///
/// # Errors
/// If there is no such store, or it fails.
pub fn fill(name: &str, dir: &Path, bytes: u64, times: u32) -> io::Result<()> {
    let candidate = KILLED.iter().find(|candidate| candidate.name == name);
    (candidate.ok_or(io::ErrorKind::NotFound)?.run.fill)(dir, bytes, times)
}

/// Appends run after run to all threads.
pub(super) fn fill_until_killed<S: Reads>(dir: &Path, bytes: u64, times: u32) -> io::Result<()> {
    Runtime::new()?.block_on(async {
        let subject = Arc::new(S::open(dir, Durability::Durable).await?);
        let mut threads: Vec<Deltas> = (0..THREADS).map(|thread| Deltas::continued(thread, times)).collect();
        let (mut kept, mut is_said) = (0, false);
        // If nobody does, it ends by itself.
        while kept < bytes + UNKILLED_BYTES_MAX {
            let runs = (0..).zip(&mut threads).map(|(thread, deltas)| (thread, deltas.run(RUN_EVENTS)));
            let count = |more: u64| {
                kept += more;
                if is_said || kept < bytes {
                    return Ok(());
                }
                is_said = true;
                writeln!(io::stdout(), "{READY}")
            };
            fill_and_count(&subject, runs, count).await?;
        }
        Err(io::Error::other("nobody has killed this process"))
    })
}

/// Lets a process fill the store, and kills it under load.
pub(super) fn kill(name: &str, dir: &Path, bytes: u64, times: u32) -> io::Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([COMMAND, name])
        .arg(dir)
        .args([bytes.to_string(), times.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let read = BufReader::new(output).read_line(&mut line);
    child.kill()?;
    child.wait()?;
    read?;
    if line.trim_end() == READY { Ok(()) } else { Err(io::Error::other("the process that fills has failed")) }
}

/// Opens what a killed process has left, and reads from it.
pub(super) fn open<S: Reads>(dir: &Path, is_cold: bool) -> io::Result<Opened> {
    if is_cold {
        evict(dir)?;
    }
    Runtime::new()?.block_on(async {
        let start = Instant::now();
        let subject = S::open(dir, Durability::Durable).await?;
        let opened = start.elapsed();
        let mut tally = Tally::default();
        subject.read(THREADS / 2, 0, RUNS_READ * RUN_EVENTS, &mut tally).await?;
        let read = start.elapsed() - opened;
        let mut deltas = Deltas::of_thread(THREADS / 2);
        let first: Vec<String> = (0..RUNS_READ).flat_map(|_| deltas.run(RUN_EVENTS)).collect();
        if tally != Tally::of(&first) {
            return Err(io::Error::other("something else was read after the kill"));
        }
        let start = Instant::now();
        subject.be_ready().await?;
        let ready = opened + start.elapsed();
        subject.close().await?;
        let [open_ms, ready_ms, read_ms] = [opened, ready, read].map(|time| time.as_secs_f64() * 1e3);
        Ok(Opened { open_ms, ready_ms, read_ms })
    })
}
