//! Our protocol crate and our agents against the published packages, in both directions.

mod agent;
mod client;
mod compaction;
mod consume;
mod coverage;
mod delivery;
mod differences;
mod enforce;
mod fixtures;
mod fold;
mod protobuf;
mod schema;
mod server;
mod sse;
mod suite;
mod translate;

use serde_json::{Value, json};
use std::fmt::Write;

/// How many generated cases a test asks about. More by `THREADLINE_INTEROP_CASES`.
fn cases() -> u64 {
    std::env::var("THREADLINE_INTEROP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3_000)
}

/// The value with every number as JavaScript has it.
fn as_javascript(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(array) => array.iter().map(as_javascript).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), as_javascript(value))).collect())
        }
        other => other.clone(),
    }
}

/// The event or request with the lists that a request may leave out, and that the reference fills in.
fn with_lists(mut value: Value) -> Value {
    let input = if value.get("type").is_some() { value.get_mut("input") } else { Some(&mut value) };
    if let Some(Value::Object(input)) = input {
        input.entry("tools").or_insert(json!([]));
        input.entry("context").or_insert(json!([]));
    }
    value
}

/// The event without a state that is null in its request, which means the same.
fn without_null_state(mut event: Value) -> Value {
    if let Some(Value::Object(input)) = event.get_mut("input")
        && input.get("state") == Some(&Value::Null)
    {
        input.remove("state");
    }
    event
}

fn to_hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in bytes {
        write!(hex, "{byte:02x}").expect("writing to a string");
    }
    hex
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}
