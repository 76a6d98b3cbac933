//! What decides how much of what was delivered becomes a record.

use super::merging::{Merging, Unmerged};
use crate::names::{Incarnation, RunNo, ThreadKey};
use crate::record::NewRecord;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Makes fewer records of many, for one thread. What it gives of a run must fold to the same as what it was given of that run, in the
/// same order, and keep the record that a run ends with the last one.
///
/// Runs of a thread may overlap, so that calls may come from several tasks at once, each for its run.
pub trait Aggregator: Send + Sync + fmt::Debug {
    /// Takes a record of a run, and gives those of that run that will not change any more.
    fn push(&self, run: RunNo, record: NewRecord) -> Vec<NewRecord>;

    /// Gives all that it holds of a run.
    fn flush(&self, run: RunNo) -> Vec<NewRecord>;
}

/// Makes an aggregator for each thread, which lives as long as runs of it go on. Clones are the same.
#[derive(Clone)]
pub struct Aggregators(Arc<Inner>);

struct Inner {
    make: Box<Make>,
    of_threads: Mutex<HashMap<Incarnation, Weak<dyn Aggregator>>>,
}

type Make = dyn Fn(&ThreadKey) -> Arc<dyn Aggregator> + Send + Sync;

impl Aggregators {
    /// Of one's own.
    #[must_use]
    pub fn new(make: impl Fn(&ThreadKey) -> Arc<dyn Aggregator> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { make: Box::new(make), of_threads: Mutex::default() }))
    }

    /// That merge adjacent pieces: [`Merging`].
    #[must_use]
    pub fn merging() -> Self {
        Self::new(|_| Arc::new(Merging::default()))
    }

    /// That merge nothing: [`Unmerged`].
    #[must_use]
    pub fn unmerged() -> Self {
        Self::new(|_| Arc::new(Unmerged))
    }

    /// The one of this thread, made if it is not there. One that was deleted and made anew is another thread.
    #[must_use]
    pub fn of(&self, thread: &ThreadKey, incarnation: Incarnation) -> Arc<dyn Aggregator> {
        // What somebody else has made may panic; what is here is whole nevertheless.
        let mut of_threads = self.0.of_threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = of_threads.get(&incarnation).and_then(Weak::upgrade) {
            return known;
        }
        // Those that nobody holds any more are found when there may be more of them than of the others.
        if of_threads.len() == of_threads.capacity() {
            of_threads.retain(|_, aggregator| aggregator.strong_count() > 0);
            let held = of_threads.len();
            of_threads.reserve(held.max(1));
        }
        let made = (self.0.make)(thread);
        of_threads.insert(incarnation, Arc::downgrade(&made));
        made
    }
}

impl fmt::Debug for Aggregators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aggregators").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Owner, Scope, ThreadId};

    #[test]
    fn a_thread_has_one_as_long_as_somebody_holds_it() {
        let aggregators = Aggregators::merging();
        let owner = || Owner::new("o").unwrap();
        let thread = ThreadKey::new(Scope { app: owner(), user: owner() }, ThreadId::new("t").unwrap());
        let of = |incarnation| aggregators.of(&thread, Incarnation(incarnation));
        let (first, again, other) = (of(1), of(1), of(2));
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &other));
        drop((first, again, other));
        for incarnation in 0..1_000 {
            drop(of(incarnation));
        }
        assert!(aggregators.0.of_threads.lock().unwrap().len() < 10);
    }
}
