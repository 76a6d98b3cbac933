//! Followers, and what a thread comes to.

use super::load::{append_run, close, fill};
use super::plans::Scale;
use super::subject::{Batch, Durability, Follower, Live, Subject, Tally};
use crate::corpus::Deltas;
use crate::disk::resident_bytes;
use crate::quantiles::Quantiles;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// How many followers do nothing.
pub(super) const IDLE: u32 = 10_000;

/// How many follow one thread that is written to.
pub(super) const FOLLOWERS: usize = 1_000;

/// How many messages a thread has whose messages are asked for.
pub(crate) const MESSAGES: usize = 200;

const RUNS: usize = 10;

/// How long each of them is.
const MESSAGE_BYTES: usize = 2_988;

/// How many bytes a piece of a message has, so that there are about 1,000 or 100,000 events.
pub(crate) const PIECES: [usize; 2] = [MESSAGE_BYTES / 3, MESSAGE_BYTES / 498];

/// Batches are larger here, as one thread is written to alone and each is a sync.
const LARGE_BATCH_EVENTS_MAX: u64 = 128;

/// What many followers of one thread saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct FanOut {
    pub(super) deliveries_per_second: f64,
    /// From the ack to the last follower.
    pub(super) last: Quantiles,
}

/// How many bytes a follower of a thread takes on which nothing happens.
pub(super) fn idle<S: Live>(dir: &Path) -> io::Result<f64> {
    Runtime::new()?.block_on(async {
        let subject = Arc::new(S::open(dir, Durability::Durable).await?);
        let runs = (0..IDLE).map(|thread| (thread, Deltas::of_thread(thread).run(5)));
        fill(&subject, runs).await?;
        let before = resident_bytes()?;
        let mut followers = JoinSet::new();
        let waiting = Arc::new(Semaphore::new(0));
        for thread in 0..IDLE {
            let (follower, waiting) = (subject.follow(thread).await?, Arc::clone(&waiting));
            followers.spawn(wait(follower, waiting));
        }
        let all_wait = waiting.acquire_many(IDLE).await.map_err(io::Error::other)?;
        let after = resident_bytes()?;
        drop(all_wait);
        followers.shutdown().await;
        close(subject).await?;
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let bytes = after.saturating_sub(before) as f64;
        Ok(bytes / f64::from(IDLE))
    })
}

/// Waits for what never comes, and says when it does.
async fn wait(mut follower: impl Follower, waiting: Arc<Semaphore>) -> io::Result<()> {
    let mut tally = Tally::default();
    let mut next = pin!(follower.next(&mut tally));
    let mut is_new = true;
    poll_fn(|context| {
        let polled = next.as_mut().poll(context);
        if is_new {
            waiting.add_permits(1);
            is_new = false;
        }
        polled
    })
    .await
}

/// From the ack to the followers, of which there are so many on one thread; the time is that of the last one.
pub(super) fn follow<S: Live>(dir: &Path, followers: usize, appends: usize) -> io::Result<FanOut> {
    Runtime::new()?.block_on(async {
        let subject = S::open(dir, Durability::Durable).await?;
        let mut deltas = Deltas::of_thread(0);
        let message = deltas.message(appends);
        let run = deltas.run_of(&[message]);
        let (start, rest) = run.split_at(2);
        let (pieces, end) = rest.split_at(appends);
        subject.append(Batch { thread: 0, events: start, begins_run: true, ends_run: false }).await?;
        let (seen, mut all_seen) = mpsc::unbounded_channel();
        for _ in 0..followers {
            let mut follower = subject.follow(0).await?;
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut tally = Tally::default();
                while follower.next(&mut tally).await.is_ok() && seen.send((Instant::now(), tally)).is_ok() {}
            });
        }
        let (mut times, mut expected) = (Vec::with_capacity(appends), Tally::default());
        let start = Instant::now();
        for event in pieces {
            expected.take(event.as_bytes());
            let events = std::slice::from_ref(event);
            subject.append(Batch { thread: 0, events, begins_run: false, ends_run: false }).await?;
            let acked = Instant::now();
            let mut last = acked;
            for _ in 0..followers {
                let (when, tally) = all_seen.recv().await.ok_or(io::ErrorKind::BrokenPipe)?;
                if tally != expected {
                    return Err(io::Error::other("a follower has seen something else"));
                }
                last = last.max(when);
            }
            times.push(last - acked);
        }
        let seconds = start.elapsed().as_secs_f64();
        drop(all_seen);
        subject.append(Batch { thread: 0, events: end, begins_run: false, ends_run: true }).await?;
        subject.close().await?;
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let deliveries_per_second = (followers * appends) as f64 / seconds;
        Ok(FanOut { deliveries_per_second, last: Quantiles::of(times) })
    })
}

/// Makes two threads with the same messages, cut into few pieces and into many.
pub(super) fn prepare_messages<S: Live>(dir: &Path) -> io::Result<()> {
    Runtime::new()?.block_on(async {
        let subject = S::open(dir, Durability::Durable).await?;
        for (thread, piece_bytes) in (0..).zip(PIECES) {
            append_messages(&subject, thread, piece_bytes).await?;
        }
        subject.settle().await?;
        subject.close().await
    })
}

/// Appends the same messages to any thread, in pieces of so many bytes.
pub(crate) async fn append_messages<S: Subject>(
    subject: &S,
    thread: u32,
    piece_bytes: usize,
) -> io::Result<()> {
    let mut texts = Deltas::of_thread(0);
    let texts: Vec<String> =
        (0..MESSAGES).map(|_| texts.text(MESSAGE_BYTES).chars().take(MESSAGE_BYTES).collect()).collect();
    let mut deltas = Deltas::of_thread(thread);
    for texts in texts.chunks(MESSAGES / RUNS) {
        let messages: Vec<_> = texts.iter().map(|text| cut(text, piece_bytes)).collect();
        append_run(subject, thread, &deltas.run_of(&messages), LARGE_BATCH_EVENTS_MAX).await?;
    }
    Ok(())
}

fn cut(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars).map(|piece| piece.iter().collect()).collect()
}

/// How long the messages of both threads take, at the median.
pub(super) fn messages<S: Live>(dir: &Path, scale: &Scale) -> io::Result<[f64; 2]> {
    Runtime::new()?.block_on(async {
        let subject = S::open(dir, Durability::Durable).await?;
        let mut times: [Vec<Duration>; 2] = Default::default();
        for _ in 0..scale.messages {
            for (thread, times) in (0..).zip(&mut times) {
                let start = Instant::now();
                let count = subject.messages(thread).await?;
                times.push(start.elapsed());
                if count != MESSAGES {
                    return Err(io::Error::other(format!("the thread has other messages. count={count}")));
                }
            }
        }
        subject.close().await?;
        Ok(times.map(|times| Quantiles::of(times).p50))
    })
}
