//! What real ADK runs give.

use std::fs;
use std::path::{Path, PathBuf};
use threadline_evidence::{Derived, Deriver, Reason, Refused, Times, check};

/// Every capture, and the reasons it is refused for; none if there is an artifact in it.
const VERDICTS: &[(&str, &[Reason])] = &[
    ("0.11.0/client_tool_pause.snapshot-on", &[Reason::NoSnapshot]),
    ("0.11.0/error_midstream.snapshot-on", &[Reason::NoSnapshot]),
    ("0.11.0/long_unicode.snapshot-on", &[Reason::TooLong, Reason::Padded]),
    ("0.11.0/no_messages.snapshot-on", &[Reason::NoSnapshot]),
    ("0.11.0/plain_chat.snapshot-off", &[Reason::NoSnapshot]),
    ("0.11.0/plain_chat.snapshot-on", &[]),
    ("0.11.0/plain_chat_turn2_parent.snapshot-on", &[]),
    ("0.11.0/reasoning.snapshot-on", &[Reason::ReasoningRole]),
    // One for the message that calls, one for the result.
    ("0.11.0/tool_call.snapshot-on", &[Reason::ToolShaped, Reason::ToolShaped]),
    ("0.6.0/error_immediate.snapshot-on", &[Reason::DoubleTerminal, Reason::NoSnapshot]),
    ("0.6.0/error_midstream.snapshot-on", &[Reason::DoubleTerminal, Reason::NoSnapshot]),
    ("0.6.0/plain_chat.snapshot-off", &[Reason::NoSnapshot]),
    ("0.6.0/plain_chat.snapshot-on", &[]),
];

/// The recorded streams, which the command line is tested with as well.
fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/data/adk").join(version)
}

fn read(name: &str) -> String {
    fs::read_to_string(folder("").join(format!("{name}.jsonl"))).expect("a fixture that is good")
}

fn derive(capture: &str, times: Times) -> Result<Derived, Refused> {
    let mut deriver = Deriver::new(times);
    for (offset, line) in (0..).zip(capture.lines()) {
        deriver.push(offset, None, line.as_bytes());
    }
    deriver.finish()
}

fn given() -> Times {
    Times::Given {
        started_at: "2026-11-15T01:25:57.239000Z".to_owned(),
        finished_at: Some("2026-11-15T01:25:57.845000Z".to_owned()),
    }
}

#[test]
fn every_capture_has_the_verdict_that_was_expected() {
    let mut files = 0;
    for version in ["0.11.0", "0.6.0"] {
        let files_of = fs::read_dir(folder(version)).unwrap().map(|file| file.unwrap().path());
        files += files_of.filter(|path| path.extension().is_some_and(|kind| kind == "jsonl")).count();
    }
    assert_eq!(files, VERDICTS.len(), "a capture without a verdict");
    for (name, expected) in VERDICTS {
        let capture = read(name);
        match derive(&capture, given()) {
            Ok(derived) => {
                assert_eq!(*expected, [], "{name}");
                let written = derived.artifact.to_json();
                assert_eq!(check(written.as_bytes()).unwrap(), derived.artifact, "{name}");
                assert!(written.len() < capture.len(), "{name}: {} of {}", written.len(), capture.len());
                assert_eq!(derive(&capture, given()).unwrap().artifact.to_json(), written, "{name}");
                assert_eq!(derived.dropped.events["STATE_SNAPSHOT"], 1, "{name}");
                assert_eq!(derived.range.count, capture.lines().count() as u64);
            }
            Err(refused) => {
                let reasons: Vec<Reason> = refused.refusals().iter().map(|refusal| refusal.reason).collect();
                assert_eq!(reasons, *expected, "{name}: {refused}");
            }
        }
    }
}

#[test]
fn no_capture_says_when_it_was() {
    for (name, _) in VERDICTS {
        let refused = derive(&read(name), Times::OfEvents).unwrap_err();
        assert!(refused.has(Reason::NoClock), "{name}: {refused}");
    }
}

#[test]
fn what_was_dropped_is_counted() {
    let derived = derive(&read("0.11.0/plain_chat.snapshot-on"), given()).unwrap();
    let events: Vec<(&str, u64)> =
        derived.dropped.events.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(
        events,
        [
            ("STATE_SNAPSHOT", 1),
            ("TEXT_MESSAGE_CONTENT", 3),
            ("TEXT_MESSAGE_END", 1),
            ("TEXT_MESSAGE_START", 1)
        ]
    );
    let members: Vec<(&str, u64)> =
        derived.dropped.members.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(members, [("RUN_STARTED.protocolVersion", 1)]);
}
