//! The pieces that schemas are made of.

use serde_json::{Map, Value, json};
use threadline_log::names::NAME_BYTES_MAX;
use threadline_log::run::RunStatus;

/// Where a schema that has a name is found in the document.
pub(super) const COMPONENTS: &str = "#/components/schemas/";

/// A schema with a name, which the document has once, however often it is said.
pub(crate) fn named(name: &str, mut schema: Value) -> Value {
    schema["title"] = name.into();
    schema
}

/// An object with members that must be there, and others that may. More may come.
pub(crate) fn object(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let members = required.iter().chain(optional);
    let properties: Map<String, Value> =
        members.map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// An object that has no other members.
pub(crate) fn closed(mut object: Value) -> Value {
    object["additionalProperties"] = false.into();
    object
}

/// A list.
pub(crate) fn list(of: Value) -> Value {
    let mut list = json!({ "type": "array" });
    list["items"] = of;
    list
}

/// Something, or null.
pub(crate) fn nullable(schema: Value) -> Value {
    json!({ "anyOf": vec![schema, json!({ "type": "null" })] })
}

/// Any text.
pub(crate) fn text() -> Value {
    json!({ "type": "string" })
}

/// One of these words.
pub(crate) fn word(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// The name of a thread, a run and the like. The limit is in bytes of UTF-8.
pub(crate) fn id() -> Value {
    json!({ "type": "string", "maxLength": NAME_BYTES_MAX })
}

/// Yes or no.
pub(crate) fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// An offset, or a number of things.
pub(crate) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX })
}

/// How many things a page has; what is more than the most is taken for the most, and 0 for 1.
pub(crate) fn limit(default: usize, most: usize) -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX, "default": default,
        "description": format!("{most} at most") })
}

/// Milliseconds since 1970.
pub(crate) fn time() -> Value {
    json!({ "type": "integer" })
}

/// A place in a thread.
pub(crate) fn moment() -> Value {
    json!({ "anyOf": [count(), { "type": "string", "format": "date-time" }] })
}

/// How a run is, or has ended.
pub(crate) fn status() -> Value {
    let all = [
        RunStatus::Running,
        RunStatus::Finished,
        RunStatus::Interrupted,
        RunStatus::Cancelled,
        RunStatus::Failed,
        RunStatus::Abandoned,
    ];
    word(&all.map(RunStatus::name))
}

/// Lines of JSON.
pub(crate) fn lines() -> Value {
    json!({ "type": "string", "description": "Lines, each of them JSON." })
}

/// One frame of an event stream, whose data is JSON.
pub(crate) fn frame(data: Value) -> Value {
    let mut json = json!({ "type": "string", "contentMediaType": "application/json" });
    json["contentSchema"] = data;
    object(&[("data", json)], &[("id", text())])
}
