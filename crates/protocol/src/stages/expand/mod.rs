//! The expand stage: chunks as starts, pieces and ends.
//!
//! Chunks are for producers that do not know where messages begin and end. The first chunk of a message opens it, those
//! that follow continue it, and whatever else the same producer says ends it. Every producer, the agent itself or one of
//! its subagents, has a lane of its own, in which it assembles one thing at a time.
//!
//! This is what the reference's `transformChunks` does. A chunk that kills the reference's stream is an error here: it is
//! skipped, and nothing changes.

mod chunk;
mod error;
mod expander;
mod lanes;
mod stream;
#[cfg(test)]
mod tests;

pub use error::{ExpandError, ExpandRule};
pub use expander::{Expanded, Expander};
pub(super) use stream::{Kind, Opening, Stream};
