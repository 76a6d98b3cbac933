//! The binary form of events, `application/vnd.ag-ui.event+proto`: one protobuf message an event.
//!
//! The schema is `crates/protocol/proto/ag_ui.proto`. All 31 events have a place in it.
//!
//! What [`encode()`] has to leave out, and names in [`Encoded::lost`]:
//!
//! - members that 1.0 does not have, and members of patch operations beyond `op`, `path`, `from` and `value`;
//! - messages of an unknown role, parts of an unknown type or with a source of one, the retired `binary` part among
//!   them, operations of an unknown name, and all of an unknown outcome but its type;
//! - lone surrogates, which become U+FFFD.
//!
//! What it changes without a word:
//!
//! - Numbers in opaque values become doubles: digits beyond that, and how a number was spelled, are gone.
//! - Of duplicate keys the last one stands.
//! - `toolCalls`, `usage`, `pendingToolCallIds`, `interruptIds` and `resume` that are empty come back absent;
//!   `tools` and `context` of a run's input that are absent come back empty.
//! - Required strings and lists that a producer left out of the bytes read as empty ones.
//!
//! Where this differs from the reference:
//!
//! - [`decode()`] does not make up an empty `resume`, keeps keys named `__proto__`, and reads a `Value` of no kind as
//!   `null` instead of leaving it out.
//! - It judges fields at once, and refuses what is no protobuf by the book: strings that are no UTF-8, fields of a wire
//!   type that they do not have, varints that are too long, lengths that reach beyond their message.
//! - [`encode()`] keeps the keys of opaque objects in their order, where JavaScript puts those that look like integers
//!   first, and refuses unknown events, where the reference gives no bytes.
//! - Both refuse nesting beyond [`PROTO_DEPTH_MAX`](crate::limits::PROTO_DEPTH_MAX) and numbers that are not finite.
//!
//! ```
//! use threadline_protocol::event::RunError;
//! use threadline_protocol::proto::{Decoded, decode, encode};
//!
//! let encoded = encode(&RunError::new("x").into())?;
//! assert_eq!(encoded.bytes, [0x72, 0x07, 0x0A, 0x02, 0x08, 0x0D, 0x1A, 0x01, b'x']);
//! assert!(encoded.lost.is_empty());
//! let Decoded::Event { event, .. } = decode(&encoded.bytes)? else { panic!() };
//! assert_eq!(event.json(), r#"{"type":"RUN_ERROR","message":"x"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;
mod from_json;
#[expect(unreachable_pub, reason = "made by prost-build")]
mod generated;
mod number;
mod scan;
mod table;
#[cfg(test)]
mod tests;
mod to_json;
mod trail;
mod value;
mod wire;
mod writer;

pub use decode::{DecodeError, Decoded, WireError, decode};
pub use encode::{EncodeError, Encoded, encode};
