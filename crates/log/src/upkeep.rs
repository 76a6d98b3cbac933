//! Who may decide about a thread's past.
//!
//! A checkpoint is made from records, a run begins with what its parent's checkpoint holds, and trimming lets go of both. Each
//! looks first and writes then, so that between the two nobody else may.

use crate::names::ThreadKey;
use std::hash::{BuildHasher, RandomState};
use tokio::sync::{Mutex, MutexGuard};

/// Threads share that many places, so that what is kept does not grow with their number.
const PLACES: usize = 1024;

/// Lets one at a time decide about a thread.
#[derive(Debug)]
pub(crate) struct Upkeep {
    places: Box<[Mutex<()>]>,
    hasher: RandomState,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { places: (0..PLACES).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }
}

impl Upkeep {
    /// Waits for everybody else. Whoever has one thread must not wait for another.
    pub(crate) async fn of(&self, thread: &ThreadKey) -> MutexGuard<'_, ()> {
        self.place(thread).lock().await
    }

    /// The same, if it is nobody's turn.
    pub(crate) fn try_of(&self, thread: &ThreadKey) -> Option<MutexGuard<'_, ()>> {
        self.place(thread).try_lock().ok()
    }

    fn place(&self, thread: &ThreadKey) -> &Mutex<()> {
        let hash = self.hasher.hash_one(thread) % PLACES as u64;
        &self.places[usize::try_from(hash).expect("there are few places")]
    }
}
