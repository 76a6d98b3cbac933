//! Events that break one rule of the protocol, and are otherwise what a producer could say.
//!
//! They use ids that no stream has, so that it is their own rule that they break, wherever they are put into a run.

use crate::random::Random;
use serde_json::{Value, json};

/// What has a start, perhaps content, and an end: their types, and the name of the id.
const THINGS: &[(&[&str], &str)] = &[
    (&["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"], "messageId"),
    (&["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"], "toolCallId"),
    (&["REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"], "messageId"),
    (&["REASONING_START", "REASONING_END"], "messageId"),
];

/// Whose events these are.
const ONE: Option<&str> = Some("one");
const OTHER: Option<&str> = Some("other");

/// Puts events that break a rule into a run, in order but not always side by side.
pub(super) fn insert(events: &mut Vec<Value>, random: &mut Random) {
    let mut at = 1 + random.below(events.len() - 1);
    while ["RUN_FINISHED", "RUN_ERROR"].iter().any(|end| events[at - 1]["type"] == *end) {
        at = 1 + random.below(events.len() - 1);
    }
    for event in breach(random) {
        events.insert(at, event);
        at = (at + 1 + random.below(2)).min(events.len());
    }
}

fn breach(random: &mut Random) -> Vec<Value> {
    match random.below(8) {
        0..4 => thing(random),
        4 => step(random),
        5 => subagent(random),
        6 => owned(random),
        _ => chunks(random),
    }
}

fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r1"})
}

fn by(owner: Option<&str>, mut event: Value) -> Value {
    if let Some(owner) = owner {
        event["subagentRunId"] = owner.into();
    }
    event
}

fn thing(random: &mut Random) -> Vec<Value> {
    let (types, id) = random.pick(THINGS);
    let (start, end) = (types[0], types[types.len() - 1]);
    let later = *random.pick(&types[1..]);
    let say = |event_type: &str, owner| {
        let mut event = json!({"type": event_type, *id: "broken", "role": "reasoning"});
        match event_type {
            "TEXT_MESSAGE_START" => event["role"] = "assistant".into(),
            "TOOL_CALL_START" => event["toolCallName"] = "search".into(),
            _ if event_type != end && event_type != start => event["delta"] = "x".into(),
            _ => {}
        }
        by(owner, event)
    };
    match random.below(6) {
        0 => vec![say(start, None), say(start, None)],
        1 => vec![say(later, None)],
        2 => vec![say(start, ONE), say(later, OTHER)],
        3 => vec![say(start, None), say(later, ONE)],
        4 => vec![say(start, ONE), say(end, ONE), say(start, OTHER)],
        _ => vec![say(start, None), finished()],
    }
}

fn step(random: &mut Random) -> Vec<Value> {
    let say = |event_type: &str, owner| by(owner, json!({"type": event_type, "stepName": "broken"}));
    match random.below(4) {
        0 => vec![say("STEP_STARTED", None), say("STEP_STARTED", None)],
        1 => vec![say("STEP_FINISHED", None)],
        2 => vec![say("STEP_STARTED", ONE), say("STEP_FINISHED", OTHER)],
        _ => vec![say("STEP_STARTED", None), finished()],
    }
}

fn subagent(random: &mut Random) -> Vec<Value> {
    let started = json!({"type": "SUBAGENT_STARTED", "subagentRunId": "broken", "name": "helper"});
    let ended = match random.below(2) {
        0 => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "broken"}),
        _ => json!({"type": "SUBAGENT_ERROR", "subagentRunId": "broken", "message": "failed"}),
    };
    match random.below(5) {
        0 => vec![started.clone(), started],
        1 => vec![started.clone(), ended, started],
        2 => vec![ended],
        3 => vec![started, finished()],
        _ => {
            let mut orphan = started;
            orphan["parentSubagentRunId"] = "nobody".into();
            vec![orphan]
        }
    }
}

/// What belongs to one and is spoken of by another.
fn owned(random: &mut Random) -> Vec<Value> {
    let message = json!({"type": "TEXT_MESSAGE_START", "messageId": "broken", "role": "assistant"});
    let reasoning = json!({"type": "REASONING_MESSAGE_START", "messageId": "broken", "role": "reasoning"});
    let call = json!({"type": "TOOL_CALL_START", "toolCallId": "broken", "toolCallName": "search"});
    let call_ended = json!({"type": "TOOL_CALL_END", "toolCallId": "broken"});
    let mut child = call.clone();
    child["parentMessageId"] = "broken".into();
    let secret = |subtype: &str| {
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": "broken",
            "encryptedValue": "0xff"})
    };
    let activity = json!({"messageId": "broken", "activityType": "PLAN"});
    let mut snapshot = activity.clone();
    (snapshot["type"], snapshot["content"]) = ("ACTIVITY_SNAPSHOT".into(), json!({}));
    let mut delta = activity;
    (delta["type"], delta["patch"]) = ("ACTIVITY_DELTA".into(), json!([]));
    match random.below(6) {
        0 => vec![by(ONE, message), by(OTHER, child)],
        1 => vec![by(ONE, call), call_ended, by(OTHER, message), child],
        2 => vec![by(ONE, call), by(OTHER, secret("tool-call"))],
        3 => vec![by(ONE, message), by(OTHER, secret("message"))],
        4 => vec![by(ONE, reasoning), by(OTHER, secret("message"))],
        _ => vec![by(ONE, snapshot), by(OTHER, delta)],
    }
}

fn chunks(random: &mut Random) -> Vec<Value> {
    // Closes what the parent agent's chunks have opened.
    let pause = json!({"type": "CUSTOM", "name": "pause", "value": 1});
    let text = |id: &str| json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": "x"});
    let call = |id: &str| json!({"type": "TOOL_CALL_CHUNK", "toolCallId": id, "toolCallName": "search"});
    let with = |mut chunk: Value, member: &str, value: &str| {
        chunk[member] = value.into();
        chunk
    };
    match random.below(8) {
        0 => vec![pause, json!({"type": "TEXT_MESSAGE_CHUNK", "subagentRunId": "nobody", "delta": "x"})],
        1 => vec![json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "broken", "delta": "x"})],
        2 => vec![
            pause,
            by(ONE, text("broken")),
            by(OTHER, text("other")),
            json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}),
        ],
        3 => vec![by(ONE, text("broken")), by(OTHER, text("broken"))],
        4 => vec![text("broken"), with(text("broken"), "role", "user")],
        5 => vec![text("broken"), with(text("broken"), "name", "Ada")],
        6 => vec![call("broken"), with(call("broken"), "toolCallName", "weather")],
        _ => vec![call("broken"), with(call("broken"), "parentMessageId", "m1")],
    }
}
