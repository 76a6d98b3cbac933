//! What decides how much of what was delivered becomes a record.

use super::merging::{Merging, Unmerged};
use crate::names::ThreadKey;
use crate::record::NewRecord;
use std::fmt;
use std::sync::Arc;

/// Makes fewer records of many. What it gives must fold to the same as what it was given, in the same order, and keep the
/// record that a run ends with the last one.
///
/// Calls may come from several tasks at once.
pub trait Aggregator: Send + Sync + fmt::Debug {
    /// Takes a record, and gives those that will not change any more.
    fn push(&self, record: NewRecord) -> Vec<NewRecord>;

    /// Gives all that it holds.
    fn flush(&self) -> Vec<NewRecord>;
}

/// Makes an aggregator for each run of a thread: runs of one thread may overlap, and what is of one must not go into another.
#[derive(Clone)]
pub struct Aggregators(Arc<Make>);

type Make = dyn Fn(&ThreadKey) -> Arc<dyn Aggregator> + Send + Sync;

impl Aggregators {
    /// Of one's own.
    #[must_use]
    pub fn new(make: impl Fn(&ThreadKey) -> Arc<dyn Aggregator> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
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

    /// One for a run of this thread.
    #[must_use]
    pub fn make(&self, thread: &ThreadKey) -> Arc<dyn Aggregator> {
        (self.0)(thread)
    }
}

impl fmt::Debug for Aggregators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aggregators").finish_non_exhaustive()
    }
}
