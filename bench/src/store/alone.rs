//! One store with nothing beside it, for a look with a profiler.

use super::candidates::{KILLED, WRITERS, Write};
use super::database_plans;
use super::kill::Opened;
use super::load::Load;
use super::subject::Durability;
use super::writes::{Outcome, Shape};
use crate::disk::Folder;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What durable appends to one store came to.
#[derive(Debug)]
pub struct AppendedAlone(Outcome);

/// Appends to one store for a while.
///
/// # Errors
/// If there is no store of this name, or it fails.
pub fn append_alone(name: &str, parent: &Path, writers: u64, time: Duration) -> io::Result<AppendedAlone> {
    let run = run_of(name).ok_or_else(|| no_such_store(name))?;
    let folder = Folder::new(parent, "store-append")?;
    let shape = Shape { durability: Durability::Durable, writers, time };
    Ok(AppendedAlone(run(folder.path(), &Arc::new(Load::new()), shape)?))
}

/// What it took to open one store.
#[derive(Debug)]
pub struct OpenedAlone(Opened);

/// Opens what a killed process has left.
///
/// # Errors
/// If there is no store of this name, or it fails.
pub fn open_alone(name: &str, dir: &Path, is_cold: bool) -> io::Result<OpenedAlone> {
    let candidate = KILLED.iter().find(|candidate| candidate.name == name);
    let candidate = candidate.ok_or_else(|| no_such_store(name))?;
    Ok(OpenedAlone((candidate.run.open)(dir, is_cold)?))
}

fn no_such_store(name: &str) -> io::Error {
    io::Error::other(format!("no such store. name={name}"))
}

fn run_of(name: &str) -> Option<Write> {
    let on_disk = WRITERS.iter().map(|candidate| (candidate.name, candidate.run));
    let in_postgres = database_plans::WRITERS.iter().map(|(name, _, run)| (*name, *run));
    let mut all = on_disk.chain(in_postgres);
    all.find(|(known, _)| *known == name).map(|(_, run)| run)
}

impl fmt::Display for AppendedAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { events_per_second, appends, cpu, acks } = self.0;
        let [p50, p99, p999] = acks.all();
        let cpu_per_append = cpu.as_secs_f64() * 1e6 / appends;
        write!(
            f,
            "{events_per_second:.0} events/s, {cpu_per_append:.1} µs of CPU per append, \
             acks of {p50:.0} µs (p50), {p99:.0} µs (p99), {p999:.0} µs (p99.9)"
        )
    }
}

impl fmt::Display for OpenedAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Opened { open_ms, ready_ms, read_ms } = self.0;
        write!(f, "open after {open_ms:.1} ms, ready after {ready_ms:.1} ms, first read {read_ms:.2} ms")
    }
}
