//! Our protocol crate against the published packages, in both directions.

mod consume;
mod enforce;
mod fold;
mod protobuf;
mod schema;
mod sse;
mod translate;

use serde_json::Value;

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

fn parse(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}
