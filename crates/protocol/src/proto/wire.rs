//! The fields of a protobuf message, one level at a time.

#![warn(clippy::indexing_slicing)]

use prost::DecodeError;
use prost::bytes::Buf as _;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// What stands in a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Double(f64),
    Bytes(&'a [u8]),
    /// A wire type that the schema does not use. A group is passed whole.
    Other,
}

/// Passes over the fields of a message without looking into their payloads. Ends at the first error.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Payload<'a>), DecodeError> {
        let (number, wire_type) = decode_key(&mut self.rest)?;
        let start = self.rest;
        // The only recursion is over groups, and prost bounds it.
        skip_field(wire_type, number, &mut self.rest, DecodeContext::default())?;
        let (mut passed, _) = start.split_at(start.len() - self.rest.len());
        let payload = match wire_type {
            WireType::Varint => Payload::Varint(decode_varint(&mut passed)?),
            WireType::SixtyFourBit => Payload::Double(passed.get_f64_le()),
            WireType::LengthDelimited => {
                decode_varint(&mut passed)?;
                Payload::Bytes(passed)
            }
            WireType::StartGroup | WireType::EndGroup | WireType::ThirtyTwoBit => Payload::Other,
        };
        Ok((number, payload))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Payload<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(message: &[u8]) -> Result<Vec<(u32, Payload<'_>)>, DecodeError> {
        Fields::new(message).collect()
    }

    #[test]
    fn every_wire_type() {
        let mut message = vec![0x08, 0x96, 0x01, 0x11];
        message.extend(1.5f64.to_le_bytes());
        message.extend([0x1A, 2, b'h', b'i', 0x25, 1, 2, 3, 4, 0x2B, 0x08, 7, 0x33, 0x34, 0x2C, 0x12, 0]);
        let found = fields(&message).unwrap();
        assert_eq!(
            found,
            [
                (1, Payload::Varint(150)),
                (2, Payload::Double(1.5)),
                (3, Payload::Bytes(b"hi")),
                (4, Payload::Other),
                (5, Payload::Other),
                (2, Payload::Bytes(b"")),
            ]
        );
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (what, message) in [
            ("field number zero", vec![0x00, 0x01]),
            ("a varint that does not end", vec![0x08, 0xFF]),
            ("a varint of eleven bytes", [vec![0x08], vec![0xFF; 11]].concat()),
            ("a double cut short", vec![0x11, 0, 0, 0]),
            ("bytes cut short", vec![0x1A, 3, b'h']),
            ("a length beyond any buffer", [vec![0x1A], vec![0xFF; 9], vec![0x01]].concat()),
            ("an open group", vec![0x2B, 0x08, 7]),
            ("a group closed by another", vec![0x2B, 0x34]),
            ("a group closed twice", vec![0x2B, 0x2C, 0x2C]),
            ("groups without end", vec![0x2B; 1 << 20]),
            ("a wire type that does not exist", vec![0x0E]),
        ] {
            let mut found = Fields::new(&message);
            assert!(found.any(|field| field.is_err()), "{what}");
            assert_eq!(found.next(), None, "{what}");
        }
    }
}
