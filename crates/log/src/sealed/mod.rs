//! Forms of records that stores share: the compact one of those that nobody adds to any more, and what they are before.
//!
//! Persisted, so must be kept stable. Records lie in it [by column](columns), in a zstd [frame] that was packed with a [dictionary]. Until then they are
//! [batches](batch), in which they may [share](shared) their beginnings.

pub mod batch;
pub mod columns;
pub mod dictionary;
pub mod frame;
mod packed;
pub mod shared;
mod template;

pub use packed::{BYTES_MAX, PackError, UnpackError, pack, unpack};
