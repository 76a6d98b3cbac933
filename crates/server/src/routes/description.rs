//! The body of `PATCH /v1/threads/{thread}`: what is said about a thread.

use crate::error::Refusal;
use crate::input::pointer;
use crate::openapi::shapes;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use threadline_log::thread::{Metadata, MetadataChange};

/// The longest name of a thread, and the longest value of a label, in bytes.
const TEXT_BYTES_MAX: usize = 1_024;
/// The longest name of a label, in bytes.
const LABEL_BYTES_MAX: usize = 256;
/// The most labels of a thread.
const LABELS_MAX: usize = 64;
/// What labels begin with that are not for users.
const RESERVED: &str = "threadline:";

/// What [`read`] reads. Limits are in bytes of UTF-8.
pub(super) fn schema() -> Value {
    let text = json!({ "type": "string", "maxLength": TEXT_BYTES_MAX });
    let labels = json!({
        "type": "object",
        "propertyNames": { "maxLength": LABEL_BYTES_MAX, "pattern": format!("^(?!{RESERVED})") },
        "additionalProperties": shapes::nullable(text.clone()),
        "maxProperties": LABELS_MAX,
    });
    let members = [("name", text), ("archived", shapes::flag()), ("labels", labels)];
    shapes::named("ThreadChange", shapes::closed(shapes::object(&[], &members)))
}

/// Reads a change. What is absent stays.
pub(super) fn read(body: &Bytes) -> Result<MetadataChange, Refusal> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| Refusal::input("", format!("not JSON: {error}")))?;
    let Value::Object(members) = body else { return Err(Refusal::input("", "expected an object")) };
    let mut change = MetadataChange::default();
    for (name, value) in members {
        match (name.as_str(), value) {
            ("name", Value::String(name)) => change.name = Some(text("/name", name)?),
            ("name", _) => return Err(Refusal::input("/name", "expected a string")),
            ("archived", Value::Bool(archived)) => change.archived = Some(archived),
            ("archived", _) => return Err(Refusal::input("/archived", "expected true or false")),
            ("labels", Value::Object(labels)) => change.labels = read_labels(labels)?,
            ("labels", _) => return Err(Refusal::input("/labels", "expected an object")),
            _ => return Err(Refusal::input(&pointer(&[&name]), "unknown member")),
        }
    }
    Ok(change)
}

fn read_labels(labels: Map<String, Value>) -> Result<BTreeMap<String, Option<String>>, Refusal> {
    let mut read = BTreeMap::new();
    for (label, value) in labels {
        let place = pointer(&["labels", &label]);
        if label.starts_with(RESERVED) {
            return Err(Refusal::input(&place, format!("labels that begin with {RESERVED} are reserved")));
        }
        if label.len() > LABEL_BYTES_MAX {
            let message = format!("the label is too long. bytes={}, max={LABEL_BYTES_MAX}", label.len());
            return Err(Refusal::input(&place, message));
        }
        let value = match value {
            Value::String(value) => Some(text(&place, value)?),
            Value::Null => None,
            _ => return Err(Refusal::input(&place, "expected a string, or null to remove it")),
        };
        read.insert(label, value);
    }
    Ok(read)
}

fn text(pointer: &str, text: String) -> Result<String, Refusal> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("too long. bytes={}, max={TEXT_BYTES_MAX}", text.len());
        return Err(Refusal::input(pointer, message));
    }
    Ok(text)
}

/// Whether a thread would not have too many labels afterwards.
pub(super) fn check_count(metadata: &Metadata, change: &MetadataChange) -> Result<(), Refusal> {
    let mut after = metadata.clone();
    after.apply(change);
    if after.labels.len() > LABELS_MAX && after.labels.len() > metadata.labels.len() {
        let message = format!("too many labels. count={}, max={LABELS_MAX}", after.labels.len());
        return Err(Refusal::input("/labels", message));
    }
    Ok(())
}
