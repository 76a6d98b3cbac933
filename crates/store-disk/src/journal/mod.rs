//! The journal: an append log of opaque entries in segments, made durable in groups.
//!
//! Whoever appends puts its entries into [`Frames`] and submits them; one committer takes whatever waits, writes it as
//! one group, syncs once and completes all. [`mod@format`] says what is on the disk and what is assumed of it.

mod check;
mod checksum;
mod committer;
mod damage;
mod entry;
mod error;
pub mod format;
#[cfg(any(test, feature = "sim"))]
pub(crate) mod framed;
mod frames;
mod group;
mod handle;
mod header;
mod keeper;
mod open;
mod queue;
mod salvage;
mod scan;
mod segments;
mod sidecar;
mod survey;
#[cfg(test)]
mod tests;
mod walk;

pub use check::{Finding, check};
pub use checksum::Salt;
pub use damage::{Cut, Damage, DamageKind};
pub use entry::{Entry, EntryHead, Found};
pub use error::{CloseError, CommitError, Failure, OpenError, ReadError, ReleaseError, SubmitError};
pub use format::Position;
pub use frames::{Committed, Frames};
pub(crate) use handle::SEGMENT_BYTES;
pub use handle::{Health, Journal, Options, SegmentInfo};
pub use open::Recovery;
pub use queue::{Place, Submission};
pub use survey::Known;
