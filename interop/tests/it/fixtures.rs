//! Folders of stream fixtures, as `interop/fixtures/README.md` describes them.

use crate::consume::{is_accepted, ours};
use crate::{as_javascript, parse};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// What came of a folder.
#[derive(Default)]
struct Report {
    held: usize,
    /// What did not hold, by file.
    wrong: Vec<String>,
    /// Expectations that we do not know.
    unchecked: BTreeSet<String>,
}

fn run_folder(folder: &Path) -> Report {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort_unstable();
    let mut report = Report::default();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a fixture that can be read");
        match check(&parse(&text), &mut report.unchecked) {
            Ok(()) => report.held += 1,
            Err(wrong) => report.wrong.push(format!("{}: {wrong}", path.display())),
        }
    }
    report
}

/// Runs a fixture through our consumer.
fn check(fixture: &Value, unchecked: &mut BTreeSet<String>) -> Result<(), String> {
    let stream = fixture["stream"].as_array().ok_or("it has no stream")?;
    let events: Vec<String> = stream.iter().map(Value::to_string).collect();
    let held = ours(&events);
    let expected = match &fixture["expect"] {
        Value::Object(expected) => expected.clone(),
        word @ Value::String(_) => [("outcome".to_owned(), word.clone())].into_iter().collect(),
        _ => return Err("it expects nothing".to_owned()),
    };
    for (what, expected) in &expected {
        let actual = match what.as_str() {
            "outcome" => json!(if is_accepted(&held) { "completed" } else { "failed" }),
            "messages" | "state" => held[what].clone(),
            "eventTypes" => members(&held["delivered"], "type"),
            "interrupts" | "pendingInterrupts" if has_strings(expected) => members(&held["interrupts"], "id"),
            "interrupts" | "pendingInterrupts" => held["interrupts"].clone(),
            _ => {
                unchecked.insert(what.clone());
                continue;
            }
        };
        if actual != as_javascript(expected) {
            return Err(format!("{what} should be {expected} and is {actual}"));
        }
    }
    Ok(())
}

fn members(list: &Value, member: &str) -> Value {
    list.as_array().into_iter().flatten().map(|value| value[member].clone()).collect()
}

fn has_strings(list: &Value) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(Value::is_string))
}

#[test]
fn upstream_fixtures_hold() {
    let named = std::env::var_os("THREADLINE_FIXTURES").map(PathBuf::from);
    let folder = named.clone().unwrap_or_else(|| fixtures().join("upstream"));
    // A folder that was named has to be there.
    if named.is_none() && !folder.is_dir() {
        println!("no upstream fixtures, skipped: name a folder of them with THREADLINE_FIXTURES");
        return;
    }
    let Report { held, wrong, unchecked } = run_folder(&folder);
    println!("{held} fixtures hold, {} do not; not checked: {unchecked:?}", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(held > 0, "there is no fixture in {}", folder.display());
}

#[test]
fn own_fixtures_hold() {
    let Report { held, wrong, unchecked } = run_folder(&fixtures().join("own"));
    assert_eq!((held, wrong, unchecked), (3, Vec::new(), BTreeSet::from(["warnings".to_owned()])));
}

#[test]
fn a_wrong_expectation_is_noticed() {
    let stream = json!([
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "STATE_SNAPSHOT", "snapshot": 1},
    ]);
    for (expect, wrong) in [
        (json!("failed"), r#"outcome should be "failed" and is "completed""#),
        (json!({"outcome": "completed", "state": 2}), "state should be 2 and is 1.0"),
        (json!({"messages": [{}]}), "messages should be [{}] and is []"),
        (
            json!({"eventTypes": ["RUN_STARTED"]}),
            r#"eventTypes should be ["RUN_STARTED"] and is ["RUN_STARTED","STATE_SNAPSHOT"]"#,
        ),
        (json!({"pendingInterrupts": ["i"]}), r#"pendingInterrupts should be ["i"] and is []"#),
        (Value::Null, "it expects nothing"),
    ] {
        let fixture = json!({"stream": stream, "expect": expect});
        assert_eq!(check(&fixture, &mut BTreeSet::new()).unwrap_err(), wrong);
    }
    assert!(check(&json!({"expect": "completed"}), &mut BTreeSet::new()).is_err());
}
