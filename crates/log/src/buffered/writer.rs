//! A writer of a run that does not wait for the store.

use super::aggregator::Aggregator;
use crate::engine::{Batch, Engine, RunWriter};
use crate::error::Error;
use crate::record::NewRecord;
use crate::run::RunEnd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, TryAcquireError, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a [`BufferedWriter`] may hold what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferOptions {
    /// How often what is held is stored; none: only when it is too much, and at the end of the run.
    pub flush_interval: Option<Duration>,
    /// How long the end of the run may take to be stored; none: as long as it takes.
    pub finalization_timeout: Option<Duration>,
    /// How many bytes are held before an append waits for the store.
    pub bytes_max: u32,
}

impl Default for BufferOptions {
    fn default() -> Self {
        Self {
            flush_interval: Some(Duration::from_secs(1)),
            finalization_timeout: Some(Duration::from_secs(5)),
            bytes_max: 4 * 1024 * 1024,
        }
    }
}

/// Writes a run without waiting for the store: an append returns at once, and what it was given is durable some time later. A crash
/// loses what is not, and a flush that fails is the last one.
///
/// Whoever drops it gives up what it holds.
#[derive(Debug)]
pub struct BufferedWriter {
    shared: Arc<Shared>,
    /// How it ended: with the run, or with a flush that failed.
    outcome: watch::Receiver<Option<Result<(), Error>>>,
    /// None when it is to go on without us.
    flusher: Option<JoinHandle<()>>,
    finalization_timeout: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    engine: Engine,
    run: RunWriter,
    aggregator: Arc<dyn Aggregator>,
    held: Mutex<Held>,
    /// A permit for each byte that may be held.
    room: Semaphore,
    bytes_max: u32,
    /// Said when a flush should not wait for its time.
    is_due: Notify,
}

/// What is not on its way to the store yet; the aggregator may hold more.
#[derive(Debug, Default)]
struct Held {
    records: Vec<NewRecord>,
    /// The room that all of it takes.
    room: usize,
    end: Option<RunEnd>,
}

impl BufferedWriter {
    /// Writes a run that is open, within a runtime.
    #[must_use]
    pub fn new(
        engine: Engine,
        run: RunWriter,
        aggregator: Arc<dyn Aggregator>,
        options: &BufferOptions,
    ) -> Self {
        let BufferOptions { flush_interval, finalization_timeout, bytes_max } = *options;
        let shared = Arc::new(Shared {
            engine,
            run,
            aggregator,
            held: Mutex::default(),
            room: Semaphore::new(bytes_max as usize),
            bytes_max,
            is_due: Notify::new(),
        });
        let (sender, outcome) = watch::channel(None);
        let flushing = Flushing(Arc::clone(&shared));
        let flusher = tokio::spawn(async move {
            let outcome = flushing.until_the_end(flush_interval).await;
            sender.send_replace(Some(outcome));
        });
        Self { shared, outcome, flusher: Some(flusher), finalization_timeout }
    }

    /// Takes records to be stored behind those before. Waits only if too much is held.
    ///
    /// # Errors
    /// If an earlier flush has failed, as [`Engine::append`]. The run cannot be written any more: something of it is missing.
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing was taken.
    pub async fn append(&self, records: Vec<NewRecord>) -> Result<(), Error> {
        let bytes: usize = records.iter().map(|record| record.bytes.len()).sum();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.shared.bytes_max);
        let room = match self.shared.room.try_acquire_many(bytes) {
            Err(TryAcquireError::NoPermits) => {
                self.shared.is_due.notify_one();
                self.shared.room.acquire_many(bytes).await.ok()
            }
            room => room.ok(),
        };
        let Some(room) = room else { return Err(self.failed().await) };
        room.forget();
        self.shared.hold(records, bytes as usize, None);
        Ok(())
    }

    /// Waits until a flush fails.
    ///
    /// # Cancel safety
    /// It can be asked again.
    pub async fn failed(&self) -> Error {
        match self.outcome.clone().wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Err(error))) => error.clone(),
            _ => gone(),
        }
    }

    /// Stores everything, with the last records and the end of the run.
    ///
    /// # Errors
    /// If this or an earlier flush fails, as [`Engine::append`]. [`Error::Indeterminate`], if it takes longer than it may.
    ///
    /// # Cancel safety
    /// If it takes too long, or the future is dropped, storing goes on without its caller, for as long as the run is this writer's.
    pub async fn finish(mut self, records: Vec<NewRecord>, end: RunEnd) -> Result<(), Error> {
        self.flusher = None;
        self.shared.hold(records, 0, Some(end));
        self.shared.is_due.notify_one();
        let finished = self.outcome.wait_for(Option::is_some);
        let outcome = match self.finalization_timeout {
            Some(limit) => timeout(limit, finished).await,
            None => Ok(finished.await),
        };
        match outcome {
            Ok(Ok(outcome)) => outcome.clone().unwrap_or_else(|| Err(gone())),
            Ok(Err(_)) => Err(gone()),
            Err(_) => Err(Error::Indeterminate("the end of the run was not stored in time".to_owned())),
        }
    }
}

impl Drop for BufferedWriter {
    fn drop(&mut self) {
        if let Some(flusher) = &self.flusher {
            flusher.abort();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Held> {
        // What an aggregator that panics was given is lost, and so is its run.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, records: Vec<NewRecord>, room: usize, end: Option<RunEnd>) {
        let mut held = self.lock();
        for record in records {
            let settled = self.aggregator.push(self.run.run, record);
            held.records.extend(settled);
        }
        held.room += room;
        held.end = end;
    }

    fn take(&self) -> Held {
        let mut held = self.lock();
        held.records.extend(self.aggregator.flush(self.run.run));
        std::mem::take(&mut held)
    }
}

/// Stores what is held. When it is over, so is the room.
struct Flushing(Arc<Shared>);

impl Flushing {
    async fn until_the_end(&self, interval: Option<Duration>) -> Result<(), Error> {
        let shared = &*self.0;
        loop {
            let due = shared.is_due.notified();
            match interval {
                // In time or not, it is time.
                Some(interval) => drop(timeout(interval, due).await),
                None => due.await,
            }
            let Held { records, room, end } = shared.take();
            let is_end = end.is_some();
            if is_end || !records.is_empty() {
                shared.engine.append(&shared.run, Batch { records, end, ..Batch::default() }).await?;
            }
            if is_end {
                return Ok(());
            }
            shared.room.add_permits(room);
        }
    }
}

impl Drop for Flushing {
    fn drop(&mut self) {
        self.0.room.close();
        // What others of the thread still use must not keep what nobody stores any more.
        drop(self.0.take());
    }
}

fn gone() -> Error {
    Error::Unavailable("whoever stores the run is gone".to_owned())
}
