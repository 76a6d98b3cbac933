//! What the reference packages, version 1.0.0, make of thirty streams.

use serde_json::Value;
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::expand::Expander;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::verify::{Options, Verifier, Violation};
use threadline_protocol::{Event, Received};

/// Recorded from `@ag-ui/client`: one stream a line, and its way through each stage.
const ORACLE: &str = include_str!("../data/oracle-1.0.0.jsonl");

fn streams() -> impl Iterator<Item = Value> {
    ORACLE.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

fn events(stream: &Value) -> Vec<Event<'static>> {
    let input = stream["input"].as_array().expect("a list of events").iter();
    input
        .map(|event| {
            Received::read_owned(event.to_string()).expect("an event of 1.0, or none of ours").into_event()
        })
        .collect()
}

#[test]
fn chunks_become_the_same_events() {
    for stream in streams() {
        let mut expander = Expander::new();
        let mut out: Vec<Value> = Vec::new();
        for event in events(&stream) {
            let expanded = expander.expand(&event).unwrap();
            out.extend(expanded.iter().map(|event| serde_json::from_str::<Value>(&event.to_json()).unwrap()));
        }
        assert_eq!(stream["chunks"]["error"], Value::Null);
        assert_eq!(Value::from(out), stream["chunks"]["out"], "{}", stream["name"]);
    }
}

#[test]
fn the_same_events_are_accepted() {
    for stream in streams() {
        let mut verifier = Verifier::new(Options::new());
        let events = events(&stream);
        let accepted =
            events.iter().take_while(|event| !verifier.check(event).iter().any(Violation::is_error)).count();
        assert_eq!(stream["verify"]["accepted"], accepted, "{}", stream["name"]);
        assert_eq!(stream["verify"]["error"].is_null(), accepted == events.len(), "{}", stream["name"]);
    }
}

#[test]
fn consumers_end_and_hold_the_same() {
    for stream in streams() {
        let mut consumer = Consumer::new(Fold::new());
        let mut events = stream["input"].as_array().expect("a list of events").iter();
        let failed = events.any(|event| consumer.push(&event.to_string(), |_| {}).is_err());
        let name = &stream["name"];
        let expected = &stream["pipeline"];
        assert_eq!(failed, !expected["error"].is_null(), "{name}");
        // The reference loses events that were good when an error overtakes them.
        if !failed {
            let fold = consumer.fold();
            let messages: Value = fold
                .messages()
                .map(|message| serde_json::from_str::<Value>(&message.to_json()).unwrap())
                .collect();
            assert_eq!(messages, expected["messages"], "{name}");
            assert_eq!(fold.state().deserialize::<Value>().unwrap(), expected["state"], "{name}");
            assert_eq!(
                fold.interrupts().len(),
                expected["pendingInterrupts"].as_array().unwrap().len(),
                "{name}"
            );
        }
    }
}
