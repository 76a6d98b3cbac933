//! The sample lane: what is in `examples` is what the commands make of it.

use super::{Files, evidence, levels, outcomes, sample};
use serde_json::Value;
use std::fs;

fn path(name: &str) -> String {
    sample(name).to_str().expect("a path").to_owned()
}

/// When the first and the last event of the capture arrived, by the clock of who recorded it.
fn times() -> [String; 2] {
    let meta: Value =
        serde_json::from_slice(&fs::read(sample("capture/plain_chat.meta.json")).expect("a file"))
            .expect("JSON");
    let arrived = meta["frame_arrival_times_observer_clock"].as_array().expect("times");
    [arrived.first(), arrived.last()].map(|time| {
        // With as many digits as every reader keeps.
        time.and_then(Value::as_str).expect("a time").replace('Z', "000Z")
    })
}

#[test]
fn the_fixtures_have_their_verdicts() {
    for good in ["valid.json", "failure.json", "section-12.json", "artifact.json"] {
        let checked = evidence(&["check", &path(good)], "");
        assert_eq!(checked.code, 0, "{good}: {}", checked.text());
        assert!(checked.text().contains("does not claim"), "{}", checked.text());
    }
    let malformed = evidence(&["check", &path("malformed.json"), "--format", "json"], "");
    assert_eq!(malformed.code, 1);
    let told: Value = serde_json::from_str(malformed.text()).expect("JSON");
    assert_eq!(
        (&told["refusals"][0]["reason"], &told["refusals"][0]["path"]),
        (&"unknown_field".into(), &"/state".into())
    );
    assert_eq!(told["refusals"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_capture_gives_the_artifact_and_the_statement_byte_for_byte() {
    let files = Files::new();
    let (capture, statement, [started, finished]) =
        (path("capture/plain_chat.sse"), files.path("statement.json"), times());
    let args =
        ["derive", &capture, "--started-at", &started, "--finished-at", &finished, "--statement", &statement];
    let derived = evidence(&args, "");
    assert_eq!(derived.code, 0, "{}", derived.stderr);
    assert_eq!(derived.stdout, fs::read(sample("artifact.json")).expect("a file"));
    assert_eq!(fs::read(&statement).expect("written"), fs::read(sample("statement.json")).expect("a file"));
    let args = [
        "verify",
        &path("artifact.json"),
        "--statement",
        &path("statement.json"),
        "--raw",
        &capture,
        "--format",
        "json",
    ];
    let verified = evidence(&args, "");
    assert_eq!(outcomes(&verified), levels(["passed", "not_checked", "passed", "passed", "not_checked"]));
}

#[test]
fn the_comparison_says_what_is_so() {
    let comparison = fs::read_to_string(sample("comparison.md")).expect("a file");
    let bytes = |name: &str| fs::read(sample(name)).expect("a file");
    let (raw, artifact) = (bytes("capture/plain_chat.sse").len(), bytes("artifact.json").len());
    assert!(artifact < raw);
    let sizes = format!("| bytes | {raw} | {artifact} |");
    assert!(comparison.contains(&sizes), "{sizes}");
    let artifact: Value = serde_json::from_slice(&bytes("artifact.json")).expect("JSON");
    for field in artifact.as_object().expect("an object").keys() {
        assert!(comparison.contains(&format!("| `{field}` |")), "{field}");
    }
    let capture = String::from_utf8(bytes("capture/plain_chat.sse")).expect("text");
    for absent in ["parentRunId", "timestamp"] {
        assert!(!capture.contains(absent), "{absent}");
    }
}
