//! Messages that are held as their bytes: `google.protobuf.Value` and `google.protobuf.Struct`, which are any JSON,
//! and the elements of lists.

use super::{from_json, to_json};
use crate::json::{Json, JsonObject};
use prost::bytes::{Buf, BufMut};
use prost::encoding::{
    DecodeContext, WireType, bytes, encode_key, encode_varint, fixed32, fixed64, skip_field, uint64,
};
use prost::{DecodeError, Message};
use std::marker::PhantomData;

/// A message that is not taken apart while it is decoded: its fields, in the order they came. Fields of a message
/// that is given twice follow each other, which is how protobuf merges. `Kind` is a message of the schema, or one of
/// the marks below.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct WireMessage<Kind> {
    fields: Vec<u8>,
    kind: PhantomData<Kind>,
}

/// `google.protobuf.Value`.
pub(crate) type Value = WireMessage<AnyValue>;

/// `google.protobuf.Struct`.
pub(crate) type Struct = WireMessage<AnyObject>;

/// Marks a [`Value`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AnyValue;

/// Marks a [`Struct`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AnyObject;

impl<Kind> WireMessage<Kind> {
    const fn new(fields: Vec<u8>) -> Self {
        Self { fields, kind: PhantomData }
    }
}

impl<M: Message + Default> WireMessage<M> {
    /// Of a message of the schema.
    pub(super) fn closed(message: &M) -> Self {
        Self::new(message.encode_to_vec())
    }

    /// The message of the schema that it is.
    pub(super) fn open(&self) -> Result<M, DecodeError> {
        M::decode(self.fields.as_slice())
    }
}

impl Value {
    /// From JSON. Also whether it says all of it: lone surrogates it cannot.
    pub(super) fn from_json(json: &Json<'_>) -> Result<(Self, bool), from_json::Error> {
        let (fields, whole) = from_json::value(json)?;
        Ok((Self::new(fields), whole))
    }

    pub(super) fn write_json(&self, out: &mut String) -> Result<(), to_json::Error> {
        to_json::write_value(&self.fields, out)
    }
}

impl Struct {
    /// From JSON. Also whether it says all of it: lone surrogates it cannot.
    pub(super) fn from_json(json: &JsonObject<'_>) -> Result<(Self, bool), from_json::Error> {
        let (fields, whole) = from_json::object(json)?;
        Ok((Self::new(fields), whole))
    }

    pub(super) fn write_json(&self, out: &mut String) -> Result<(), to_json::Error> {
        to_json::write_object(&self.fields, out)
    }
}

impl<Kind: Send + Sync> Message for WireMessage<Kind> {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.fields);
    }

    fn merge_field(
        &mut self,
        number: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match wire_type {
            WireType::Varint => {
                let mut value = 0;
                uint64::merge(wire_type, &mut value, buf, ctx)?;
                uint64::encode(number, &value, &mut self.fields);
            }
            WireType::SixtyFourBit => {
                let mut value = 0;
                fixed64::merge(wire_type, &mut value, buf, ctx)?;
                fixed64::encode(number, &value, &mut self.fields);
            }
            WireType::ThirtyTwoBit => {
                let mut value = 0;
                fixed32::merge(wire_type, &mut value, buf, ctx)?;
                fixed32::encode(number, &value, &mut self.fields);
            }
            WireType::LengthDelimited => {
                let mut payload = Vec::new();
                bytes::merge(wire_type, &mut payload, buf, ctx)?;
                encode_key(number, wire_type, &mut self.fields);
                encode_varint(payload.len() as u64, &mut self.fields);
                self.fields.append(&mut payload);
            }
            // No JSON is in there.
            WireType::StartGroup | WireType::EndGroup => skip_field(wire_type, number, buf, ctx)?,
        }
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.fields.len()
    }

    fn clear(&mut self) {
        self.fields.clear();
    }
}
