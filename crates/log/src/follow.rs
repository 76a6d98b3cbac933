//! Following a thread: its history, then what is appended, as soon as it is durable.

use crate::engine::Engine;
use crate::error::Error;
use crate::names::{Incarnation, ThreadKey};
use crate::record::Record;
use crate::tail::{Reached, Tail};
use std::sync::Arc;
use tokio::sync::watch;

/// About how many bytes are read from the store at once for a follower that is behind.
const PAGE_BYTES: usize = 64 * 1024;

/// One reader of a thread that goes on with it.
///
/// It holds no records: one that falls behind is served from the store, without loss and without a bound on how far.
#[derive(Debug)]
pub struct Follower {
    engine: Engine,
    thread: ThreadKey,
    incarnation: Incarnation,
    tail: Arc<Tail>,
    reached: watch::Receiver<Reached>,
    next: u64,
}

impl Follower {
    pub(crate) async fn open(
        engine: &Engine,
        thread: &ThreadKey,
        incarnation: Option<Incarnation>,
        from: u64,
    ) -> Result<Self, Error> {
        let wanted = match incarnation {
            Some(incarnation) => incarnation,
            None => engine.store().thread(thread).await?.incarnation,
        };
        // First listen, then look: nothing can fall between.
        let tail = engine.tails().open(wanted);
        let reached = tail.subscribe();
        let info = engine.store().thread(thread).await?;
        if info.incarnation != wanted {
            return Err(Error::OtherIncarnation(thread.clone()));
        }
        if from > info.offsets.end {
            return Err(Error::BeyondTail { offset: from, tail: info.offsets.end });
        }
        tail.reach(info.offsets.end);
        let incarnation = info.incarnation;
        let follower =
            Self { engine: engine.clone(), thread: thread.clone(), incarnation, tail, reached, next: from };
        if from < info.offsets.end {
            follower.check_readable(from).await?;
        }
        Ok(follower)
    }

    /// Which thread of this name is followed.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The offset that comes next.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        self.next
    }

    /// Whether there are durable records that it has not given yet.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.next < self.reached.borrow().tail
    }

    /// The next records, at least one: waits until there is one.
    ///
    /// # Errors
    /// If the thread is gone, or the records after the last ones were trimmed or compacted before they could be given.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Arc<[Record]>, Error> {
        loop {
            let reached = *self.reached.borrow_and_update();
            if reached.is_deleted {
                return Err(Error::OtherIncarnation(self.thread.clone()));
            }
            if self.next < reached.tail {
                let records = self.available(reached.tail).await?;
                if let Some(last) = records.last() {
                    self.next = last.offset + 1;
                    return Ok(records);
                }
            }
            if reached.is_away {
                return Err(Error::Unavailable("the store cannot be reached".to_owned()));
            }
            if self.reached.changed().await.is_err() {
                return Err(Error::Unavailable("the engine is gone".to_owned()));
            }
        }
    }

    /// Records that are durable, from where we are.
    async fn available(&mut self, tail: u64) -> Result<Arc<[Record]>, Error> {
        if let Some(records) = self.tail.from(self.next) {
            return Ok(records);
        }
        let page = self.engine.store().read(&self.thread, self.next..tail, None, PAGE_BYTES).await?;
        // What was read may be of another thread of this name. Where others write as well, they may not have told of it yet.
        let is_other = self.engine.store().shared().is_some()
            && self.engine.store().thread(&self.thread).await?.incarnation != self.incarnation;
        if is_other || self.reached.borrow().is_deleted {
            return Err(Error::OtherIncarnation(self.thread.clone()));
        }
        let mut records = page.records;
        // Stores pass over what is gone; whoever follows is told of it, wherever the page ends.
        let dense =
            (self.next..).zip(&records).take_while(|(offset, record)| *offset == record.offset).count();
        if dense > 0 {
            records.truncate(dense);
        } else {
            self.check_readable(self.next).await?;
            self.next = page.next;
        }
        Ok(records.into())
    }

    async fn check_readable(&self, offset: u64) -> Result<(), Error> {
        self.engine.check_readable(&self.thread, offset).await
    }
}
