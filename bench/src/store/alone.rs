//! One store with nothing beside it, for a look with a profiler.

use super::candidates::{WRITERS, Write};
use super::database_plans;
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
    let run = run_of(name).ok_or_else(|| io::Error::other(format!("no such store. name={name}")))?;
    let folder = Folder::new(parent, "store-append")?;
    let shape = Shape { durability: Durability::Durable, writers, time };
    Ok(AppendedAlone(run(folder.path(), &Arc::new(Load::new()), shape)?))
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
