//! How one waiter is told what became of its write, without an allocation of its own.

use crate::journal::CommitError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The end of a write, once it has one.
#[derive(Debug)]
pub(crate) struct Done(Mutex<State>);

#[derive(Debug)]
enum State {
    /// It is on its way, and somebody may wait for it.
    Underway(Option<Waker>),
    Ended(Result<(), CommitError>),
}

impl Done {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State::Underway(None)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing here panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how it ended, and returns whom to wake.
    #[must_use]
    pub(crate) fn end(&self, result: Result<(), CommitError>) -> Option<Waker> {
        match std::mem::replace(&mut *self.lock(), State::Ended(result)) {
            State::Underway(waker) => waker,
            State::Ended(_) => None,
        }
    }

    /// How it ended. The last who asks is woken when it does.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Result<(), CommitError>> {
        match &mut *self.lock() {
            State::Ended(result) => Poll::Ready(result.clone()),
            State::Underway(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}
