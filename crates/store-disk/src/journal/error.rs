//! What can go wrong, by operation.

use super::Position;
use super::format::segment_name;
use std::io;
use std::sync::Arc;

/// Why the journal takes nothing more.
#[derive(Debug, thiserror::Error)]
#[error("{during} failed. file={file}")]
pub struct Failure {
    /// What was being done.
    pub during: &'static str,
    /// To which file.
    pub file: String,
    /// What the file system said.
    #[source]
    pub error: io::Error,
}

impl Failure {
    /// What was being done and what the file system said, for who is told in words only.
    #[must_use]
    pub fn in_full(&self) -> String {
        format!("{self}: {}", self.error)
    }
}

/// Why a submission was not taken. Nothing of it is written, and its completion is not called.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    /// It is larger than a submission may be.
    #[error("submission is too large. bytes={bytes}, max={max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The largest that is taken.
        max: usize,
    },
    /// Too much is waiting to be written.
    #[error("too much is waiting to be written. bytes={bytes}")]
    Full {
        /// How much waits.
        bytes: usize,
    },
    /// An earlier write or sync failed.
    #[error("the journal takes nothing more")]
    Unavailable(#[source] Arc<Failure>),
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
}

/// Why a submission was not committed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// It may have been appended; opening the journal anew tells.
    #[error("the entries may or may not have been appended")]
    Indeterminate(#[source] Arc<Failure>),
    /// It was not appended.
    #[error("the entries were not appended")]
    Unavailable(#[source] Arc<Failure>),
}

/// Why the journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system refused something.
    #[error("cannot use a file. file={file}")]
    Io {
        /// The file.
        file: String,
        /// What the file system said.
        #[source]
        error: io::Error,
    },
    /// A later version of this program wrote it.
    #[error("unknown format. file={file}, version={version}, features={features:#x}")]
    Unsupported {
        /// The file.
        file: String,
        /// Its format version.
        version: u16,
        /// Its feature bits.
        features: u32,
    },
    /// A segment is of another store.
    #[error("the file is of another store. file={file}")]
    Foreign {
        /// The file.
        file: String,
    },
    /// Segments of that length cannot be used.
    #[error("segments are too short. bytes={bytes}")]
    SegmentTooShort {
        /// The length asked for.
        bytes: u32,
    },
}

impl OpenError {
    pub(super) fn io(file: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { file: file.into(), error }
    }
}

/// Why an entry cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused to read.
    #[error("cannot read an entry. position={position}")]
    Io {
        /// Where it is.
        position: Position,
        /// What the file system said.
        #[source]
        error: io::Error,
    },
    /// There is no entry at the position, or it is damaged.
    #[error("damaged entry. position={position}")]
    Damaged {
        /// Where it is.
        position: Position,
    },
    /// The segment was released, or there never was one.
    #[error("no such segment. file={}", segment_name(*segment))]
    NoSegment {
        /// Its number.
        segment: u64,
    },
}

/// Why a segment cannot be released.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReleaseError {
    /// It takes groups.
    #[error("the segment is in use. file={}", segment_name(*segment))]
    Active {
        /// Its number.
        segment: u64,
    },
    /// It was released before, or there never was one.
    #[error("no such segment. file={}", segment_name(*segment))]
    NoSegment {
        /// Its number.
        segment: u64,
    },
    /// The file system refused, now or before; the journal takes nothing more.
    #[error("the segment could not be removed")]
    Unavailable(#[source] Arc<Failure>),
}

/// Why the journal could not be closed in order. What was committed is durable nevertheless.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the journal was not closed in order")]
pub struct CloseError(#[source] pub Arc<Failure>);
