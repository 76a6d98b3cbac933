//! Streams of events.

mod breach;
mod malformed;
pub mod old;
mod producer;

use crate::fill::Fill;
use crate::random::Random;
use crate::tables;
use old::OldWords;
use producer::Producer;
use serde_json::{Map, Value, json};

/// A stream that the reference accepts once its chunks are expanded, and that keeps to the prose of the protocol as well:
/// one to three runs of a thread, each ended properly or by RUN_ERROR at some point.
#[must_use]
pub fn valid(random: &mut Random) -> Vec<Value> {
    produce(None, random)
}

/// A stream as releases before 1.0 sent it, with THINKING events, nulls and binary parts. Some are disturbed.
#[must_use]
pub fn old(random: &mut Random) -> Vec<Value> {
    let mut events = produce(Some(OldWords::default()), random);
    if random.chance(30) {
        disturb(&mut events, random);
    }
    events
}

/// A valid stream with events put in that break one of the rules.
#[must_use]
pub fn breaching(random: &mut Random) -> Vec<Value> {
    let mut events = valid(random);
    breach::insert(&mut events, random);
    events
}

/// A valid stream with one event that 1.0 does not allow, whatever comes before it.
#[must_use]
pub fn malformed(random: &mut Random) -> Vec<Value> {
    let mut events = valid(random);
    malformed::spoil(&mut events, random);
    events
}

fn produce(old: Option<OldWords>, random: &mut Random) -> Vec<Value> {
    let runs = 1 + random.below(3);
    let mut producer = Producer::new(random);
    producer.old = old;
    for run in 1..=runs {
        producer.run(run);
    }
    producer.events
}

/// Any events, with so few ids that they collide: a valid stream with some events lost, repeated, swapped or changed, or
/// events in no order at all. Each event for itself is one that 1.0 allows, but for members and types that it does not
/// know.
#[must_use]
pub fn wild(random: &mut Random) -> Vec<Value> {
    let mut events = match random.below(4) {
        0 => soup(ANY, random),
        1 => soup(CHUNKS, random),
        _ => valid(random),
    };
    for _ in 0..random.below(4) {
        disturb(&mut events, random);
    }
    events
}

/// Everything, what streams are made of more often than the rest.
const ANY: &[&str] = &[
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_CHUNK",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_CHUNK",
    "TOOL_CALL_RESULT",
    "REASONING_START",
    "REASONING_END",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_MESSAGE_CHUNK",
    "REASONING_ENCRYPTED_VALUE",
    "STEP_STARTED",
    "STEP_FINISHED",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA",
    "*",
];

/// Chunks, and little to interrupt them.
const CHUNKS: &[&str] = &[
    "TEXT_MESSAGE_CHUNK",
    "TEXT_MESSAGE_CHUNK",
    "TOOL_CALL_CHUNK",
    "TOOL_CALL_CHUNK",
    "REASONING_MESSAGE_CHUNK",
    "REASONING_MESSAGE_CHUNK",
    "RAW",
    "*",
];

fn soup(types: &[&str], random: &mut Random) -> Vec<Value> {
    let mut next = "RUN_STARTED";
    let mut events = Vec::new();
    for _ in 0..1 + random.below(40) {
        if random.chance(95) {
            events.push(ingredient(next, random));
        }
        // A run that has ended is followed by another one, or there would be little left to say.
        next = if next.starts_with("RUN_") && next != "RUN_STARTED" && random.chance(80) {
            "RUN_STARTED"
        } else {
            pick_type(types, random)
        };
    }
    events
}

fn pick_type<'a>(types: &[&'a str], random: &mut Random) -> &'a str {
    match *random.pick(types) {
        "*" => random.pick(tables::EVENTS).0,
        event_type => event_type,
    }
}

/// An event with few ids.
fn ingredient(event_type: &str, random: &mut Random) -> Value {
    if random.chance(2) {
        return json!({"type": "VENDOR_EVENT", "messageId": "a"});
    }
    let mut event = crate::event(event_type, &mut Fill::Random(random));
    share_ids(&mut event, random);
    if random.chance(5) {
        event[*random.pick(&["vendor", "toString"])] = json!({"x": 1});
    }
    // A start has it and a chunk does not: which one counts when the chunk becomes a start?
    if event_type == "REASONING_MESSAGE_CHUNK" && random.chance(10) {
        event["role"] = "reasoning".into();
    }
    event
}

/// Gives everything an id that other things have too. Half of the tags go.
fn share_ids(value: &mut Value, random: &mut Random) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| share_ids(item, random)),
        Value::Object(members) => share_ids_of(members, random),
        _ => {}
    }
}

fn share_ids_of(members: &mut Map<String, Value>, random: &mut Random) {
    if random.chance(50)
        && members.get("type").is_none_or(|kind| !kind.as_str().unwrap_or("").starts_with("SUB"))
    {
        members.remove("subagentRunId");
    }
    for (key, value) in members {
        let ids: &[&str] = match key.as_str() {
            "id" | "messageId" | "toolCallId" | "parentMessageId" | "entityId" => &["a", "b", "c"],
            "subagentRunId" | "parentSubagentRunId" => &["s", "t", ""],
            "stepName" | "threadId" | "runId" | "name" | "toolCallName" => &["x", "y"],
            "pendingToolCallIds" => {
                *value = (0..random.below(3)).map(|_| *random.pick(&["a", "b", "c"])).collect();
                continue;
            }
            // What is opaque stays as it is.
            "messages" | "toolCalls" | "input" | "outcome" | "interrupts" => {
                share_ids(value, random);
                continue;
            }
            _ => continue,
        };
        if value.is_string() {
            *value = (*random.pick(ids)).into();
        }
    }
}

/// Changes one thing in a stream.
fn disturb(events: &mut Vec<Value>, random: &mut Random) {
    if events.len() < 2 {
        return;
    }
    let (one, other) = (random.below(events.len()), random.below(events.len()));
    match random.below(6) {
        0 => drop(events.remove(one)),
        1 => events.insert(one, events[other].clone()),
        2 => events.swap(one, other),
        3 => events[one]["subagentRunId"] = (*random.pick(&["", "ghost", "s1", "s2"])).into(),
        4 => share_ids(&mut events[one], random),
        _ => events.insert(one, ingredient(pick_type(ANY, random), random)),
    }
}
