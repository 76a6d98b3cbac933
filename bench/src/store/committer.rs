//! One committer for all peers: it takes whatever waits, makes one transaction of it, and acknowledges.

use super::subject::{Batch, Durability, Reads, Subject, Tally};
use std::collections::{HashMap, hash_map};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A batch as it is stored: one value under its thread and the offset of its last event.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) thread: u32,
    pub(super) last: u64,
    /// Events, each after its length.
    pub(super) value: Vec<u8>,
}

impl Entry {
    /// The key that sorts by thread and offset.
    pub(super) fn key(&self) -> [u8; 12] {
        key(self.thread, self.last)
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &[u8]> {
        events(&self.value)
    }
}

/// The key that sorts by thread and offset.
pub(super) fn key(thread: u32, last: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&thread.to_be_bytes());
    key[4..].copy_from_slice(&last.to_be_bytes());
    key
}

/// Makes groups durable, on the committer's thread.
pub(super) trait Engine: Sized + Send + 'static {
    /// Reads beside the committer; `()` if nothing is read.
    type Reader: Send + Sync + 'static;

    /// Opens what is in this folder, or makes it.
    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, Self::Reader)>;

    /// Stores a group, and syncs if it is opened so.
    fn commit(&mut self, group: &[Entry]) -> io::Result<()>;
}

/// Reads batches.
pub(super) trait Reader: Send + Sync + 'static {
    /// Brings the files into the form that they keep.
    fn settle(&self) -> io::Result<()>;

    /// Hands out the batches of a thread in order, from the one with this offset in it, until told to stop.
    fn batches(&self, thread: u32, offset: u64, each: &mut dyn FnMut(Stored<'_>) -> bool) -> io::Result<()>;

    /// The offset that the next event of a thread gets, so that a store that is opened again goes on there.
    fn tail(&self, thread: u32) -> io::Result<u64>;
}

impl Reader for () {
    fn settle(&self) -> io::Result<()> {
        Ok(())
    }

    fn batches(&self, _: u32, _: u64, _: &mut dyn FnMut(Stored<'_>) -> bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn tail(&self, _: u32) -> io::Result<u64> {
        Ok(0)
    }
}

/// A batch that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    pub(super) last: u64,
    pub(super) value: &'a [u8],
}

impl<'a> Stored<'a> {
    fn events(self) -> impl Iterator<Item = &'a [u8]> {
        events(self.value)
    }
}

fn events(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let (len, tail) = rest.split_first_chunk()?;
        let (event, tail) = tail.split_at(usize::try_from(u32::from_le_bytes(*len)).ok()?);
        rest = tail;
        Some(event)
    })
}

/// What writers have left for the committer.
#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    is_closed: bool,
    /// Why the committer has stopped, if it could not go on.
    failure: Option<String>,
}

impl Queue {
    fn stopped(&self) -> io::Error {
        io::Error::other(self.failure.clone().unwrap_or_else(|| "the committer has stopped".to_owned()))
    }
}

struct Waiting {
    thread: u32,
    count: u64,
    value: Vec<u8>,
    ack: oneshot::Sender<()>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder panics")
    }

    /// Waits for work and takes all of it; nothing if there will be none.
    fn take(&self) -> Vec<Waiting> {
        let mut queue = self
            .arrived
            .wait_while(self.queue(), |queue| queue.waiting.is_empty() && !queue.is_closed)
            .expect("no holder panics");
        std::mem::take(&mut queue.waiting)
    }
}

/// An engine with its committer.
pub(super) struct Grouped<E: Engine> {
    shared: Arc<Shared>,
    committer: JoinHandle<io::Result<()>>,
    reader: Arc<E::Reader>,
}

impl<E: Engine<Reader: Reader>> Subject for Grouped<E> {
    async fn open(dir: &Path, durability: Durability) -> io::Result<Self> {
        let (engine, reader) = E::open(dir, durability)?;
        let (shared, reader) = (Arc::new(Shared::default()), Arc::new(reader));
        let committer = std::thread::Builder::new().name("committer".to_owned()).spawn({
            let (shared, reader) = (Arc::clone(&shared), Arc::clone(&reader));
            move || {
                let done = commit(engine, &shared, &*reader);
                let mut queue = shared.queue();
                // Whoever still waits is told by this that nobody will answer.
                queue.waiting.clear();
                queue.is_closed = true;
                done
            }
        })?;
        Ok(Self { shared, committer, reader })
    }

    async fn append(&self, batch: Batch<'_>) -> io::Result<()> {
        let mut value = Vec::with_capacity(batch.events.iter().map(|event| event.len() + 4).sum());
        for event in batch.events {
            let len = u32::try_from(event.len()).map_err(io::Error::other)?;
            value.extend_from_slice(&len.to_le_bytes());
            value.extend_from_slice(event.as_bytes());
        }
        let (ack, acked) = oneshot::channel();
        let count = u64::try_from(batch.events.len()).map_err(io::Error::other)?;
        let is_first = {
            let mut queue = self.shared.queue();
            if queue.is_closed {
                return Err(queue.stopped());
            }
            queue.waiting.push(Waiting { thread: batch.thread, count, value, ack });
            queue.waiting.len() == 1
        };
        if is_first {
            self.shared.arrived.notify_one();
        }
        acked.await.map_err(|_gone| self.shared.queue().stopped())
    }

    async fn close(self) -> io::Result<()> {
        self.shared.queue().is_closed = true;
        self.shared.arrived.notify_one();
        self.committer.join().unwrap_or_else(|_| Err(io::Error::other("the committer panicked")))
    }
}

fn commit<E: Engine>(mut engine: E, shared: &Shared, reader: &impl Reader) -> io::Result<()> {
    let mut tails = HashMap::new();
    // Before whoever waits in the group is told.
    let failed = |error: io::Error| {
        shared.queue().failure = Some(error.to_string());
        error
    };
    loop {
        let waiting = shared.take();
        if waiting.is_empty() {
            return Ok(());
        }
        let mut entries = Vec::with_capacity(waiting.len());
        let mut acks = Vec::with_capacity(waiting.len());
        for Waiting { thread, count, value, ack } in waiting {
            let tail = match tails.entry(thread) {
                hash_map::Entry::Occupied(tail) => tail.into_mut(),
                hash_map::Entry::Vacant(place) => place.insert(reader.tail(thread).map_err(failed)?),
            };
            *tail += count;
            entries.push(Entry { thread, last: *tail - 1, value });
            acks.push(ack);
        }
        engine.commit(&entries).map_err(failed)?;
        for ack in acks {
            // A writer that is gone needs no ack.
            let _ = ack.send(());
        }
    }
}

impl<E: Engine<Reader: Reader>> Reads for Grouped<E> {
    async fn settle(&self) -> io::Result<()> {
        self.reader.settle()
    }

    async fn read(&self, thread: u32, offset: u64, count: usize, tally: &mut Tally) -> io::Result<()> {
        let mut left = count;
        self.reader.batches(thread, offset, &mut |stored| {
            let len = stored.events().count();
            let first = (stored.last + 1).saturating_sub(u64::try_from(len).unwrap_or(u64::MAX));
            let skipped = usize::try_from(offset.saturating_sub(first)).unwrap_or(usize::MAX);
            for event in stored.events().skip(skipped).take(left) {
                tally.take(event);
                left -= 1;
            }
            left > 0
        })
    }
}

impl<E: Engine<Reader: Reader>> Grouped<E> {
    /// Hands out all events of a thread.
    pub(super) fn each_event(
        &self,
        thread: u32,
        mut work: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = Ok(());
        self.reader.batches(thread, 0, &mut |stored| {
            done = stored.events().try_for_each(&mut work);
            done.is_ok()
        })?;
        done
    }
}
