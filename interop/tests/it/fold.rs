//! Our fold holds what the reference's reducer holds, after any events in any order.

use crate::{as_javascript, cases, parse, text};
use serde_json::{Value, json};
use threadline_interop::peer::Peer;
use threadline_protocol::Received;
use threadline_protocol::stages::fold::{Checkpoint, Fold};
use threadline_testkit::any_event;
use threadline_testkit::random::Random;

/// Few enough that events meet.
const IDS: &[&str] = &["a", "b", "c", ""];

/// Any events but chunks, which the reducer does not take, over few ids.
fn stream(random: &mut Random) -> Vec<Value> {
    let mut events = Vec::new();
    while events.len() < 25 {
        let mut event = match random.below(6) {
            0 => patch_event(random),
            1 | 2 => text_event(random),
            _ => any_event(random),
        };
        if !text(&event["type"]).ends_with("_CHUNK") && !is_patch(&event) {
            meet(&mut event, random);
            keep_apart(&mut event, events.len());
            events.push(event);
        } else if is_patch(&event) {
            events.push(patch_event(random));
        }
    }
    events
}

fn is_patch(event: &Value) -> bool {
    matches!(text(&event["type"]), "STATE_DELTA" | "ACTIVITY_DELTA" | "STATE_SNAPSHOT" | "ACTIVITY_SNAPSHOT")
}

/// State and activities that patches fit often. What a patch engine does with odd ones is another test's business.
fn patch_event(random: &mut Random) -> Value {
    let operations = [
        json!({"op": "add", "path": "/a", "value": 1}),
        json!({"op": "replace", "path": "/a", "value": {"b": null}}),
        json!({"op": "remove", "path": "/a"}),
        json!({"op": "add", "path": "/l/-", "value": "x"}),
        json!({"op": "test", "path": "/a", "value": 1}),
        json!({"op": "copy", "from": "/l", "path": "/c"}),
    ];
    let patch: Value = (0..random.below(3)).map(|_| random.pick(&operations).clone()).collect();
    let content = random.pick(&[json!({}), json!({"a": 1}), json!({"l": [1]})]).clone();
    let id = *random.pick(IDS);
    let mut event = match random.below(4) {
        0 => json!({"type": "STATE_SNAPSHOT", "snapshot": content}),
        1 => json!({"type": "STATE_DELTA", "delta": patch}),
        2 => json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "t", "content": content}),
        _ => json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": "u", "patch": patch}),
    };
    if random.chance(30) {
        event["metadata"] = json!({"k": random.below(3)});
    }
    if text(&event["type"]) == "ACTIVITY_SNAPSHOT" && random.chance(30) {
        event["replace"] = random.chance(50).into();
    }
    event
}

fn text_event(random: &mut Random) -> Value {
    let id = *random.pick(IDS);
    match random.below(4) {
        0 => {
            json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": random.pick(&["user", "assistant", "system"])})
        }
        1 => {
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "x", "metadata": {"n": random.below(9)}})
        }
        2 => json!({"type": "TOOL_CALL_ARGS", "toolCallId": "", "delta": "{"}),
        _ => {
            json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": "", "content": "r"})
        }
    }
}

/// Gives every id one of few values.
fn meet(value: &mut Value, random: &mut Random) {
    match value {
        Value::Array(array) => array.iter_mut().for_each(|value| meet(value, random)),
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                let is_id = matches!(key.as_str(), "id" | "messageId" | "parentMessageId" | "entityId");
                if key == "toolCallId" || key == "entityId" && random.chance(50) {
                    *value = format!("call {}", random.pick(IDS)).into();
                } else if is_id && value.is_string() {
                    *value = (*random.pick(IDS)).into();
                } else if matches!(key.as_str(), "messages" | "input") {
                    meet(value, random);
                } else if let ("toolCalls", Value::Array(calls)) = (key.as_str(), value) {
                    for call in calls {
                        call["id"] = format!("call {}", random.pick(IDS)).into();
                    }
                }
            }
        }
        _ => {}
    }
}

/// Ids of messages are unique, as the protocol wants them: the reference makes one object of two messages with the same
/// id, so that what is said to one of them later is said to both.
fn keep_apart(event: &mut Value, position: usize) {
    if event["type"] == "TOOL_CALL_RESULT" {
        event["messageId"] = format!("result {position}").into();
    }
    for messages in ["/messages", "/input/messages"] {
        if let Some(Value::Array(messages)) = event.pointer_mut(messages) {
            let mut seen = std::collections::HashSet::new();
            messages.retain(|message| seen.insert(message["id"].to_string()));
        }
    }
}

fn as_value<'a>(texts: impl Iterator<Item = String> + 'a) -> Value {
    texts.map(|text| as_javascript(&parse(&text))).collect()
}

#[test]
fn folds_agree() {
    let streams: Vec<Vec<Value>> = (0..cases()).map(|seed| stream(&mut Random::new(seed))).collect();
    let texts: Vec<Vec<String>> =
        streams.iter().map(|events| events.iter().map(Value::to_string).collect()).collect();
    let questions: Vec<Value> = texts.iter().map(|events| json!({"op": "fold", "events": events})).collect();
    for (events, answer) in texts.iter().zip(Peer::Node.ask(&questions)) {
        let mut fold = Fold::new();
        let mut resumed = Fold::new();
        for json in events {
            let event = Received::read(json).expect("an event of 1.0").into_event();
            // Whether an event could be applied shows in what is held.
            let applied = fold.apply(&event);
            assert_eq!(applied, resumed.apply(&event));
            let checkpoint = resumed.checkpoint().to_json();
            let (checkpoint, _) = Checkpoint::read_json(&checkpoint).expect("a checkpoint can be read");
            resumed = Fold::restore(checkpoint).expect("it is of this version");
        }
        let held = |fold: &Fold| {
            json!({
                "messages": as_value(fold.messages().map(threadline_protocol::Message::to_json)),
                "state": as_javascript(&parse(fold.state().as_str())),
                "interrupts": as_value(fold.interrupts().iter().map(threadline_protocol::run::Interrupt::to_json)),
            })
        };
        let theirs = json!({
            "messages": as_javascript(&answer["messages"]),
            "state": as_javascript(&answer["state"]),
            "interrupts": as_javascript(&answer["interrupts"]),
        });
        let stream = events.join("\n");
        for (what, theirs) in theirs.as_object().expect("an object") {
            assert_eq!(held(&fold)[what], *theirs, "{what} after {stream}");
            assert_eq!(held(&resumed)[what], *theirs, "{what} by way of checkpoints after {stream}");
        }
    }
}
