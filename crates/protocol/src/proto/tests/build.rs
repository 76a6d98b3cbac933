//! Protobuf by hand, for bytes that no encoder writes.

use crate::proto::{DecodeError, Decoded, decode};
use prost::encoding::encode_varint;

/// A field with a length: a message, a string, or bytes.
pub(super) fn len(number: u32, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut out = Vec::new();
    encode_varint(u64::from(number << 3 | 2), &mut out);
    encode_varint(payload.len() as u64, &mut out);
    out.extend_from_slice(payload);
    out
}

/// A field that is a varint.
pub(super) fn int(number: u32, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    encode_varint(u64::from(number << 3), &mut out);
    encode_varint(value, &mut out);
    out
}

/// A field that is a double.
pub(super) fn double(number: u32, value: f64) -> Vec<u8> {
    let mut out = Vec::new();
    encode_varint(u64::from(number << 3 | 1), &mut out);
    out.extend(value.to_le_bytes());
    out
}

/// The base event of the type with this number.
pub(super) fn base(event_type: u64) -> Vec<u8> {
    len(1, int(1, event_type))
}

/// The JSON of the event that the bytes are, and what was dropped.
pub(super) fn json_of(bytes: &[u8]) -> Result<(String, Vec<String>), DecodeError> {
    match decode(bytes)? {
        Decoded::Event { event, dropped } => Ok((event.json().to_owned(), dropped)),
        Decoded::UnknownArm => panic!("no arm that 1.0 has"),
    }
}
