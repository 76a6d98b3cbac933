//! What is wrong with a store that takes writes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Damage that was come across, and work in the background that fails.
#[derive(Debug, Default)]
pub(crate) struct Ailments {
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// Why the last attempt to seal failed.
    sealing: Option<String>,
    /// Why the catalogue took nothing the last time.
    flush: Option<String>,
    /// Segments that were sealed without what was rotten in them.
    rotten: Rotten,
}

/// What could not be read of segments: of each, what was seen first.
pub(crate) type Rotten = BTreeMap<u64, String>;

impl Ailments {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how an attempt to seal has ended.
    pub(crate) fn note_sealing<E: ToString>(&self, sealed: &Result<(), E>) {
        self.found().sealing = sealed.as_ref().err().map(ToString::to_string);
    }

    /// Notes how it has ended to bring the catalogue up.
    pub(crate) fn note_flush<T, E: ToString>(&self, flushed: &Result<T, E>) {
        self.found().flush = flushed.as_ref().err().map(ToString::to_string);
    }

    /// Why the catalogue took nothing the last time, if it did not.
    pub(crate) fn flush(&self) -> Option<String> {
        self.found().flush.as_ref().map(|why| format!("the catalogue takes nothing in: {why}"))
    }

    /// Notes segments that were put aside.
    pub(crate) fn note_rotten(&self, rotten: Rotten) {
        self.found().rotten.extend(rotten);
    }

    /// All of it, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let flush = self.flush();
        let found = self.found();
        let rotten = found.rotten.values().cloned();
        let sealing = found.sealing.iter().map(|why| format!("the log cannot be sealed: {why}"));
        rotten.chain(sealing).chain(flush).collect()
    }
}
