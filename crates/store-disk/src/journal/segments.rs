//! The live segments, for readers, and what they share with the threads that write.

use super::Salt;
use super::error::Failure;
use super::format::segment_name;
use super::header::Header;
use crate::fs::{Disk, DiskFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A live segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) file: Arc<dyn DiskFile>,
    /// None if it was damaged.
    pub(super) header: Option<Header>,
    /// The byte behind the last durable group.
    pub(super) end: AtomicU32,
}

/// Which segments there are.
#[derive(Debug, Default)]
pub(super) struct Segments {
    pub(super) live: BTreeMap<u64, Arc<Segment>>,
    /// Released ones whose headers are kept, with the number of their first group.
    pub(super) gone: BTreeMap<u64, Option<u64>>,
}

impl Segments {
    /// The number of the first group behind a segment; none if it is the last, or the next one has no header.
    pub(super) fn next_group(&self, number: u64) -> Option<u64> {
        let live = self.live.range(number + 1..).next();
        let gone = self.gone.range(number + 1..).next();
        match (live, gone) {
            (Some((live, _)), Some((gone, first_group))) if gone < live => *first_group,
            (Some((_, live)), _) => live.header.map(|header| header.first_group),
            (None, _) => None,
        }
    }
}

/// What all threads of a journal share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) salt: Salt,
    pub(super) segment_bytes: u32,
    segments: RwLock<Segments>,
    /// Held while files of segments other than the active one get names or lose them.
    naming: Mutex<()>,
    failure: OnceLock<Arc<Failure>>,
}

impl Shared {
    pub(super) fn new(disk: Arc<dyn Disk>, salt: Salt, segment_bytes: u32, segments: Segments) -> Self {
        Self {
            disk,
            salt,
            segment_bytes,
            segments: RwLock::new(segments),
            naming: Mutex::default(),
            failure: OnceLock::new(),
        }
    }

    pub(super) fn segments(&self) -> RwLockReadGuard<'_, Segments> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn segments_mut(&self) -> RwLockWriteGuard<'_, Segments> {
        self.segments.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much of the active segment is used.
    pub(super) fn used(&self) -> u64 {
        let segments = self.segments();
        segments.live.values().next_back().map_or(0, |active| active.end.load(Ordering::Acquire).into())
    }

    pub(super) fn naming(&self) -> MutexGuard<'_, ()> {
        self.naming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failure(&self) -> Option<&Arc<Failure>> {
        self.failure.get()
    }

    /// Latches the journal because of something that was done to a segment.
    pub(super) fn failed(&self, during: &'static str, segment: u64, error: io::Error) -> Arc<Failure> {
        self.fail(Failure { during, file: segment_name(segment), error })
    }

    /// Latches the journal; the first failure is the one that counts.
    pub(super) fn fail(&self, failure: Failure) -> Arc<Failure> {
        Arc::clone(self.failure.get_or_init(|| Arc::new(failure)))
    }
}
