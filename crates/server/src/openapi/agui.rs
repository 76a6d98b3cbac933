//! What AG-UI says about bodies. Members and roles that it does not know are taken, kept and passed on.

use super::shapes::{frame, id, list, named, nullable, object, text, word};
use crate::stream::{PROTOBUF, SSE};
use serde_json::{Value, json};

/// The request of a run.
pub(crate) fn input() -> Value {
    let context = object(&[("description", text()), ("value", text())], &[]);
    let answer = object(
        &[("interruptId", text()), ("status", word(&["resolved", "cancelled"]))],
        &[("payload", something()), ("metadata", anything())],
    );
    let required = [("threadId", id()), ("runId", id()), ("messages", list(message()))];
    let optional = [
        ("protocolVersion", text()),
        ("parentRunId", text()),
        ("state", json!({})),
        ("tools", list(tool())),
        ("context", list(context)),
        ("forwardedProps", something()),
        ("resume", list(answer)),
    ];
    named("RunAgentInput", object(&required, &optional))
}

/// The part of it that routes need which start nothing.
pub(crate) fn thread_and_run() -> Value {
    let optional =
        [("runId", nullable(id())), ("protocolVersion", nullable(text())), ("forwardedProps", json!({}))];
    named("ThreadAndRun", object(&[("threadId", id())], &optional))
}

/// An event.
pub(crate) fn event() -> Value {
    named("Event", object(&[("type", text())], &[]))
}

/// Answers that are a stream of events, in either form.
pub(crate) fn events() -> [(&'static str, Value); 2] {
    [(SSE, frame(event())), (PROTOBUF, json!({}))]
}

/// A message of a thread.
pub(crate) fn message() -> Value {
    let plain = |role| said_by(role, &[("content", text())], &[("name", text())]);
    let call = object(
        &[
            ("id", text()),
            ("type", word(&["function"])),
            ("function", object(&[("name", text()), ("arguments", text())], &[])),
        ],
        &[("encryptedValue", text()), ("metadata", anything())],
    );
    let activity = variant(
        "role",
        "activity",
        &[("id", text()), ("activityType", text()), ("content", anything())],
        &[("metadata", anything()), ("subagentRunId", text())],
    );
    let roles = [
        plain("developer"),
        plain("system"),
        said_by("assistant", &[], &[("content", text()), ("toolCalls", list(call)), ("name", text())]),
        said_by("user", &[("content", content())], &[("name", text())]),
        said_by("tool", &[("toolCallId", text()), ("content", content())], &[("error", text())]),
        activity,
        said_by("reasoning", &[("content", text())], &[]),
    ];
    named("Message", json!({ "oneOf": roles }))
}

/// A message with what those of nearly every role have.
fn said_by(role: &str, required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let all = [("encryptedValue", text()), ("metadata", anything()), ("subagentRunId", text())];
    variant("role", role, &[&[("id", text())], required].concat(), &[optional, &all].concat())
}

fn tool() -> Value {
    object(
        &[("name", text()), ("description", text())],
        &[("parameters", something()), ("metadata", anything())],
    )
}

/// A text, or parts.
fn content() -> Value {
    let optional = [("id", text()), ("metadata", something())];
    let source = json!({ "oneOf": [
        variant("type", "data", &[("value", text()), ("mimeType", text())], &[]),
        variant("type", "url", &[("value", text())], &[("mimeType", text())]),
        variant("type", "file", &[("value", text())], &[("provider", text()), ("mimeType", text())]),
    ] });
    let mut parts = vec![variant("type", "text", &[("text", text())], &optional)];
    for media in ["image", "audio", "video", "document"] {
        parts.push(variant("type", media, &[("source", source.clone())], &optional));
    }
    let part = named("ContentPart", json!({ "oneOf": parts }));
    named("Content", json!({ "anyOf": [text(), list(part)] }))
}

/// One of several objects that are told apart by a word.
fn variant(key: &str, value: &str, required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let tag = (key, json!({ "const": value }));
    object(&[&[tag], required].concat(), optional)
}

/// Any object.
fn anything() -> Value {
    json!({ "type": "object" })
}

/// Any JSON but null.
fn something() -> Value {
    json!({ "type": ["object", "array", "string", "number", "boolean"] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use threadline_testkit::tables::{Fields, INPUT, Kind};

    /// Whether a schema says what a table says.
    fn check(schema: &Value, kind: Kind, place: &str) {
        match kind {
            Kind::Object(fields) => check_fields(schema, fields, None, place),
            Kind::List(of, _) => check(&schema["items"], *of, &format!("{place}/*")),
            Kind::Union(key, variants) => {
                let all = schema["oneOf"].as_array().unwrap_or_else(|| panic!("{place}: {schema}"));
                assert_eq!(all.len(), variants.len(), "{place}");
                for (schema, (word, fields)) in all.iter().zip(variants) {
                    assert_eq!(schema["properties"][key]["const"], *word, "{place}");
                    check_fields(schema, fields, Some(key), &format!("{place}/{word}"));
                }
            }
            Kind::Word(words) => assert_eq!(schema["enum"], json!(words), "{place}"),
            Kind::Text => assert_eq!(schema["type"], "string", "{place}"),
            Kind::AnyObject => assert_eq!(schema, &anything(), "{place}"),
            // A null state is as good as none.
            Kind::NonNull if place == "/state" => assert_eq!(schema, &json!({}), "{place}"),
            Kind::NonNull => assert_eq!(schema, &something(), "{place}"),
            Kind::Content => assert_eq!(schema, &content(), "{place}"),
            other => panic!("{place}: {other:?}"),
        }
    }

    fn check_fields(schema: &Value, fields: Fields, tag: Option<&str>, place: &str) {
        let names = |value: Vec<&str>| value.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{place}: {schema}"));
        let all = fields.iter().map(|(name, ..)| *name).chain(tag).collect();
        assert_eq!(names(properties.keys().map(String::as_str).collect()), names(all), "{place}");
        let required = schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let must = fields.iter().filter(|(.., must)| *must).map(|(name, ..)| *name).chain(tag).collect();
        assert_eq!(names(required.collect()), names(must), "{place}");
        for (name, kind, _) in fields {
            check(&properties[*name], *kind, &format!("{place}/{name}"));
        }
    }

    #[test]
    fn the_schema_of_a_request_says_what_the_protocol_says() {
        check(&input(), Kind::Object(INPUT), "");
    }
}
