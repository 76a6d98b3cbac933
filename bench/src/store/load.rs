//! What is appended: batches of one to eight events to many threads at once.

use super::subject::{Batch, Subject};
use crate::corpus::Deltas;
use crate::corpus::random::Random;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// How many threads are written to.
pub(super) const THREADS: u32 = 1_000;

pub(crate) const BATCH_EVENTS_MAX: u64 = 8;

/// How many threads are filled at a time.
const INTERLEAVED: usize = 500;

/// Pieces of text, and for each thread the start of its run.
#[derive(Debug)]
pub(super) struct Load {
    starts: Vec<Vec<String>>,
    pieces: Vec<String>,
}

impl Load {
    pub(super) fn new() -> Self {
        let start = |thread| {
            let mut run = Deltas::of_thread(thread).run(5);
            run.truncate(2);
            run
        };
        let pieces = (0..64).flat_map(|thread| Deltas::of_thread(thread).pieces(64));
        Self { starts: (0..THREADS).map(start).collect(), pieces: pieces.collect() }
    }

    /// Begins a run in each thread.
    pub(super) async fn begin<S: Subject>(self: &Arc<Self>, subject: &Arc<S>) -> io::Result<()> {
        let mut writers = JoinSet::new();
        for thread in 0..THREADS {
            let (load, subject) = (Arc::clone(self), Arc::clone(subject));
            writers.spawn(async move {
                let events = &load.starts[index(thread.into())];
                subject.append(Batch { thread, events, begins_run: true, ends_run: false }).await
            });
        }
        all_joined(writers).await
    }

    /// What a writer appends next.
    pub(super) fn batch(&self, random: &mut Random) -> Batch<'_> {
        let thread = random.within(0..u64::from(THREADS));
        let thread = u32::try_from(thread).expect("threads are few");
        let count = index(random.within(1..BATCH_EVENTS_MAX + 1));
        let start = index(random.next()) % (self.pieces.len() - count);
        Batch { thread, events: &self.pieces[start..start + count], begins_run: false, ends_run: false }
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number & u64::from(u32::MAX)).expect("it has 32 bits")
}

/// How a thread's run of so many events is cut into batches of one to so many.
pub(crate) fn batches(thread: u32, events: usize, batch_events_max: u64) -> Vec<Range<usize>> {
    let mut random = Random::new(u64::from(thread));
    let (mut start, mut cut) = (0, Vec::new());
    while start < events {
        let end = events.min(start + index(random.within(1..batch_events_max + 1)));
        cut.push(start..end);
        start = end;
    }
    cut
}

/// Appends a run, cut into batches of one to so many events.
pub(crate) async fn append_run<S: Subject>(
    subject: &S,
    thread: u32,
    run: &[String],
    batch_events_max: u64,
) -> io::Result<()> {
    for batch in batches(thread, run.len(), batch_events_max) {
        let (begins_run, ends_run) = (batch.start == 0, batch.end == run.len());
        subject.append(Batch { thread, events: &run[batch], begins_run, ends_run }).await?;
    }
    Ok(())
}

/// Appends one run to each of these threads, many of them side by side.
pub(crate) async fn fill<S: Subject>(
    subject: &Arc<S>,
    runs: impl Iterator<Item = (u32, Vec<String>)>,
) -> io::Result<()> {
    fill_and_count(subject, runs, |_| Ok(())).await
}

/// The same, and says each time how many bytes were acknowledged with a run's end, while others go on.
pub(super) async fn fill_and_count<S: Subject>(
    subject: &Arc<S>,
    runs: impl Iterator<Item = (u32, Vec<String>)>,
    mut ended: impl FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut writers = JoinSet::new();
    for (thread, run) in runs {
        if writers.len() == INTERLEAVED {
            ended(joined(writers.join_next().await)?)?;
        }
        let subject = Arc::clone(subject);
        writers.spawn(async move {
            append_run(&*subject, thread, &run, BATCH_EVENTS_MAX).await?;
            Ok(run.iter().map(|event| event.len() as u64).sum())
        });
    }
    while !writers.is_empty() {
        ended(joined(writers.join_next().await)?)?;
    }
    Ok(())
}

async fn all_joined(mut writers: JoinSet<io::Result<()>>) -> io::Result<()> {
    while !writers.is_empty() {
        joined(writers.join_next().await)?;
    }
    Ok(())
}

fn joined<T>(result: Option<Result<io::Result<T>, tokio::task::JoinError>>) -> io::Result<T> {
    result.expect("there is one").map_err(io::Error::other)?
}

/// Closes a store that nobody else uses any more.
pub(crate) async fn close<S: Subject>(subject: Arc<S>) -> io::Result<()> {
    Arc::into_inner(subject).ok_or_else(|| io::Error::other("the store is still in use"))?.close().await
}
