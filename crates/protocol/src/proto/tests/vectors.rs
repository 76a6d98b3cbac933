//! What the reference makes of events, and events of all kinds there and back.
//!
//! `testdata/proto-1.0.0.jsonl` was recorded from the npm packages 1.0.0: an event, the bytes that they encode it as,
//! and the event that they decode those as. Every type is there twice, with as little and with as much as it may hold.

use super::build::json_of;
use crate::event::{EventType, Received};
use crate::proto::encode;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use threadline_testkit::any_event;
use threadline_testkit::random::Random;

#[derive(Deserialize)]
struct Vector {
    event: String,
    hex: String,
    decoded: Value,
}

fn vectors() -> impl Iterator<Item = Vector> {
    let lines = include_str!("../../../testdata/proto-1.0.0.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("a vector a line"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn the_reference_encodes_the_same_bytes_and_decodes_the_same_event() {
    let mut types = BTreeSet::new();
    for vector in vectors() {
        let received = Received::read(&vector.event).unwrap();
        types.insert(received.event().event_type().unwrap());
        let encoded = encode(received.event()).unwrap();
        assert_eq!(hex(&encoded.bytes), vector.hex, "{}", vector.event);

        let mut decoded = vector.decoded;
        // The reference makes this up. See the module's documentation.
        if let Some(Value::Object(input)) = decoded.get_mut("input")
            && input.get("resume") == Some(&json!([]))
        {
            input.remove("resume");
        }
        let (ours, dropped) = json_of(&encoded.bytes).unwrap();
        assert_eq!((value(&ours), dropped), (decoded, vec![]), "{}", vector.hex);
    }
    assert_eq!(types.len(), EventType::ALL.len());
}

/// What the binary form makes of lists that are empty or absent.
fn with_the_lists_of_the_binary_form(event: &mut Value) {
    match event {
        Value::Object(object) => {
            for list in ["toolCalls", "usage", "pendingToolCallIds", "interruptIds", "resume"] {
                if object.get(list) == Some(&json!([])) {
                    object.remove(list);
                }
            }
            if let Some(Value::Object(input)) = object.get_mut("input") {
                input.entry("tools").or_insert_with(|| json!([]));
                input.entry("context").or_insert_with(|| json!([]));
            }
            object.values_mut().for_each(with_the_lists_of_the_binary_form);
        }
        Value::Array(array) => array.iter_mut().for_each(with_the_lists_of_the_binary_form),
        _ => {}
    }
}

proptest! {
    #[test]
    fn any_event_survives(seed: u64) {
        let mut event = any_event(&mut Random::new(seed));
        let json = event.to_string();
        let encoded = encode(Received::read(&json).unwrap().event()).unwrap();
        prop_assert_eq!(encoded.lost, Vec::<String>::new());

        let (json, dropped) = json_of(&encoded.bytes).unwrap();
        with_the_lists_of_the_binary_form(&mut event);
        prop_assert_eq!((value(&json), dropped), (event, vec![]));

        // It is written as our own writer writes it.
        let received = Received::read(&json).unwrap();
        prop_assert_eq!(received.event().to_json(), json.as_str());
        prop_assert_eq!(received.departures(), []);
        prop_assert_eq!(encode(received.event()).unwrap().bytes, encoded.bytes);
    }
}
