//! The compact form of records that nobody adds to any more, which stores share.
//!
//! Persisted, so must be kept stable. Records lie in it [by column](columns), in a zstd [frame] that was packed with a [dictionary].

pub mod batch;
pub mod columns;
pub mod dictionary;
pub mod frame;
mod packed;
mod template;

pub use packed::{BYTES_MAX, PackError, UnpackError, pack, unpack};
