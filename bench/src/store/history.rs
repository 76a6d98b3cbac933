//! Reading threads that are finished, from the disk and from memory, and what they take on it.

use super::load::{close, fill};
use super::plans::Scale;
use super::subject::{Durability, Parts, Reads, Tally};
use crate::corpus::Deltas;
use crate::corpus::random::Random;
use crate::disk::evict;
use crate::quantiles::Quantiles;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How many events the threads have that are read.
pub(super) const LONG_EVENTS: usize = 1_000;

/// How many are after the cursor where a tail is read.
pub(super) const TAIL_EVENTS: usize = 200;

/// How often what is warm is read.
const WARM_PASSES: usize = 3;

/// A store that is filled, and what must come out of it.
#[derive(Debug)]
pub(super) struct Filled {
    long: Vec<Long>,
    /// What it takes on the disk: as it was written, and settled.
    unsealed: Parts,
    sealed: Parts,
    pub(super) raw_bytes: u64,
    /// Tails that were read before anything settled.
    pub(super) live_tail: Speed,
}

/// A thread that is read.
#[derive(Clone, Copy, Debug)]
struct Long {
    thread: u32,
    whole: Tally,
    tail: Tally,
}

/// How fast a number of reads was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speed {
    pub(super) events_per_second: f64,
    pub(super) reads: Quantiles,
}

/// One repeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeat {
    pub(super) cold: Speed,
    pub(super) warm: Speed,
    pub(super) cold_tail: Speed,
    pub(super) warm_tail: Speed,
}

/// What is read of a thread.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Tail,
}

/// Fills an empty store with threads of one finished run each, and settles it.
pub(super) fn prepare<S: Reads>(dir: &Path, scale: &Scale) -> io::Result<Filled> {
    Runtime::new()?.block_on(async {
        let subject = Arc::new(S::open(dir, Durability::Durable).await?);
        let (mut long, mut raw_bytes) = (Vec::new(), 0);
        let runs = (0..scale.threads).map(|thread| {
            let is_long = thread % scale.long_every == 0;
            let run = Deltas::of_thread(thread).run(if is_long { LONG_EVENTS } else { scale.short_events });
            let whole = Tally::of(&run);
            raw_bytes += whole.bytes;
            if is_long {
                let tail = Tally::of(&run[LONG_EVENTS - TAIL_EVENTS..]);
                long.push(Long { thread, whole, tail });
            }
            (thread, run)
        });
        fill(&subject, runs).await?;
        let sample = sample(&long, scale.reads, 0);
        read_all(&*subject, &sample, Part::Tail).await?;
        let live_tail = speed(read_all(&*subject, &sample, Part::Tail).await?, Part::Tail);
        let unsealed = S::bytes_at_rest(dir)?;
        subject.settle().await?;
        close(subject).await?;
        let raw_bytes = u64::try_from(raw_bytes).map_err(io::Error::other)?;
        Ok(Filled { long, unsealed, sealed: S::bytes_at_rest(dir)?, raw_bytes, live_tail })
    })
}

impl Filled {
    /// What all of it takes on the disk in times of the JSON, as it was written, and settled.
    pub(super) fn at_rest(&self) -> [f64; 2] {
        [&self.unsealed, &self.sealed].map(|parts| self.against_raw(parts.values().sum()))
    }

    /// The same for each part of it.
    pub(super) fn parts_at_rest(&self) -> Vec<(&'static str, [f64; 2])> {
        let names: BTreeSet<&'static str> = self.unsealed.keys().chain(self.sealed.keys()).copied().collect();
        let bytes = |parts: &Parts, name| self.against_raw(parts.get(name).copied().unwrap_or_default());
        names
            .into_iter()
            .map(|name| (name, [&self.unsealed, &self.sealed].map(|parts| bytes(parts, name))))
            .collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn against_raw(&self, bytes: u64) -> f64 {
        bytes as f64 / self.raw_bytes as f64
    }
}

/// Reads other threads than the last repeat did.
pub(super) fn repeat<S: Reads>(
    dir: &Path,
    filled: &Filled,
    scale: &Scale,
    number: u64,
) -> io::Result<Repeat> {
    let sample = sample(&filled.long, scale.reads, number);
    let (cold, warm) = cold_and_warm::<S>(dir, &sample, Part::Whole)?;
    let (cold_tail, warm_tail) = cold_and_warm::<S>(dir, &sample, Part::Tail)?;
    Ok(Repeat { cold, warm, cold_tail, warm_tail })
}

fn cold_and_warm<S: Reads>(dir: &Path, sample: &[Long], part: Part) -> io::Result<(Speed, Speed)> {
    evict(dir)?;
    Runtime::new()?.block_on(async {
        let subject = S::open(dir, Durability::Durable).await?;
        // Opening may have read everything, as the floor does.
        evict(dir)?;
        let cold = speed(read_all(&subject, sample, part).await?, part);
        let mut warm = Vec::new();
        for _ in 0..WARM_PASSES {
            warm.extend(read_all(&subject, sample, part).await?);
        }
        subject.close().await?;
        Ok((cold, speed(warm, part)))
    })
}

/// Some of the threads, in any order.
fn sample(long: &[Long], count: usize, seed: u64) -> Vec<Long> {
    let mut random = Random::new(seed);
    let mut rest = long.to_vec();
    let mut sample = Vec::new();
    while sample.len() < count && !rest.is_empty() {
        let len = u64::try_from(rest.len()).expect("a length fits");
        sample.push(rest.swap_remove(usize::try_from(random.within(0..len)).expect("an index fits")));
    }
    sample
}

async fn read_all<S: Reads>(subject: &S, sample: &[Long], part: Part) -> io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(sample.len());
    for &Long { thread, whole, tail } in sample {
        let (count, expected) = match part {
            Part::Whole => (LONG_EVENTS, whole),
            Part::Tail => (TAIL_EVENTS, tail),
        };
        let offset = u64::try_from(LONG_EVENTS - count).expect("it is small");
        let mut tally = Tally::default();
        let start = Instant::now();
        subject.read(thread, offset, count, &mut tally).await?;
        times.push(start.elapsed());
        if tally != expected {
            return Err(io::Error::other(format!(
                "something else was read. thread={thread}, expected={expected:?}, actual={tally:?}"
            )));
        }
    }
    Ok(times)
}

fn speed(times: Vec<Duration>, part: Part) -> Speed {
    let events = times.len()
        * match part {
            Part::Whole => LONG_EVENTS,
            Part::Tail => TAIL_EVENTS,
        };
    let seconds = times.iter().sum::<Duration>().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let events_per_second = events as f64 / seconds;
    Speed { events_per_second, reads: Quantiles::of(times) }
}
