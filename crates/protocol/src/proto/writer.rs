//! Writes the JSON of an event from its binary form.

use super::decode::DecodeError;
use super::to_json;
use super::trail::{Step, Trail};
use super::value::{Struct, Value, WireMessage};
use crate::json::{Text, write_string};
use prost::Message;

/// JSON in the making.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) json: String,
    pub(super) trail: Trail,
    /// How long the JSON may get.
    pub(super) json_bytes_max: usize,
}

/// A value of the binary form that JSON has a place for.
pub(super) trait ToJson {
    /// Whether there is nothing to write: a field that is not there, or a oneof without an arm that 1.0 has.
    fn is_absent(&self) -> bool {
        false
    }

    fn write(&self, out: &mut Writer) -> Result<(), DecodeError>;
}

impl Writer {
    /// Writes an object. Its members are followed by a comma each; the last one's makes way for the brace.
    pub(super) fn object(
        &mut self,
        members: impl FnOnce(&mut Self) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.json.push('{');
        members(self)?;
        self.close('}');
        Ok(())
    }

    /// Writes a member, unless it is absent.
    pub(super) fn member(&mut self, key: &'static str, value: &impl ToJson) -> Result<(), DecodeError> {
        if value.is_absent() { Ok(()) } else { self.always(key, value) }
    }

    /// Writes a member, even if it is an empty list.
    pub(super) fn always(&mut self, key: &'static str, value: &impl ToJson) -> Result<(), DecodeError> {
        self.key(key);
        self.trail.enter(Step::Member(key));
        value.write(self)?;
        self.trail.leave();
        self.json.push(',');
        Ok(())
    }

    /// Writes a member that is a string.
    pub(super) fn string(&mut self, key: &'static str, text: &str) {
        self.key(key);
        write_string(&mut self.json, &Text::borrowed(text));
        self.json.push(',');
    }

    fn check_length(&self) -> Result<(), DecodeError> {
        let limit = self.json_bytes_max;
        if self.json.len() > limit { Err(DecodeError::TooLong { limit }) } else { Ok(()) }
    }

    fn key(&mut self, key: &'static str) {
        self.json.push('"');
        self.json.push_str(key);
        self.json.push_str("\":");
    }

    fn close(&mut self, bracket: char) {
        if self.json.ends_with(',') {
            self.json.pop();
        }
        self.json.push(bracket);
    }

    fn opaque_error(&self, error: to_json::Error) -> DecodeError {
        let pointer = self.trail.pointer();
        match error {
            to_json::Error::TooDeep => DecodeError::TooDeep { pointer },
            to_json::Error::NotFinite => DecodeError::NotFinite { pointer },
            to_json::Error::Utf8 => DecodeError::Utf8 { pointer },
            to_json::Error::Wire(error) => DecodeError::wire(error),
        }
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        self.as_ref().map_or(Ok(()), |value| value.write(out))
    }
}

/// Elements that are absent are left out, and that is noted.
impl<M: Message + Default + ToJson> ToJson for Vec<WireMessage<M>> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.json.push('[');
        for (index, element) in self.iter().enumerate() {
            out.trail.enter(Step::Element(index));
            let element = element.open().map_err(DecodeError::wire)?;
            if element.is_absent() {
                out.trail.note();
            } else {
                element.write(out)?;
                out.json.push(',');
            }
            out.check_length()?;
            out.trail.leave();
        }
        out.close(']');
        Ok(())
    }
}

impl ToJson for Vec<String> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.json.push('[');
        for element in self {
            element.write(out)?;
            out.json.push(',');
        }
        out.close(']');
        Ok(())
    }
}

impl ToJson for String {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        write_string(&mut out.json, &Text::from(self));
        Ok(())
    }
}

impl ToJson for i64 {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.json.push_str(&self.to_string());
        Ok(())
    }
}

impl ToJson for bool {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.json.push_str(if *self { "true" } else { "false" });
        Ok(())
    }
}

impl ToJson for Value {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        self.write_json(&mut out.json).map_err(|error| out.opaque_error(error))
    }
}

impl ToJson for Struct {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        self.write_json(&mut out.json).map_err(|error| out.opaque_error(error))
    }
}
