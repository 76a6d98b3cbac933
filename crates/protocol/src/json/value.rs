//! JSON that the protocol carries without looking inside: the exact text of a value.

use super::{Reader, Text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// Any JSON value, `null` included, as its exact text: number spelling, key order and escapes are kept.
///
/// Equality is equality of the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json<'a>(Cow<'a, str>);

/// Any JSON value but `null`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonNonNull<'a>(Json<'a>);

/// A JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonObject<'a>(Json<'a>);

/// A text that is not the JSON it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct NotJson {
    message: String,
}

impl NotJson {
    fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string() }
    }
}

impl<'a> Json<'a> {
    /// `null`.
    pub const NULL: Json<'static> = Json(Cow::Borrowed("null"));

    /// `{}`.
    pub const EMPTY_OBJECT: Json<'static> = Json(Cow::Borrowed("{}"));

    /// Takes a JSON text. Whitespace around it is left out.
    ///
    /// # Errors
    /// If it is not one JSON value.
    pub fn parse(text: &'a str) -> Result<Self, NotJson> {
        let mut reader = Reader::new(text);
        let value = reader.value().and_then(|value| reader.end().map(|()| value));
        value.map(Self::trusted).map_err(NotJson::new)
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// If it cannot be written as JSON, such as a map whose keys are no strings.
    pub fn from_serialize(value: &impl Serialize) -> Result<Json<'static>, NotJson> {
        serde_json::to_string(value).map(|text| Json(Cow::Owned(text))).map_err(NotJson::new)
    }

    /// Takes a text that the reader has passed.
    pub(crate) const fn trusted(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Takes a text that this crate has written.
    pub(crate) const fn made(text: String) -> Json<'static> {
        Json(Cow::Owned(text))
    }

    /// The exact text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == "null"
    }

    /// The string that this is, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<Text<'_>> {
        self.reader().string().ok()
    }

    /// Reads the value into a type of the caller's.
    ///
    /// # Errors
    /// If the type does not fit, or if serde_json refuses what JSON allows: lone surrogates, and nesting deeper
    /// than 128.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, NotJson> {
        serde_json::from_str(&self.0).map_err(NotJson::new)
    }

    /// The same value, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Json<'static> {
        Json(Cow::Owned(self.0.into_owned()))
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.0)
    }

    fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<serde_json::Value> for Json<'static> {
    fn from(value: serde_json::Value) -> Self {
        Self::made(value.to_string())
    }
}

impl<'a> JsonNonNull<'a> {
    /// The value.
    #[must_use]
    pub const fn as_json(&self) -> &Json<'a> {
        &self.0
    }

    /// The same value, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> JsonNonNull<'static> {
        JsonNonNull(self.0.into_owned())
    }
}

impl<'a> TryFrom<Json<'a>> for JsonNonNull<'a> {
    type Error = NotJson;

    fn try_from(value: Json<'a>) -> Result<Self, NotJson> {
        if value.is_null() { Err(NotJson::new("null has no place here")) } else { Ok(Self(value)) }
    }
}

impl<'a> From<JsonObject<'a>> for JsonNonNull<'a> {
    fn from(object: JsonObject<'a>) -> Self {
        Self(object.0)
    }
}

impl<'a> JsonObject<'a> {
    /// One without members.
    pub const EMPTY: JsonObject<'static> = JsonObject(Json::EMPTY_OBJECT);

    /// The object as a value.
    #[must_use]
    pub const fn as_json(&self) -> &Json<'a> {
        &self.0
    }

    /// The members in the order they were written. Of duplicate keys the last value stands, at the first one's
    /// place.
    #[must_use]
    pub fn members(&self) -> Vec<(Text<'_>, Json<'_>)> {
        let mut members: Vec<(Text<'_>, Json<'_>)> = Vec::new();
        let mut seen = std::collections::HashMap::new();
        let mut reader = self.0.reader();
        let mut first = true;
        reader.open();
        while let Ok(Some(key)) = reader.next_key(&mut first) {
            // Cannot fail: the text was passed by a reader before.
            let Ok(value) = reader.value() else { break };
            let value = Json::trusted(value);
            match seen.get(&key) {
                Some(&at) => {
                    let (_, earlier): &mut (Text<'_>, Json<'_>) = &mut members[at];
                    *earlier = value;
                }
                None => {
                    seen.insert(key.clone(), members.len());
                    members.push((key, value));
                }
            }
        }
        members
    }

    /// An object of these members, in this order.
    pub(crate) fn from_members(members: &[(Text<'_>, Json<'_>)]) -> JsonObject<'static> {
        let mut out = String::from("{");
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            super::write_string(&mut out, key);
            out.push(':');
            out.push_str(value.as_str());
        }
        out.push('}');
        JsonObject(Json::made(out))
    }

    /// The same object, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> JsonObject<'static> {
        JsonObject(self.0.into_owned())
    }
}

impl<'a> TryFrom<Json<'a>> for JsonObject<'a> {
    type Error = NotJson;

    fn try_from(value: Json<'a>) -> Result<Self, NotJson> {
        if value.is_object() { Ok(Self(value)) } else { Err(NotJson::new("expected a JSON object")) }
    }
}

impl From<serde_json::Map<String, serde_json::Value>> for JsonObject<'static> {
    fn from(object: serde_json::Map<String, serde_json::Value>) -> Self {
        Self(serde_json::Value::Object(object).into())
    }
}
