//! The list of deliberate differences, `interop/differences.json`: each entry shows one, and must go on doing so.

use crate::compaction::compacted;
use crate::consume::{ours, question, theirs};
use crate::{as_javascript, parse, text};
use serde_json::{Value, json};
use std::collections::HashSet;
use threadline_interop::peer::{Peer, Session};
use threadline_protocol::stages::compact::Form;

fn entries() -> Vec<Value> {
    serde_json::from_str(include_str!("../../differences.json")).expect("a list of differences")
}

/// Something about a stream that is not with us what it is with the reference.
pub(crate) struct Disagreement<'a> {
    pub(crate) events: &'a [Value],
    pub(crate) what: &'a str,
    pub(crate) ours: &'a Value,
}

/// Whether an entry can explain a disagreement.
type Explains = fn(&Disagreement<'_>) -> bool;

/// What generated streams show of the list.
const EXPLANATIONS: &[(&str, Explains)] = &[
    ("translate-run-id-reused", |about| {
        about.events.iter().any(is_thinking) && has_repeated_run(about.events)
    }),
    ("fold-shared-message", |about| about.what == "messages" && has_repeated_id(about.ours)),
    ("fold-activity-not-object", |about| {
        about.what == "messages"
            && operations(about.events, "/patch").any(|operation| operation["path"] == "")
    }),
    ("patch-index-leading-zeros", |about| has_token(about, |token| is_index(token) && token.len() > 1)),
    ("patch-index-empty", |about| has_token(about, str::is_empty)),
    ("patch-copy-beyond-end", |about| has_operation(about, |operation| appends(operation, "copy"))),
    ("patch-move-beyond-end", |about| has_operation(about, |operation| appends(operation, "move"))),
    ("patch-proto", |about| has_token(about, |token| token == "__proto__")),
    ("patch-inherited", |about| has_token(about, |token| token == "toString")),
    ("patch-root-into-child", |about| {
        has_operation(about, |operation| operation["op"] == "move" && operation["from"] == "")
    }),
    ("patch-root-from-nothing", |about| {
        has_operation(about, |operation| operation["path"] == "" && operation["from"].is_string())
    }),
    ("patch-scalar-document", |about| about.what == "state" && has_scalar_state(about.events)),
];

/// The entry that explains a disagreement. None: it is a mistake.
pub(crate) fn explanation(about: &Disagreement<'_>) -> Option<&'static str> {
    EXPLANATIONS.iter().find(|(_, explains)| explains(about)).map(|(id, _)| *id)
}

fn is_thinking(event: &Value) -> bool {
    event["type"].as_str().is_some_and(|name| name.starts_with("THINKING_"))
}

fn has_repeated_run(events: &[Value]) -> bool {
    let mut runs = events.iter().filter(|event| event["type"] == "RUN_STARTED").map(|event| &event["runId"]);
    let mut seen = HashSet::new();
    !runs.all(|run| seen.insert(run.to_string()))
}

fn has_repeated_id(messages: &Value) -> bool {
    let mut seen = HashSet::new();
    let messages = messages.as_array().into_iter().flatten();
    messages.map(|message| message["id"].to_string()).any(|id| !seen.insert(id))
}

fn has_scalar_state(events: &[Value]) -> bool {
    let snapshots = events.iter().filter_map(|event| event.get("snapshot"));
    let replaced = operations(events, "/delta").filter(|operation| operation["path"] == "");
    let mut states = snapshots.chain(replaced.filter_map(|operation| operation.get("value")));
    states.any(|state| state.is_number() || state.is_string() || state.is_boolean())
}

fn operations<'a>(events: &'a [Value], list: &'static str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter_map(move |event| event.pointer(list).and_then(Value::as_array)).flatten()
}

/// Whether there is such an operation in a patch of what the disagreement is about.
fn has_operation(about: &Disagreement<'_>, wanted: impl Fn(&Value) -> bool) -> bool {
    match about.what {
        "state" => operations(about.events, "/delta").any(wanted),
        "messages" => operations(about.events, "/patch").any(wanted),
        _ => false,
    }
}

fn has_token(about: &Disagreement<'_>, wanted: impl Fn(&str) -> bool) -> bool {
    has_operation(about, |operation| {
        let pointers = [&operation["path"], &operation["from"]].into_iter().filter_map(Value::as_str);
        pointers.flat_map(|pointer| pointer.split('/').skip(1)).any(&wanted)
    })
}

fn is_index(token: &str) -> bool {
    token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is such an operation, to a place in an array.
fn appends(operation: &Value, op: &str) -> bool {
    let path = operation["path"].as_str().unwrap_or_default();
    operation["op"] == op && path.rsplit('/').next().is_some_and(|token| token.parse::<usize>().is_ok())
}

/// The events of an entry. One that a library for JSON might change is written as a string.
fn events(entry: &Value) -> Vec<String> {
    let events = entry["events"].as_array().expect("a list of events");
    events.iter().map(|event| event.as_str().map_or_else(|| event.to_string(), str::to_owned)).collect()
}

/// What comes of an entry's stream, ours and the reference's. For the compact stage it is what the reference makes of the
/// compacted streams, and the streams themselves.
fn results(entry: &Value, peer: &mut Session) -> [Value; 2] {
    let events = events(entry);
    if entry["stage"] != "compact" {
        return [ours(&events), theirs(&peer.ask(&[question(&events)])[0], &events)];
    }
    let answer = &peer.ask(&[json!({"op": "compact", "events": events})])[0];
    let reference: Vec<String> = serde_json::from_value(answer["events"].clone()).expect("a stream");
    [compacted(Form::Stream, &events), reference].map(|events| {
        let mut result = theirs(&peer.ask(&[question(&events)])[0], &events);
        result["compacted"] = events.iter().map(|json| as_javascript(&parse(json))).collect();
        result
    })
}

/// What is wrong with an entry, if anything.
fn check(entry: &Value, [ours, theirs]: [&Value; 2]) -> Result<(), String> {
    let id = text(&entry["id"]);
    let described = entry["ours"].as_object().ok_or_else(|| format!("entry {id} does not say what we do"))?;
    let keys: Vec<&String> = described.keys().collect();
    let reference = entry["reference"].as_object().map(|reference| reference.keys().collect::<Vec<_>>());
    if keys.is_empty() || reference.as_ref() != Some(&keys) {
        return Err(format!("entry {id} does not compare like with like"));
    }
    for what in keys {
        if ours[what] == theirs[what] {
            return Err(format!("entry {id} no longer disagrees about {what}: remove it"));
        }
        for (who, held) in [("ours", ours), ("reference", theirs)] {
            let expected = as_javascript(&entry[who][what]);
            if held[what] != expected {
                return Err(format!(
                    "entry {id}: {who} has another {what}:\n{}\nand not\n{expected}",
                    held[what]
                ));
            }
        }
    }
    Ok(())
}

#[test]
fn every_entry_still_disagrees_as_it_says() {
    let mut peer = Peer::Node.start();
    let mut ids = HashSet::new();
    let mut wrong = Vec::new();
    for entry in entries() {
        let [ours, theirs] = results(&entry, &mut peer);
        wrong.extend(check(&entry, [&ours, &theirs]).err());
        assert!(text(&entry["reason"]).ends_with('.'), "{}: a reason is a sentence", entry["id"]);
        assert!(ids.insert(entry["id"].to_string()), "{} is there twice", entry["id"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} deliberate differences, all of them still there", ids.len());
}

#[test]
fn an_entry_that_is_not_true_is_noticed() {
    let entry = json!({"id": "e", "ours": {"state": 1}, "reference": {"state": 2}});
    let [one, two] = [json!({"state": 1.0}), json!({"state": 2.0})];
    assert_eq!(check(&entry, [&one, &two]), Ok(()));
    let gone = check(&entry, [&two, &two]).unwrap_err();
    assert_eq!(gone, "entry e no longer disagrees about state: remove it");
    assert!(check(&entry, [&two, &one]).unwrap_err().contains("ours has another state"));
    let unlike = json!({"id": "e", "ours": {"state": 1}, "reference": {"messages": []}});
    assert!(check(&unlike, [&one, &two]).is_err());
}

/// The list and the documentation do not contradict each other.
#[test]
fn every_entry_is_documented() {
    let documentation = include_str!("../../../docs/differences.md");
    for entry in entries() {
        let id = text(&entry["id"]);
        assert!(documentation.contains(&format!("`{id}`")), "docs/differences.md does not name {id}");
    }
}

/// An explanation is one of the list, and explains the entry itself.
#[test]
fn explanations_are_entries() {
    let entries = entries();
    for (id, explains) in EXPLANATIONS {
        let entry = entries.iter().find(|entry| entry["id"] == *id).expect("an entry of the list");
        let events: Vec<Value> = events(entry).iter().map(|json| parse(json)).collect();
        for (what, ours) in entry["ours"].as_object().expect("what we do") {
            assert!(explains(&Disagreement { events: &events, what, ours }), "{id} does not explain {what}");
        }
    }
}
