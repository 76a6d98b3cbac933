//! Our enforce stage says what the reference's says, on events that are wrong in one place or several.

use crate::{as_javascript, cases, parse, text, with_lists, without_null_state};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use threadline_interop::peer::Peer;
use threadline_protocol::stages::enforce::{Verdict, enforce};
use threadline_protocol::{Envelope, Received, UnknownWords};
use threadline_testkit::random::Random;
use threadline_testkit::{any_event, mutate};

fn mutants() -> Vec<String> {
    let mutant = |seed| {
        let mut random = Random::new(seed);
        let mut event = any_event(&mut random);
        for _ in 0..=random.below(3) {
            mutate(&mut event, &mut random);
        }
        event.to_string()
    };
    // What is no event at all ends the stream before enforcement sees it.
    (0..2 * cases()).map(mutant).filter(|json| Envelope::read(json).is_ok()).collect()
}

/// Our verdict in the words of the peer.
fn judge(json: &str) -> Value {
    let Ok(received) = Received::read(json) else { return json!({"verdict": "fatal"}) };
    match enforce(received, UnknownWords::Refuse) {
        Verdict::Kept { event, mut removed } => {
            removed.sort_unstable();
            json!({"verdict": "kept", "stripped": removed, "event": as_kept(parse(event.json()))})
        }
        Verdict::Dropped => json!({"verdict": "dropped"}),
        Verdict::Refused(_) => json!({"verdict": "fatal"}),
    }
}

/// The reference fills in the lists that an input leaves out, and removes a state that is null.
fn as_kept(event: Value) -> Value {
    as_javascript(&with_lists(without_null_state(event)))
}

/// The reference writes paths without escapes.
fn as_paths(pointers: &Value) -> Value {
    let mut paths: Vec<String> = pointers
        .as_array()
        .map(|pointers| {
            pointers.iter().map(|pointer| text(pointer).replace("~1", "/").replace("~0", "~")).collect()
        })
        .unwrap_or_default();
    paths.sort_unstable();
    json!(paths)
}

#[test]
fn verdicts_agree() {
    let mutants = mutants();
    let questions: Vec<Value> =
        mutants.iter().map(|json| json!({"op": "enforce", "events": [json]})).collect();
    let mut verdicts: BTreeMap<String, u64> = BTreeMap::new();
    for (json, answer) in mutants.iter().zip(Peer::Node.ask(&questions)) {
        let theirs = &answer["results"][0];
        let ours = judge(json);
        assert_eq!(ours["verdict"], theirs["verdict"], "{json}\nours {ours}\ntheirs {answer}");
        *verdicts.entry(text(&ours["verdict"]).to_owned()).or_default() += 1;
        if ours["verdict"] == "kept" {
            assert_eq!(as_paths(&ours["stripped"]), as_paths(&theirs["stripped"]), "{json}");
            assert_eq!(ours["event"], as_kept(parse(text(&theirs["json"]))), "{json}");
        }
    }
    // A generator that makes only one kind of mistake would agree about nothing.
    assert!(verdicts.len() == 3 && verdicts.values().all(|count| *count > cases() / 100), "{verdicts:?}");
}
