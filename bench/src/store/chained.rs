//! What the chain over a thread's records takes of keeping a run.

use super::load::BATCH_EVENTS_MAX;
use super::ours::Ours;
use super::subject::{Batch, Durability, Subject};
use crate::corpus::Deltas;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::chain::ChainValue;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// How many runs there are at once, each on a thread of its own.
pub(super) const RUNS: u32 = 64;
/// How many events each has.
pub(super) const EVENTS: usize = 2_000;

/// What an event takes of the processors, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// To be appended, durable, with its share of the end of the run.
    pub(super) whole: f64,
    /// To be chained, which is part of that.
    pub(super) chain: f64,
}

/// Keeps the runs, from their start to their end, and chains the same bytes by themselves.
pub(super) fn chained(dir: &Path) -> io::Result<Taken> {
    let runs: Arc<Vec<Vec<String>>> =
        Arc::new((0..RUNS).map(|thread| Deltas::of_thread(thread).run(EVENTS)).collect());
    let world = Runtime::new()?;
    let whole = busy(|| world.block_on(keep(dir, &runs)))?;
    let chain = busy(|| {
        for run in runs.iter() {
            let events = (0..).zip(run);
            let value =
                events.fold(ChainValue::default(), |value, (at, event)| value.then(at, event.as_bytes()));
            black_box(value);
        }
        Ok(())
    })?;
    let events: usize = runs.iter().map(Vec::len).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let each = |time: Duration| time.as_secs_f64() * 1e6 / events as f64;
    Ok(Taken { whole: each(whole), chain: each(chain) })
}

async fn keep(dir: &Path, runs: &Arc<Vec<Vec<String>>>) -> io::Result<()> {
    let ours = Arc::new(Ours::open(dir, Durability::Durable).await?);
    let mut writers = JoinSet::new();
    for thread in 0..RUNS {
        let (ours, runs) = (Arc::clone(&ours), Arc::clone(runs));
        writers.spawn(async move {
            let run = &runs[thread as usize];
            let size = usize::try_from(BATCH_EVENTS_MAX).unwrap_or(1);
            let last = run.len().div_ceil(size) - 1;
            for (at, events) in run.chunks(size).enumerate() {
                ours.append(Batch { thread, events, begins_run: at == 0, ends_run: at == last }).await?;
            }
            Ok::<_, io::Error>(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written.map_err(io::Error::other)??;
    }
    Arc::into_inner(ours).ok_or_else(|| io::Error::other("somebody still writes"))?.close().await
}

/// What something takes of the processors, in all threads of this process.
fn busy(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let cpu = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    let before = cpu();
    work()?;
    Ok(cpu().saturating_sub(before))
}
