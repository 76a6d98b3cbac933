//! How many events are acknowledged in a second, and how long an ack takes.

use super::load::{Load, close};
use super::subject::{Durability, Subject};
use crate::corpus::random::Random;
use crate::disk;
use crate::quantiles::Quantiles;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// How a store is written to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) durability: Durability,
    /// Each appends again as soon as it has the ack.
    pub(super) writers: u64,
    /// Runs until this has passed, and begins to count after a fifth of it.
    pub(super) time: Duration,
}

/// What was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) events_per_second: f64,
    /// How many acks came.
    pub(super) appends: f64,
    /// How long all threads of the process together were busy meanwhile.
    pub(super) cpu: Duration,
    pub(super) acks: Quantiles,
}

/// What one writer has seen.
#[derive(Default)]
struct Seen {
    events: usize,
    acks: Vec<Duration>,
}

/// Writes to an empty store.
pub(super) fn run<S: Subject>(dir: &Path, load: &Arc<Load>, shape: Shape) -> io::Result<Outcome> {
    // What the one before has left to the disk is not this one's.
    disk::even_out(dir)?;
    Runtime::new()?.block_on(async {
        let subject = Arc::new(S::open(dir, shape.durability).await?);
        load.begin(&subject).await?;
        let start = Instant::now();
        let (counted, end) = (start + shape.time / 5, start + shape.time);
        let cpu = std::thread::spawn(move || cpu_between(counted, end));
        let mut writers = JoinSet::new();
        for writer in 0..shape.writers {
            let (subject, load) = (Arc::clone(&subject), Arc::clone(load));
            writers.spawn(async move { write(&*subject, &load, Random::new(writer), counted, end).await });
        }
        let mut total = Seen::default();
        while let Some(seen) = writers.join_next().await {
            let Seen { events, acks } = seen.map_err(io::Error::other)??;
            total.events += events;
            total.acks.extend(acks);
        }
        let cpu = cpu.join().expect("it only waits and looks at a clock");
        close(subject).await?;
        if total.acks.is_empty() {
            return Err(io::Error::other("no ack came in time"));
        }
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let events_per_second = total.events as f64 / (end - counted).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let appends = total.acks.len() as f64;
        Ok(Outcome { events_per_second, appends, cpu, acks: Quantiles::of(total.acks) })
    })
}

fn cpu_between(start: Instant, end: Instant) -> Duration {
    let used_at = |time: Instant| {
        std::thread::sleep(time.saturating_duration_since(Instant::now()));
        Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
    };
    let before = used_at(start);
    used_at(end).saturating_sub(before)
}

async fn write<S: Subject>(
    subject: &S,
    load: &Load,
    mut random: Random,
    counted: Instant,
    end: Instant,
) -> io::Result<Seen> {
    let mut seen = Seen::default();
    loop {
        let batch = load.batch(&mut random);
        let start = Instant::now();
        subject.append(batch).await?;
        let now = Instant::now();
        if now >= end {
            return Ok(seen);
        }
        if now >= counted {
            seen.events += batch.events.len();
            seen.acks.push(now - start);
        }
    }
}
