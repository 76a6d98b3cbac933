//! Many runs at once, from the agent to one reader each.

use super::exchange::post;
use super::frames::Frames;
use super::upstream::Script;
use crate::store::load::{close, fill};
use crate::store::ours::Ours;
use crate::store::subject::{Durability, Subject};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// What so many runs came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throughput {
    pub(super) events_per_second: f64,
    /// What the agent, the readers and what is between them take of the processors, all together.
    pub(super) cpu_us_per_event: f64,
}

impl Throughput {
    async fn of(events: usize, work: impl Future<Output = io::Result<()>>) -> io::Result<Self> {
        let cpu = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
        let (start, before) = (Instant::now(), cpu());
        work.await?;
        let (time, busy) = (start.elapsed(), cpu().saturating_sub(before));
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let events = events as f64;
        Ok(Self {
            events_per_second: events / time.as_secs_f64(),
            cpu_us_per_event: busy.as_secs_f64() * 1e6 / events,
        })
    }
}

fn events_of(scripts: &[Script]) -> usize {
    scripts.iter().map(|script| script.events.len()).sum()
}

/// Runs all scripts at once through whatever is at this address and path.
pub(super) fn through(
    world: &Runtime,
    address: SocketAddr,
    path: &'static str,
    scripts: &[Script],
) -> io::Result<Throughput> {
    let readers = scripts.iter().map(|script| (script.request(), script.events.len())).collect::<Vec<_>>();
    let all = async {
        let mut runs = JoinSet::new();
        for (request, events) in readers {
            runs.spawn(async move { read(address, path, request, events).await });
        }
        while let Some(read) = runs.join_next().await {
            read.map_err(io::Error::other)??;
        }
        Ok(())
    };
    world.block_on(Throughput::of(events_of(scripts), all))
}

/// Reads one run to its end, which must have as many events as the agent has sent.
async fn read(address: SocketAddr, path: &str, request: String, events: usize) -> io::Result<()> {
    let mut answer = post(address, path, request).await?;
    let mut frames = Frames::default();
    while let Some(piece) = answer.next().await? {
        frames.take(&piece);
    }
    if frames.count == events {
        Ok(())
    } else {
        let count = frames.count;
        Err(io::Error::other(format!("something else was read. expected={events}, actual={count}")))
    }
}

/// The same events through the engine alone, without an agent and without readers.
pub(super) fn engine_alone(dir: &Path, scripts: &[Script]) -> io::Result<Throughput> {
    Runtime::new()?.block_on(async {
        let ours = Arc::new(Ours::open(dir, Durability::Durable).await?);
        let runs = scripts.iter().map(|script| (script.thread, script.events.clone())).collect::<Vec<_>>();
        let throughput = Throughput::of(events_of(scripts), fill(&ours, runs.into_iter())).await?;
        close(ours).await?;
        Ok(throughput)
    })
}
