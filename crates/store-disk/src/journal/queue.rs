//! What waits to be written.

use super::error::{CommitError, Failure, SubmitError};
use super::frames::{Committed, Frames};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Entries to be committed, and whom to tell.
pub trait Submission: Send + Sync {
    /// The entries.
    fn frames(&self) -> &Frames;

    /// Called by the committer, once, in the order of submissions, after the sync. Should be quick, and must not panic.
    fn complete(self: Arc<Self>, result: Result<Committed, CommitError>);
}

pub(super) type RotateCompletion = Box<dyn FnOnce(Result<u64, CommitError>) + Send>;

/// Something for the committer to do.
pub(super) enum Item {
    Commit(Arc<dyn Submission>),
    Rotate(RotateCompletion),
}

impl Item {
    fn bytes(&self) -> usize {
        match self {
            Self::Commit(submission) => submission.frames().bytes(),
            Self::Rotate(_) => 0,
        }
    }

    /// Says that nothing was or will be written.
    pub(super) fn refuse(self, failure: &Arc<Failure>) {
        let error = CommitError::Unavailable(Arc::clone(failure));
        match self {
            Self::Commit(submission) => submission.complete(Err(error)),
            Self::Rotate(completion) => completion(Err(error)),
        }
    }
}

/// How the journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With an empty group, so that the watermark covers everything.
    Orderly,
    /// As in a crash, but with what was submitted.
    Abrupt,
}

#[derive(Default)]
pub(super) struct Waiting {
    items: VecDeque<Item>,
    bytes: usize,
    end: Option<End>,
    failure: Option<Arc<Failure>>,
    /// The committer sleeps and must be woken.
    is_idle: bool,
}

/// Submissions in the order in which they came. Bounded by bytes.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    bytes_max: usize,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Waiting").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Queue").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}

/// The next place of the queue, for who holds it. Nothing else is submitted or taken meanwhile.
#[derive(Debug)]
pub struct Place<'a> {
    waiting: MutexGuard<'a, Waiting>,
    wake: &'a Condvar,
}

impl Place<'_> {
    /// Submits what it was reserved for.
    pub fn submit(self, submission: Arc<dyn Submission>) {
        self.put(Item::Commit(submission));
    }

    pub(super) fn put(mut self, item: Item) {
        self.waiting.bytes += item.bytes();
        self.waiting.items.push_back(item);
        let must_wake = std::mem::take(&mut self.waiting.is_idle);
        drop(self.waiting);
        if must_wake {
            self.wake.notify_one();
        }
    }
}

impl Queue {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { waiting: Mutex::default(), wake: Condvar::new(), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place behind all that wait, for so many bytes.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Place<'_>, SubmitError> {
        let waiting = self.lock();
        if let Some(failure) = &waiting.failure {
            return Err(SubmitError::Unavailable(Arc::clone(failure)));
        }
        if waiting.end.is_some() {
            return Err(SubmitError::Closed);
        }
        // What finds nothing waiting is taken at any size.
        if waiting.bytes > 0 && waiting.bytes + bytes > self.bytes_max {
            return Err(SubmitError::Full { bytes: waiting.bytes });
        }
        Ok(Place { waiting, wake: &self.wake })
    }

    /// Takes all that waits, once everything that was taken before is done: so what is taken is bounded too. Waits if there is
    /// neither. Tells the end once all is taken.
    pub(super) fn take(&self, taken: &mut VecDeque<Item>) -> Option<End> {
        if !taken.is_empty() {
            return None;
        }
        let mut waiting = self.lock();
        while waiting.items.is_empty() {
            if waiting.end.is_some() {
                return waiting.end;
            }
            waiting.is_idle = true;
            waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(taken, &mut waiting.items);
        waiting.bytes = 0;
        None
    }

    /// Takes nothing more. The first call decides how.
    pub(super) fn end(&self, how: End) {
        let mut waiting = self.lock();
        waiting.end.get_or_insert(how);
        waiting.is_idle = false;
        self.wake.notify_one();
    }

    /// Takes nothing more, and gives back what waits.
    pub(super) fn fail(&self, failure: &Arc<Failure>) -> VecDeque<Item> {
        let mut waiting = self.lock();
        waiting.failure.get_or_insert_with(|| Arc::clone(failure));
        waiting.bytes = 0;
        std::mem::take(&mut waiting.items)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Told, sized_frames};
    use super::*;

    const BYTES: usize = 100;

    fn push(queue: &Queue) -> Result<(), SubmitError> {
        let submission = Told::new(sized_frames(BYTES), |_| ());
        queue.reserve(submission.frames().bytes())?.submit(Arc::new(submission));
        Ok(())
    }

    #[test]
    fn what_was_taken_is_done_before_more_is_taken() {
        let queue = Queue::new(150);
        let mut taken = VecDeque::new();
        push(&queue).unwrap();
        assert_eq!(queue.take(&mut taken), None);
        push(&queue).unwrap();
        for _ in 0..9 {
            assert_eq!(queue.take(&mut taken), None);
            assert_eq!(taken.len(), 1);
            assert!(matches!(push(&queue), Err(SubmitError::Full { .. })));
        }
        queue.end(End::Orderly);
        taken.clear();
        assert_eq!((queue.take(&mut taken), taken.len()), (None, 1));
        taken.clear();
        assert_eq!(queue.take(&mut taken), Some(End::Orderly));
    }
}
