//! Every event of 1.0 is read without departures and written back the same.

use proptest::prelude::*;
use serde_json::Value;
use threadline_protocol::capabilities::AgentCapabilities;
use threadline_protocol::{EventType, Received, RunAgentInput};
use threadline_testkit::fill::Fill;
use threadline_testkit::random::Random;
use threadline_testkit::{any_event, capabilities, event, input, tables};

/// The event survives reading and writing, and what was written is read as the same event.
fn assert_survives(event: &Value) {
    let json = event.to_string();
    let received = Received::read(&json).unwrap_or_else(|error| panic!("{error}\n{json}"));
    assert_eq!(received.departures(), [], "{json}");
    assert_eq!(received.json(), json);
    assert_eq!(received.event().type_name(), *event["type"].as_str().expect("events have a type"));
    let written = received.event().to_json();
    assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), *event, "{written}");
    let again = Received::read(&written).expect("what we write can be read");
    assert_eq!(again.event(), received.event());
    assert_eq!(received.clone().into_owned(), received);
}

#[test]
fn the_tables_and_the_types_name_the_same_events() {
    let mut ours: Vec<&str> = EventType::ALL.iter().map(|event_type| event_type.as_str()).collect();
    let mut theirs: Vec<&str> = tables::EVENTS.iter().map(|(name, _)| *name).collect();
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
    assert_eq!(ours.len(), 31);
}

#[test]
fn minimal_and_full_events_survive() {
    for (name, _) in tables::EVENTS {
        assert_survives(&event(name, &mut Fill::Minimal));
        for member in 0..7 {
            assert_survives(&event(name, &mut Fill::Full(member)));
        }
    }
}

#[test]
fn minimal_and_full_documents_survive() {
    for mut fill in [Fill::Minimal, Fill::Full(0)] {
        let value = input(&mut fill);
        let json = value.to_string();
        let (read, departures) = RunAgentInput::read_json(&json).unwrap();
        assert_eq!((serde_json::from_str::<Value>(&read.to_json()).unwrap(), departures), (value, vec![]));

        let value = capabilities(&mut fill);
        let json = value.to_string();
        let (read, departures) = AgentCapabilities::read_json(&json).unwrap();
        assert_eq!((serde_json::from_str::<Value>(&read.to_json()).unwrap(), departures), (value, vec![]));
    }
}

/// Each required field is missed by name, wherever it is missing.
#[test]
fn what_is_required_is_missed() {
    for (name, fields) in tables::EVENTS {
        for (field, _, required) in *fields {
            let mut event = event(name, &mut Fill::Full(0));
            event.as_object_mut().unwrap().remove(*field);
            let json = event.to_string();
            let result = Received::read(&json);
            assert_eq!(result.is_err(), *required, "{name} without {field}");
            if let Err(error) = result {
                assert!(error.to_string().contains(&format!("missing field {field}")), "{error}");
                assert!(!error.is_unreadable());
            }
        }
    }
}

proptest! {
    #[test]
    fn any_event_survives(seed: u64) {
        assert_survives(&any_event(&mut Random::new(seed)));
    }
}
