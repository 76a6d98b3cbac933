//! Our fold holds what the reference's reducer holds, after any events in any order.

use crate::differences::{Disagreement, explanation};
use crate::suite::batches;
use crate::{as_javascript, cases, parse, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use threadline_interop::peer::Peer;
use threadline_protocol::run::Interrupt;
use threadline_protocol::stages::fold::{Checkpoint, Fold};
use threadline_protocol::{Message, Received};
use threadline_testkit::any_event;
use threadline_testkit::random::Random;

/// Few enough that events meet.
const IDS: &[&str] = &["a", "b", "c", ""];

/// Any events but chunks, which the reducer does not take, over few ids. Some streams are odd: we mean to differ there.
fn stream(random: &mut Random) -> Vec<Value> {
    let odd = random.chance(10);
    let mut events = Vec::new();
    while events.len() < 25 {
        let mut event = match random.below(6) {
            0 => patch_event(odd, random),
            1 | 2 => text_event(random),
            _ => any_event(random),
        };
        if !text(&event["type"]).ends_with("_CHUNK") && !is_patch(&event) {
            meet(&mut event, random);
            if !odd {
                keep_apart(&mut event, events.len());
            }
            events.push(event);
        } else if is_patch(&event) {
            events.push(patch_event(odd, random));
        }
    }
    events
}

fn is_patch(event: &Value) -> bool {
    matches!(text(&event["type"]), "STATE_DELTA" | "ACTIVITY_DELTA" | "STATE_SNAPSHOT" | "ACTIVITY_SNAPSHOT")
}

/// State and activities that patches fit often. Odd ones are those about which patch engines differ.
fn patch_event(odd: bool, random: &mut Random) -> Value {
    let mut operations = vec![
        json!({"op": "add", "path": "/a", "value": 1}),
        json!({"op": "replace", "path": "/a", "value": {"b": null}}),
        json!({"op": "remove", "path": "/a"}),
        json!({"op": "add", "path": "/l/-", "value": "x"}),
        json!({"op": "test", "path": "/a", "value": 1}),
        json!({"op": "copy", "from": "/l", "path": "/c"}),
    ];
    if odd {
        operations.extend([
            json!({"op": "add", "path": "/l/00", "value": 0}),
            json!({"op": "add", "path": "/l/", "value": 0}),
            json!({"op": "copy", "from": "/a", "path": "/l/9"}),
            json!({"op": "move", "from": "/a", "path": "/l/9"}),
            json!({"op": "add", "path": "/__proto__", "value": 0}),
            json!({"op": "remove", "path": "/toString"}),
            json!({"op": "replace", "path": "", "value": 0}),
        ]);
    }
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

/// What a fold holds, in the words of the peer.
fn held(fold: &Fold) -> Value {
    let values =
        |texts: &mut dyn Iterator<Item = String>| texts.map(|text| as_javascript(&parse(&text))).collect();
    let messages: Value = values(&mut fold.messages().map(Message::to_json));
    let interrupts: Value = values(&mut fold.interrupts().iter().map(Interrupt::to_json));
    json!({"messages": messages, "state": as_javascript(&parse(fold.state().as_str())), "interrupts": interrupts})
}

/// Folds the events twice: at once, and by way of a checkpoint after each.
fn fold(events: &[String]) -> [Value; 2] {
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
    [held(&fold), held(&resumed)]
}

#[test]
fn folds_agree() {
    let mut peer = Peer::Node.start();
    let mut explained: BTreeMap<&str, u64> = BTreeMap::new();
    for seeds in batches() {
        let streams: Vec<Vec<Value>> = seeds.map(|seed| stream(&mut Random::new(seed))).collect();
        let texts = |events: &Vec<Value>| events.iter().map(Value::to_string).collect::<Vec<String>>();
        let questions: Vec<Value> =
            streams.iter().map(|events| json!({"op": "fold", "events": texts(events)})).collect();
        for (events, answer) in streams.iter().zip(peer.ask(&questions)) {
            let [at_once, resumed] = fold(&texts(events));
            assert_eq!(at_once, resumed, "by way of checkpoints after {events:#?}");
            for (what, ours) in at_once.as_object().expect("an object") {
                let theirs = as_javascript(&answer[what]);
                if *ours != theirs {
                    let Some(difference) = explanation(&Disagreement { events, what, ours }) else {
                        panic!("{what} is\n{ours}\nand with the reference\n{theirs}\nafter {events:#?}");
                    };
                    *explained.entry(difference).or_default() += 1;
                }
            }
        }
    }
    println!("{} streams folded; with deliberate differences: {explained:?}", cases());
}
