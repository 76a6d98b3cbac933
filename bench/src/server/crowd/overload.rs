//! Five times as many requests as can be served.

use super::program::{Program, mib};
use super::{Crowd, Stage};
use crate::quantiles::Quantiles;
use crate::server::exchange::Client;
use crate::server::plans::{OURS, row};
use crate::server::upstream::{FRESH, path};
use crate::table::{Cell, Table, columns};
use axum::http::StatusCode;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

/// How many runs the server executes at once.
const RUNS_MAX: usize = 32;
/// How much more is asked for than was served.
const TIMES: f64 = 5.0;
/// How often requests are sent.
const BEAT: Duration = Duration::from_millis(5);

/// What became of requests.
#[derive(Debug, Default)]
pub(super) struct Served {
    pub(super) done: Vec<Duration>,
    refused: Vec<Duration>,
}

/// Runs under names that nobody has used, and the connections for them.
#[derive(Debug)]
pub(super) struct Asker {
    address: SocketAddr,
    user: &'static str,
    count: AtomicU64,
    idle: Mutex<Vec<Client>>,
}

impl Asker {
    pub(super) fn new(address: SocketAddr, user: &'static str) -> Arc<Self> {
        Arc::new(Self { address, user, count: AtomicU64::new(0), idle: Mutex::default() })
    }

    /// One run to its end, or a refusal.
    async fn run(&self) -> io::Result<(StatusCode, Duration)> {
        let name = self.count.fetch_add(1, Ordering::Relaxed);
        let user = self.user;
        let body = format!(r#"{{"threadId":"{user} {name}","runId":"r","messages":[]}}"#);
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let start = Instant::now();
        let asked = match kept {
            Some(mut client) => {
                client.ask(user, &path(FRESH), body.clone()).await.ok().map(|asked| (client, asked))
            }
            None => None,
        };
        // The server lets go of connections that were not used for a while.
        let (client, (status, mut answer)) = match asked {
            Some(asked) => asked,
            None => {
                let mut client = Client::connect(self.address).await?;
                let asked = client.ask(user, &path(FRESH), body).await?;
                (client, asked)
            }
        };
        while answer.next().await?.is_some() {}
        let time = start.elapsed();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        Ok((status, time))
    }

    /// So many who ask for the next run when one has ended.
    pub(super) async fn closed_loop(self: &Arc<Self>, clients: usize, time: Duration) -> io::Result<Served> {
        let (end, mut asking, mut served) = (Instant::now() + time, JoinSet::new(), Served::default());
        for _ in 0..clients {
            let asker = Arc::clone(self);
            asking.spawn(async move {
                let mut all = Vec::new();
                while Instant::now() < end {
                    all.push(asker.run().await?);
                }
                Ok::<_, io::Error>(all)
            });
        }
        while let Some(asked) = asking.join_next().await {
            asked.map_err(io::Error::other)??.into_iter().for_each(|one| served.take(one));
        }
        Ok(served)
    }

    /// So many a second, whatever becomes of them.
    pub(super) async fn open_loop(self: &Arc<Self>, per_second: f64, time: Duration) -> io::Result<Served> {
        let (begun, mut asking, mut served) = (Instant::now(), JoinSet::new(), Served::default());
        let (mut beat, mut sent) = (interval(BEAT), 0.0);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while begun.elapsed() < time {
            beat.tick().await;
            while sent < begun.elapsed().as_secs_f64() * per_second {
                sent += 1.0;
                let asker = Arc::clone(self);
                asking.spawn(async move { asker.run().await });
            }
            while let Some(asked) = asking.try_join_next() {
                served.take(asked.map_err(io::Error::other)??);
            }
        }
        // What has begun may end, and does not count.
        sleep_until((Instant::now() + Duration::from_secs(1)).into()).await;
        Ok(served)
    }
}

impl Served {
    fn take(&mut self, (status, time): (StatusCode, Duration)) {
        if status == StatusCode::OK { self.done.push(time) } else { self.refused.push(time) }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(super) fn per_second(&self, time: Duration) -> f64 {
        self.done.len() as f64 / time.as_secs_f64()
    }
}

/// Goodput, refusals and memory.
pub(in crate::server) fn overload(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    let program = Program::start(stage, "overload", &format!("limits.runs_max = {RUNS_MAX}"))?;
    let asker = Asker::new(program.address, "anybody");
    let time = crowd.time.min(Duration::from_secs(10));
    let calm = || stage.world.block_on(asker.closed_loop(RUNS_MAX, time));
    let calm_before = calm()?;
    let [before, _] = program.memory()?;
    let capacity = calm_before.per_second(time);
    let busy = stage.world.block_on(asker.open_loop(capacity * TIMES, crowd.time))?;
    let [_, peak] = program.memory()?;
    // The machine is not as quick at any time, and a store that was written to for a minute has other things to do.
    let capacity_after = calm()?.per_second(time);
    let goodput = busy.per_second(crowd.time) / f64::midpoint(capacity, capacity_after);
    let (usual, times) = (Quantiles::of(calm_before.done), Quantiles::of(busy.done.clone()));
    let refused = if busy.refused.is_empty() { None } else { Some(Quantiles::of(busy.refused.clone())) };
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let refusals = busy.refused.len() as f64 / crowd.time.as_secs_f64();
    Ok(Table {
        title: format!(
            "Overload: {TIMES} times as many runs as can be served, for {} s",
            crowd.time.as_secs()
        ),
        note: format!(
            "Runs of 200 events on threads of their own. First as many clients as runs may go on at once ({RUNS_MAX}), each with one run after \
             the other; then {TIMES} times as many runs a second as that came to, whether they are served or not, by who does \
             not wait before it asks again; then as before. Goodput is runs a second against the mean of before and after. {}",
            stage.processors()
        ),
        columns: columns(&[
            "runs/s before",
            "runs/s",
            "runs/s after",
            "goodput",
            "p99 ms before",
            "p99 ms",
            "refused/s",
            "refused p99 ms",
            "MiB before",
            "peak MiB",
        ]),
        rows: vec![row(
            OURS,
            vec![
                Cell::Whole(capacity),
                Cell::Whole(busy.per_second(crowd.time)),
                Cell::Whole(capacity_after),
                Cell::Fine(goodput),
                Cell::Fine(usual.p99 / 1e3),
                Cell::Fine(times.p99 / 1e3),
                Cell::Whole(refusals),
                Cell::Fine(refused.map_or(0.0, |refused| refused.p99 / 1e3)),
                Cell::Whole(mib(before)),
                Cell::Whole(mib(peak)),
            ],
        )],
    })
}
