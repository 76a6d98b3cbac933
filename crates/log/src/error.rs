//! What can go wrong.

use crate::names::{Epoch, RunId, ThreadKey};
use thiserror::Error;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A name is longer than it may be.
    #[error("{what} is too long. bytes={bytes}, max={}", crate::names::NAME_BYTES_MAX)]
    NameTooLong {
        /// Whose name.
        what: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// Something that was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A batch is larger than the store takes.
    #[error("too large to be appended at once. bytes={bytes}, max={max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The most that is taken.
        max: usize,
    },
    /// There is no such thread.
    #[error("no such thread. thread={0}")]
    NoThread(ThreadKey),
    /// There is no such run in the thread.
    #[error("no such run. run={0}")]
    NoRun(String),
    /// A thread of this name is there already.
    #[error("the thread exists. thread={0}")]
    ThreadExists(ThreadKey),
    /// The run id is taken by a run with another request.
    #[error("the run id is taken by another request. run={0}")]
    RunIdReused(RunId),
    /// The run that the new one would continue is not over.
    #[error("the run is active. run={0}")]
    RunActive(RunId),
    /// A run that did not fail has answered this interrupt.
    #[error("the interrupt was answered. interrupt={interrupt}, run={run}")]
    InterruptAnswered {
        /// The interrupt.
        interrupt: String,
        /// The run that answered it.
        run: RunId,
    },
    /// The run that the new one would continue asked something that the new one does not answer.
    #[error("interrupts are open that are not answered. interrupts={}", .0.join(", "))]
    InterruptsOpen(Vec<String>),
    /// The run is over and takes no more events.
    #[error("the run has ended. run={0}")]
    RunEnded(RunId),
    /// The runs of the thread changed while a decision about them was made. Nothing was done.
    #[error("the runs of the thread have changed")]
    RunsChanged,
    /// The thread is not as the caller has seen it. Nothing was done.
    #[error("the thread has changed. thread={0}")]
    ThreadChanged(ThreadKey),
    /// The log's tail is not where the caller thought.
    #[error("tail moved. expected={expected}, actual={actual}")]
    TailMoved {
        /// Where the caller thought it was.
        expected: u64,
        /// Where it is.
        actual: u64,
    },
    /// Somebody else writes the run now.
    #[error("fenced. epoch={}, current={}", given.0, current.0)]
    Fenced {
        /// The writer's.
        given: Epoch,
        /// The one that counts.
        current: Epoch,
    },
    /// The offsets were removed by retention or trim.
    #[error("trimmed. offset={offset}, first={first}")]
    Trimmed {
        /// What was asked for.
        offset: u64,
        /// The first that is there.
        first: u64,
    },
    /// The records of the run were replaced by their compaction.
    #[error("compacted. run={run}, offset={offset}")]
    Compacted {
        /// The run.
        run: RunId,
        /// What was asked for.
        offset: u64,
    },
    /// The thread was deleted, or deleted and made anew.
    #[error("the thread is another one now. thread={0}")]
    OtherIncarnation(ThreadKey),
    /// An offset beyond the tail.
    #[error("no such offset yet. offset={offset}, tail={tail}")]
    BeyondTail {
        /// What was asked for.
        offset: u64,
        /// The next offset.
        tail: u64,
    },
    /// Stored data is damaged.
    #[error("damaged data in {place}: {what}")]
    Corrupt {
        /// File, thread and offset, as far as they are known.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// The store takes no writes, or cannot be reached. Nothing was done.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// It may or may not have been done.
    #[error("outcome unknown: {0}")]
    Indeterminate(String),
}

/// Kinds of errors, by what a caller can do about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is wrong.
    Invalid,
    /// It is not there.
    NotFound,
    /// It was there.
    Gone,
    /// It does not fit what is there.
    Conflict,
    /// Another writer has taken over.
    Fenced,
    /// Data is damaged.
    Corrupt,
    /// Nothing was done; it may work later.
    Unavailable,
    /// It may or may not have been done.
    Indeterminate,
}

impl Error {
    /// What kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NameTooLong { .. } | Self::Invalid(_) | Self::TooLarge { .. } | Self::BeyondTail { .. } => {
                ErrorKind::Invalid
            }
            Self::NoThread(_) | Self::NoRun(_) => ErrorKind::NotFound,
            Self::Trimmed { .. } | Self::Compacted { .. } | Self::OtherIncarnation(_) => ErrorKind::Gone,
            Self::ThreadExists(_)
            | Self::RunIdReused(_)
            | Self::RunActive(_)
            | Self::RunEnded(_)
            | Self::InterruptAnswered { .. }
            | Self::InterruptsOpen(_)
            | Self::RunsChanged
            | Self::ThreadChanged(_)
            | Self::TailMoved { .. } => ErrorKind::Conflict,
            Self::Fenced { .. } => ErrorKind::Fenced,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::Indeterminate(_) => ErrorKind::Indeterminate,
        }
    }

    /// Whether nothing was changed by what failed.
    #[must_use]
    pub const fn has_no_side_effects(&self) -> bool {
        !matches!(self, Self::Indeterminate(_))
    }

    /// Whether the same request may succeed if it is made again.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Indeterminate(_) | Self::RunsChanged | Self::ThreadChanged(_)
        )
    }
}
