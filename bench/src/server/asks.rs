//! Requests about threads: what they hold, and attaching to a run in its middle.

use super::exchange::{Answer, Client, post};
use super::frames::Frames;
use super::threadline::Threadline;
use super::upstream::{HOLD, Script, path};
use crate::quantiles::Quantiles;
use crate::store::live::{MESSAGES, PIECES, append_messages};
use crate::store::ours::{Ours, key};
use crate::store::subject::{Durability, Subject};
use memchr::memmem;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use threadline_log::{At, Engine, ThreadKey};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// How many ask at once.
pub(super) const CLIENTS: usize = 8;

/// The thread that is asked about.
const THREAD: u32 = 0;

/// How fast requests were answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers {
    pub(super) per_second: f64,
    pub(super) times: Quantiles,
}

/// Makes the thread whose history is asked for, by the engine.
pub(super) fn prepare(dir: &Path) -> io::Result<()> {
    Runtime::new()?.block_on(async {
        let ours = Ours::open(dir, Durability::Durable).await?;
        append_messages(&ours, THREAD, PIECES[0]).await?;
        ours.close().await
    })
}

/// Asks for the history of the thread again and again.
pub(super) fn history(world: &Runtime, address: SocketAddr, time: Duration) -> io::Result<Answers> {
    world.block_on(async {
        let mut askers = Vec::new();
        for _ in 0..CLIENTS {
            askers.push(Asker::Client(Client::connect(address).await?));
        }
        ask(askers, time).await
    })
}

/// Asks the engine alone, which writes no JSON.
pub(super) fn snapshots(world: &Runtime, engine: &Engine, time: Duration) -> io::Result<Answers> {
    let key = key(THREAD)?;
    let askers = (0..CLIENTS).map(|_| Asker::Engine(engine.clone(), key.clone()));
    world.block_on(ask(askers.collect(), time))
}

/// Whoever asks.
enum Asker {
    Client(Client),
    Engine(Engine, ThreadKey),
}

impl Asker {
    /// How many messages there are.
    async fn messages(&mut self) -> io::Result<usize> {
        match self {
            Self::Client(client) => {
                let mut answer = client.post("/history", format!(r#"{{"threadId":"{THREAD}"}}"#)).await?;
                let mut all = Vec::new();
                while let Some(piece) = answer.next().await? {
                    all.extend_from_slice(&piece);
                }
                Ok(memmem::find_iter(&all, br#""role":"assistant""#).count())
            }
            Self::Engine(engine, thread) => {
                let snapshot = engine.snapshot(thread, At::Head).await.map_err(io::Error::other)?;
                Ok(snapshot.fold.messages().len())
            }
        }
    }

    async fn until(mut self, end: Instant) -> io::Result<Vec<Duration>> {
        let mut times = Vec::new();
        loop {
            let start = Instant::now();
            let count = self.messages().await?;
            let now = Instant::now();
            if count != MESSAGES {
                return Err(io::Error::other(format!("the thread has other messages. count={count}")));
            }
            if now >= end {
                return Ok(times);
            }
            times.push(now - start);
        }
    }
}

async fn ask(askers: Vec<Asker>, time: Duration) -> io::Result<Answers> {
    let end = Instant::now() + time;
    let mut asking: JoinSet<_> = askers.into_iter().map(|asker| asker.until(end)).collect();
    let mut times = Vec::new();
    while let Some(asked) = asking.join_next().await {
        times.extend(asked.map_err(io::Error::other)??);
    }
    if times.is_empty() {
        return Err(io::Error::other("no answer came in time"));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let per_second = times.len() as f64 / time.as_secs_f64();
    Ok(Answers { per_second, times: Quantiles::of(times) })
}

/// A run that stands still in its middle, and who reads it.
pub(super) struct Held {
    thread: u32,
    _reader: Answer,
}

/// Runs a script up to its middle, and waits until a reader has seen that.
pub(super) fn held(world: &Runtime, server: &Threadline, script: &Script) -> io::Result<Held> {
    let reader = world.block_on(run_to_middle(server.address, script))?;
    Ok(Held { thread: script.thread, _reader: reader })
}

/// Runs a script up to its middle, and gives the answer that has come so far.
pub(super) async fn run_to_middle(address: SocketAddr, script: &Script) -> io::Result<Answer> {
    let mut reader = post(address, &path(HOLD), script.request()).await?;
    let mut frames = Frames::default();
    while frames.count < script.middle() {
        frames.take(&reader.next().await?.ok_or(io::ErrorKind::UnexpectedEof)?);
    }
    Ok(reader)
}

/// Attaches to it so many times, one after another, each over a connection of its own.
pub(super) fn attach(
    world: &Runtime,
    server: &Threadline,
    held: &Held,
    times: usize,
) -> io::Result<Quantiles> {
    let (path, body) = (format!("{}/connect", path(HOLD)), format!(r#"{{"threadId":"{}"}}"#, held.thread));
    let taken = world.block_on(async {
        let mut taken = Vec::with_capacity(times);
        for _ in 0..times {
            let start = Instant::now();
            let mut answer = post(server.address, &path, body.clone()).await?;
            read_arrival(&mut answer).await?;
            taken.push(start.elapsed());
        }
        Ok::<_, io::Error>(taken)
    })?;
    Ok(Quantiles::of(taken))
}

/// Reads what a client is told on arrival. Of that only the last frame has an id.
pub(super) async fn read_arrival(answer: &mut Answer) -> io::Result<()> {
    let mut told = Vec::new();
    loop {
        told.extend_from_slice(&answer.next().await?.ok_or(io::ErrorKind::UnexpectedEof)?);
        if told.ends_with(b"\n\n") && memmem::find(&told, b"\n\nid: ").is_some() {
            return Ok(());
        }
    }
}
