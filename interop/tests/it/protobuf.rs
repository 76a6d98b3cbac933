//! Our protobuf is that of the reference, in both directions.

use crate::schema::events;
use crate::{as_javascript, parse, text, to_hex, with_lists};
use serde_json::{Value, json};
use threadline_interop::peer::Peer;
use threadline_protocol::Received;
use threadline_protocol::proto::{Decoded, decode, encode};

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().map(|digit| digit.to_digit(16).expect("hexadecimal")).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).expect("a byte")).collect()
}

/// What the binary form does to an event: empty lists go, those of a request come, and so does `resume` with the
/// reference, where it was never sent.
fn as_carried(mut event: Value) -> Value {
    if let Value::Object(event) = &mut event {
        remove_empty(event, &["usage"]);
        if let Some(Value::Object(outcome)) = event.get_mut("outcome") {
            remove_empty(outcome, &["pendingToolCallIds", "interruptIds"]);
        }
        for messages in
            [event.get("messages").cloned(), event.get("input").map(|input| input["messages"].clone())]
        {
            let Some(Value::Array(mut messages)) = messages else { continue };
            for message in messages.iter_mut().filter_map(Value::as_object_mut) {
                remove_empty(message, &["toolCalls"]);
            }
            match event.get_mut("input") {
                Some(input) => input["messages"] = messages.into(),
                None => event["messages"] = messages.into(),
            }
        }
        if let Some(Value::Object(input)) = event.get_mut("input") {
            remove_empty(input, &["resume"]);
        }
    }
    as_javascript(&with_lists(event))
}

fn remove_empty(object: &mut serde_json::Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if object.get(*key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            object.remove(*key);
        }
    }
}

/// Whether JavaScript would put keys in another order than they are written in.
fn has_integer_key(value: &Value) -> bool {
    match value {
        Value::Array(array) => array.iter().any(has_integer_key),
        Value::Object(object) => {
            object.iter().any(|(key, value)| key.parse::<u32>().is_ok() || has_integer_key(value))
        }
        _ => false,
    }
}

#[test]
fn both_write_the_same_and_read_each_other() {
    let events = events();
    let ours: Vec<Vec<u8>> = events
        .iter()
        .map(|event| {
            let json = event.to_string();
            let encoded = encode(Received::read(&json).expect("an event of 1.0").event())
                .expect("protobuf carries 1.0");
            assert!(encoded.lost.is_empty(), "{:?} of {json}", encoded.lost);
            encoded.bytes
        })
        .collect();

    let questions: Vec<Value> =
        events.iter().map(|event| json!({"op": "encode", "json": event.to_string()})).collect();
    let mut identical = 0;
    for ((event, ours), answer) in events.iter().zip(&ours).zip(Peer::Node.ask(&questions)) {
        let theirs = from_hex(text(&answer["hex"]));
        if *ours == theirs {
            identical += 1;
        } else {
            assert!(
                has_integer_key(event),
                "bytes differ for {event}\nours   {}\ntheirs {}",
                to_hex(ours),
                to_hex(&theirs)
            );
        }
        let Ok(Decoded::Event { event: decoded, dropped }) = decode(&theirs) else {
            panic!("cannot decode {event}")
        };
        assert_eq!(dropped, [""; 0]);
        assert_eq!(as_carried(parse(decoded.json())), as_carried(event.clone()));
    }
    assert!(identical > events.len() * 3 / 4, "only {identical} of {} were identical", events.len());

    let questions: Vec<Value> =
        ours.iter().map(|bytes| json!({"op": "decode", "hex": to_hex(bytes)})).collect();
    for (event, answer) in events.iter().zip(Peer::Node.ask(&questions)) {
        assert_eq!(answer["ok"], true, "{event}: {answer}");
        assert_eq!(as_carried(parse(text(&answer["json"]))), as_carried(event.clone()));
    }
}
