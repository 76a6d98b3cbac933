//! The whole consumer, translate to fold: what ours holds, what the reference's holds, and where they differ.

use crate::{as_javascript, parse, text, with_lists};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use threadline_interop::peer::Peer;
use threadline_protocol::run::Interrupt;
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::{Fold, RunStatus};
use threadline_protocol::{Event, Message};

/// What is compared.
const HELD: [&str; 6] = ["failedAt", "delivered", "messages", "state", "interrupts", "pendingToolCalls"];

/// What the peer is asked about a stream.
pub(crate) fn question(events: &[String]) -> Value {
    json!({"op": "consume", "translate": true, "events": events})
}

/// What our consumer has seen when the stream ends, or when it has to give up, in the words of the peer.
pub(crate) fn ours(events: &[String]) -> Value {
    let mut consumer = Consumer::new(Fold::new());
    let mut delivered = Vec::new();
    let mut pending = Vec::new();
    let mut failed_at = None;
    for json in events {
        let mut finished = false;
        let result = consumer.push(json, |event| {
            delivered.push(with_lists(parse(&event.to_json())));
            finished |= matches!(event, Event::RunFinished(_));
        });
        if finished {
            let run = consumer.fold().runs().last().expect("a run has finished");
            // The reference gives no list for runs that were interrupted or cancelled.
            let calls = run.pending_tool_calls.iter().filter(|_| run.status == RunStatus::Success);
            pending.push(calls.map(|id| Value::from(id.to_str().into_owned())).collect());
        }
        if let Err(stop) = result {
            failed_at = Some(stop.position);
            break;
        }
    }
    let values = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| parse(&text)).collect::<Value>();
    let fold = consumer.fold();
    let held = json!({
        "failedAt": failed_at,
        "delivered": delivered,
        "messages": values(&mut fold.messages().map(Message::to_json)),
        "state": parse(fold.state().as_str()),
        "interrupts": values(&mut fold.interrupts().iter().map(Interrupt::to_json)),
        "pendingToolCalls": Value::Array(pending),
    });
    comparable(&held, events)
}

/// The same of the peer's answer.
pub(crate) fn theirs(answer: &Value, events: &[String]) -> Value {
    assert_eq!(answer["ok"], true, "{answer}");
    comparable(answer, events)
}

/// The names of what differs.
pub(crate) fn disagreements(ours: &Value, theirs: &Value) -> Vec<&'static str> {
    HELD.into_iter().filter(|what| ours[what] != theirs[what]).collect()
}

/// Whether a stream was consumed to its end.
pub(crate) fn is_accepted(answer: &Value) -> bool {
    answer["failedAt"].is_null()
}

/// Numbers as JavaScript has them, and ids that translation invented by the order of their appearance.
fn comparable(held: &Value, events: &[String]) -> Value {
    let mut names = HashMap::new();
    let value = |what| (what, with_minted_named(as_javascript(&held[what]), events, &mut names));
    HELD.map(value).into_iter().map(|(what, value)| (what.to_owned(), value)).collect()
}

/// Ids that the stream does not have were minted: random ones by the reference, derived ones by us.
fn with_minted_named(value: Value, events: &[String], names: &mut HashMap<String, usize>) -> Value {
    match value {
        Value::String(id) if is_uuid(&id) && !events.iter().any(|event| event.contains(&id)) => {
            let next = names.len();
            format!("minted {}", names.entry(id).or_insert(next)).into()
        }
        Value::Array(array) => {
            array.into_iter().map(|value| with_minted_named(value, events, names)).collect()
        }
        Value::Object(object) => {
            object.into_iter().map(|(key, value)| (key, with_minted_named(value, events, names))).collect()
        }
        other => other,
    }
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

/// The streams that the ADK middleware really sent.
#[test]
fn recorded_streams_are_consumed_alike() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/tests/data/adk");
    let mut streams: Vec<Vec<String>> = Vec::new();
    for version in ["0.6.0", "0.11.0"] {
        for entry in std::fs::read_dir(captures.join(version)).expect("the recorded streams") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&path).expect("a recorded stream");
                streams.push(text.lines().map(str::to_owned).collect());
            }
        }
    }
    assert_eq!(streams.len(), 13);
    let questions: Vec<Value> = streams.iter().map(|events| question(events)).collect();
    let mut failed = 0;
    for (events, answer) in streams.iter().zip(Peer::Node.ask(&questions)) {
        let (ours, theirs) = (ours(events), theirs(&answer, events));
        assert_eq!(ours, theirs, "\n{}", events.join("\n"));
        failed += usize::from(!is_accepted(&ours));
    }
    // Release 0.6.0 closes a failed run twice, which no client of 1.0 takes.
    assert_eq!(failed, 2);
}

#[test]
fn minted_ids_are_named_and_others_are_not() {
    let [minted, given] = ["0f8fad5b-d9cb-469f-a165-70867728950e", "123e4567-e89b-42d3-a456-426614174000"];
    let held = json!({"messages": [{"id": minted}, {"id": given}, {"id": "m"}, {"id": minted}]});
    let named = comparable(&held, &[format!(r#"{{"messageId":"{given}"}}"#)]);
    let ids: Vec<&str> = named["messages"].as_array().unwrap().iter().map(|m| text(&m["id"])).collect();
    assert_eq!(ids, ["minted 0", given, "m", "minted 0"]);
}
