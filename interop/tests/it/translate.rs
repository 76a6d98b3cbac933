//! Our translate stage does what the reference's compatibility boundary does, but for the ids that it draws.

use crate::{as_javascript, cases, parse, text, without_null_state};
use serde_json::{Value, json};
use std::collections::HashMap;
use threadline_interop::peer::Peer;
use threadline_protocol::Received;
use threadline_protocol::stages::translate::Translator;
use threadline_testkit::fill::Fill;
use threadline_testkit::random::Random;
use threadline_testkit::streams::old::parts;
use threadline_testkit::{any_event, event};

/// A stream of 0.x: thinking in any order, nulls that it wrote, binary parts, and events of 1.0 between them.
fn stream(random: &mut Random) -> Vec<Value> {
    let mut events = vec![started(random)];
    for _ in 0..1 + random.below(8) {
        let thinking = |event_type: &str| json!({"type": event_type});
        events.push(match random.below(10) {
            0 => json!({"type": "THINKING_START", "title": "t", "rawEvent": null}),
            1 => json!({"type": "THINKING_START", "timestamp": 5}),
            2 => thinking("THINKING_TEXT_MESSAGE_START"),
            3 => json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm", "vendor": {"x": null}}),
            4 => thinking("THINKING_TEXT_MESSAGE_END"),
            5 => thinking("THINKING_END"),
            6 => with_nulls(random),
            7 => json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": parts(random)}]}),
            _ => later_event(random),
        });
    }
    events
}

fn started(random: &mut Random) -> Value {
    let mut started = event("RUN_STARTED", &mut Fill::Full(0));
    let input = &mut started["input"];
    input["messages"] = json!([{"id": "t", "role": "tool", "toolCallId": "c", "content": parts(random)}]);
    input["forwardedProps"] = Value::Null;
    input["tools"][0]["parameters"] = Value::Null;
    input["resume"][0]["payload"] = Value::Null;
    started
}

/// A second run would begin its ids anew with us, and with the reference it would not.
fn later_event(random: &mut Random) -> Value {
    loop {
        let event = any_event(random);
        if event["type"] != "RUN_STARTED" {
            return event;
        }
    }
}

fn with_nulls(random: &mut Random) -> Value {
    let mut event = later_event(random);
    let nulls: &[&str] = match text(&event["type"]) {
        "RUN_FINISHED" => &["rawEvent", "result", "outcome"],
        "SUBAGENT_FINISHED" => &["rawEvent", "result"],
        "TOOL_CALL_START" | "TOOL_CALL_CHUNK" => &["rawEvent", "parentMessageId"],
        _ => &["rawEvent"],
    };
    for field in nulls {
        if random.chance(60) {
            event[field] = Value::Null;
        }
    }
    event
}

/// Minted ids under the number of their first appearance.
fn renamed(events: Vec<Value>, given: &[Value]) -> Vec<Value> {
    let mut names = HashMap::new();
    let mut rename = |(mut event, given): (Value, &Value)| {
        if text(&given["type"]).starts_with("THINKING") {
            let next = names.len();
            let name = *names.entry(event["messageId"].to_string()).or_insert(next);
            event["messageId"] = name.into();
        }
        as_javascript(&event)
    };
    events.into_iter().zip(given).map(&mut rename).collect()
}

#[test]
fn translations_agree() {
    let streams: Vec<Vec<Value>> = (0..cases() / 2).map(|seed| stream(&mut Random::new(seed))).collect();
    let questions: Vec<Value> = streams
        .iter()
        .map(|events| json!({"op": "translate", "events": events.iter().map(Value::to_string).collect::<Vec<_>>()}))
        .collect();
    let mut translated_events = 0;
    for (given, answer) in streams.iter().zip(Peer::Node.ask(&questions)) {
        let theirs = answer["events"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let theirs = theirs.iter().map(|event| without_null_state(parse(text(event)))).collect();
        let mut translator = Translator::new();
        let mut translate = |event: &Value| {
            let json = event.to_string();
            let translated =
                Received::read(&json).and_then(|received| translator.translate(received)).expect("0.x");
            translated_events += usize::from(!translated.changes.is_empty());
            parse(translated.event.json())
        };
        let ours: Vec<Value> = given.iter().map(|event| without_null_state(translate(event))).collect();
        for (index, (ours, theirs)) in renamed(ours, given).iter().zip(renamed(theirs, given)).enumerate() {
            assert_eq!(*ours, theirs, "event {index} of {given:#?}");
        }
    }
    assert!(translated_events > streams.len(), "too few events needed translation: {translated_events}");
}
