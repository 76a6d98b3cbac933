//! From bytes to events and back: JSONL, JSON arrays and documents, server-sent events, and the
//! length-prefixed frames of the protobuf binding.
//!
//! Every decoder works the same way and does no I/O. `push` takes input in chunks of any size; `next_event`
//! lends out the events they complete, one by one, until it gives `None`; `finish` says that no more input
//! comes, after which `next_event` gives what was left. Memory is bounded by [`Limits`](crate::limits::Limits)
//! plus the chunks pushed since `next_event` last gave `None`. How the input is cut never changes what is
//! decoded.
//!
//! Events are handed out as bytes. Nothing here parses JSON or protobuf.

#![warn(clippy::indexing_slicing)]

mod array;
mod buffer;
mod detect;
mod document;
mod error;
mod input;
mod lines;
mod payload;
mod prefixed;
mod scanner;
mod sse;
mod sse_encoder;
#[cfg(test)]
mod tests;

pub use array::ArrayDecoder;
pub use detect::{Format, detect};
pub use document::DocumentDecoder;
pub use error::{DecodeError, EncodeError};
pub use input::InputDecoder;
pub use lines::LineDecoder;
pub use payload::{Payload, Place};
pub use prefixed::{PrefixedDecoder, encode_prefixed};
pub use sse::{SseDecoder, SseFrame};
pub use sse_encoder::{SseId, SseIdError, encode_comment, encode_frame};
