//! Metadata, and how it merges.

use crate::json::{Json, JsonObject, NotJson, Reader};
use crate::schema::{Context, Field, ReadError};

/// Anything about an event, a message, a call, a tool, an interrupt or a resume entry: an object that is open by
/// key. The key `ag-ui` is reserved by convention.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Metadata<'a>(JsonObject<'a>);

impl<'a> Metadata<'a> {
    /// The object.
    #[must_use]
    pub const fn as_object(&self) -> &JsonObject<'a> {
        &self.0
    }

    /// Takes in later metadata: a key that it has replaces the earlier value whole, every other key stays. Keys
    /// keep their places, new ones follow.
    #[must_use]
    pub fn merged(&self, later: &Metadata<'_>) -> Metadata<'static> {
        let mut members = self.0.members();
        let places: std::collections::HashMap<_, _> =
            members.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        for (key, value) in later.0.members() {
            match places.get(&key) {
                Some(&at) => members[at].1 = value,
                None => members.push((key, value)),
            }
        }
        Metadata(JsonObject::from_members(&members))
    }

    /// Merges where both, either or none may be there.
    #[must_use]
    pub fn merge(earlier: Option<&Metadata<'_>>, later: Option<&Metadata<'_>>) -> Option<Metadata<'static>> {
        match (earlier, later) {
            (Some(earlier), Some(later)) => Some(earlier.merged(later)),
            (Some(only), None) | (None, Some(only)) => Some(only.clone().into_owned()),
            (None, None) => None,
        }
    }

    /// The same, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Metadata<'static> {
        Metadata(self.0.into_owned())
    }
}

impl<'a> From<JsonObject<'a>> for Metadata<'a> {
    fn from(object: JsonObject<'a>) -> Self {
        Self(object)
    }
}

impl<'a> TryFrom<Json<'a>> for Metadata<'a> {
    type Error = NotJson;

    fn try_from(value: Json<'a>) -> Result<Self, NotJson> {
        JsonObject::try_from(value).map(Self)
    }
}

impl<'a> Field<'a> for Metadata<'a> {
    type Owned = Metadata<'static>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        JsonObject::read(reader, context).map(Self)
    }

    fn write(&self, out: &mut String) {
        self.0.write(out);
    }

    fn into_owned(self) -> Self::Owned {
        Metadata::into_owned(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(text: &str) -> Metadata<'_> {
        Json::parse(text).unwrap().try_into().unwrap()
    }

    #[test]
    fn later_keys_win_whole_and_places_are_kept() {
        let earlier = metadata(r#"{"a":{"x":1},"b":null,"a":{"y":2}}"#);
        let merged = earlier.merged(&metadata(r#"{"c":1.0,"a":[3]}"#));
        assert_eq!(merged.as_object().as_json().as_str(), r#"{"a":[3],"b":null,"c":1.0}"#);
        assert_eq!(
            earlier.merged(&metadata("{}")).as_object().as_json().as_str(),
            r#"{"a":{"y":2},"b":null}"#
        );
    }

    #[test]
    fn what_is_absent_changes_nothing() {
        let some = metadata(r#"{"a":1}"#);
        assert_eq!(Metadata::merge(Some(&some), None), Some(some.clone().into_owned()));
        assert_eq!(Metadata::merge(None, Some(&some)), Some(some.into_owned()));
        assert_eq!(Metadata::merge(None, None), None);
    }
}
