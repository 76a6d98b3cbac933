//! The newest records of the threads that somebody follows, in memory.
//!
//! Only a cache: what a follower does not find here, it reads from the store. So a slow follower holds no memory and slows
//! nobody, and records may come in any order.

use crate::names::Incarnation;
use crate::record::Record;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;

/// How many bytes of records are kept for a thread, at most.
const TAIL_BYTES_MAX: usize = 256 * 1024;

/// How many bytes of records are kept for all threads together, at most: the more are followed, the less is kept for each.
const TAILS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How far a thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Everything before this offset is durable.
    pub(crate) tail: u64,
    /// The thread was deleted.
    pub(crate) is_deleted: bool,
    /// The store is away for so long that whoever follows had better do it elsewhere.
    pub(crate) is_away: bool,
}

/// The newest records of one thread.
#[derive(Debug)]
pub(crate) struct Tail {
    reached: watch::Sender<Reached>,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    batches: BTreeMap<u64, Arc<[Record]>>,
    bytes: usize,
}

impl Recent {
    /// Lets go of the oldest. What is larger than all that may be kept is read from the store.
    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some((_, oldest)) = self.batches.pop_first()
        {
            self.bytes -= size(&oldest);
        }
    }
}

impl Tail {
    fn new() -> Self {
        let (reached, _) = watch::channel(Reached { tail: 0, is_deleted: false, is_away: false });
        Self { reached, recent: Mutex::default() }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Reached> {
        self.reached.subscribe()
    }

    /// Learns how far the thread has come, from a store that is there.
    pub(crate) fn reach(&self, tail: u64) {
        self.reached.send_if_modified(|reached| {
            let is_news = reached.tail < tail;
            reached.tail = reached.tail.max(tail);
            reached.is_away = false;
            is_news
        });
    }

    fn push(&self, records: Arc<[Record]>, bytes_max: usize) {
        let Some((first, last)) = records.first().zip(records.last()) else { return };
        let end = last.offset + 1;
        let mut recent = lock(&self.recent);
        recent.bytes += size(&records);
        recent.batches.insert(first.offset, records);
        recent.shrink(bytes_max);
        drop(recent);
        self.reach(end);
    }

    /// The records from an offset on that lie together, if they are here.
    pub(crate) fn from(&self, offset: u64) -> Option<Arc<[Record]>> {
        let recent = lock(&self.recent);
        let (_, batch) = recent.batches.range(..=offset).next_back()?;
        let skip = usize::try_from(offset - batch.first()?.offset).ok()?;
        match skip {
            0 => Some(Arc::clone(batch)),
            _ => batch.get(skip..).filter(|rest| !rest.is_empty()).map(Arc::from),
        }
    }
}

fn size(records: &[Record]) -> usize {
    records.iter().map(|record| record.bytes.len() + size_of::<Record>()).sum()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here panics half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tails of all threads that somebody follows. A new thread of an old name has a tail of its own.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    followed: Mutex<HashMap<Incarnation, Weak<Tail>>>,
    /// Whether there has been one: without, appends need not look. A follower lets itself be seen here before it looks at the store, so that
    /// whoever appends sees it, or it sees what was appended.
    any: AtomicBool,
    /// How much is kept for each thread: all of them have room for that much.
    share: AtomicUsize,
}

impl Tails {
    /// The tail of a thread, kept as long as somebody holds it.
    pub(crate) fn open(&self, thread: Incarnation) -> Arc<Tail> {
        let mut followed = lock(&self.followed);
        self.any.store(true, Ordering::SeqCst);
        if let Some(tail) = followed.get(&thread).and_then(Weak::upgrade) {
            return tail;
        }
        // Threads that nobody follows any more are found when there may be more of them than of the others.
        if followed.len() == followed.capacity() {
            followed.retain(|_, tail| tail.strong_count() > 0);
            let others = followed.len();
            followed.shrink_to(others);
            followed.reserve(others.max(1));
            let share = TAIL_BYTES_MAX.min(TAILS_BYTES_MAX / followed.capacity());
            self.share.store(share, Ordering::Relaxed);
            for other in followed.values().filter_map(Weak::upgrade) {
                lock(&other.recent).shrink(share);
            }
        }
        let tail = Arc::new(Tail::new());
        followed.insert(thread, Arc::downgrade(&tail));
        tail
    }

    fn get(&self, thread: Incarnation) -> Option<Arc<Tail>> {
        if !self.any.load(Ordering::SeqCst) {
            return None;
        }
        lock(&self.followed).get(&thread).and_then(Weak::upgrade)
    }

    /// Whether somebody follows a thread.
    pub(crate) fn is_followed(&self, thread: Incarnation) -> bool {
        self.any.load(Ordering::SeqCst)
            && lock(&self.followed).get(&thread).is_some_and(|tail| tail.strong_count() > 0)
    }

    /// How many follow a thread.
    pub(crate) fn followers(&self, thread: Incarnation) -> usize {
        self.get(thread).map_or(0, |tail| tail.reached.receiver_count())
    }

    /// The threads that somebody follows.
    pub(crate) fn followed(&self) -> Vec<Incarnation> {
        let followed = lock(&self.followed);
        followed.iter().filter(|(_, tail)| tail.strong_count() > 0).map(|(thread, _)| *thread).collect()
    }

    /// Cuts off all who follow something: the store is away.
    pub(crate) fn cut(&self) {
        for tail in lock(&self.followed).values().filter_map(Weak::upgrade) {
            tail.reached.send_modify(|reached| reached.is_away = true);
        }
    }

    /// Gives durable records to who follows the thread.
    pub(crate) fn publish(&self, thread: Incarnation, records: Vec<Record>) {
        if let Some(tail) = self.get(thread) {
            tail.push(records.into(), self.share.load(Ordering::Relaxed));
        }
    }

    /// Tells who follows the thread that there is more in the store.
    pub(crate) fn reach(&self, thread: Incarnation, offset: u64) {
        if let Some(tail) = self.get(thread) {
            tail.reach(offset);
        }
    }

    /// Ends those who follow a thread that is gone.
    pub(crate) fn delete(&self, thread: Incarnation) {
        let removed = lock(&self.followed).remove(&thread);
        if let Some(tail) = removed.and_then(|tail| tail.upgrade()) {
            tail.reached.send_modify(|reached| reached.is_deleted = true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{RunNo, Timestamp};
    use crate::record::Kind;

    fn record(offset: u64, bytes: usize) -> Record {
        let bytes = vec![b' '; bytes].into();
        Record { offset, time: Timestamp(0), run: RunNo(0), kind: Kind::Event, bytes }
    }

    fn kept(tails: &[Arc<Tail>]) -> usize {
        tails.iter().map(|tail| lock(&tail.recent).bytes).sum()
    }

    #[test]
    fn what_is_kept_does_not_grow_with_the_number_of_threads() {
        let tails = Tails::default();
        let mut held = Vec::new();
        for thread in 0..3_000 {
            held.push(tails.open(Incarnation(thread)));
            for offset in 0..100 {
                tails.publish(Incarnation(thread), vec![record(offset, 3_000)]);
            }
            assert!(kept(&held) <= TAILS_BYTES_MAX, "thread={thread}");
            // Whoever follows is told, whether it is kept or not.
            assert_eq!(held.last().map(|tail| tail.subscribe().borrow().tail), Some(100));
        }
        assert!(kept(&held[..200]) > 0, "those that came first have something left");
        // When most of them have gone there is room again.
        held.truncate(100);
        for thread in 3_000..8_000 {
            held.push(tails.open(Incarnation(thread)));
            held.pop();
        }
        tails.publish(Incarnation(0), vec![record(100, 200_000)]);
        assert!(held[0].from(100).is_some());
    }

    #[test]
    fn a_batch_larger_than_all_that_is_kept_is_read_from_the_store() {
        let tails = Tails::default();
        let tail = tails.open(Incarnation(1));
        tails.publish(Incarnation(1), vec![record(0, TAIL_BYTES_MAX + 1)]);
        assert!(tail.from(0).is_none());
        assert_eq!(tail.subscribe().borrow().tail, 1);
    }
}
