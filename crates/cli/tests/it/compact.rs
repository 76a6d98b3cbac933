//! `threadline compact`

use crate::{captures, threadline};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
const DELTA: &str = r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}"#;
const CHUNK: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hi"}"#;

fn fold(input: &str) -> Value {
    serde_json::from_str(threadline(&["fold"], input).text()).expect("JSON")
}

#[test]
fn both_forms_of_recorded_streams_fold_to_the_same() {
    for (_, jsonl) in captures().iter().filter(|(sse, _)| sse.to_string_lossy().contains("0.11.0")) {
        let before = fold(&std::fs::read_to_string(jsonl).unwrap());
        for form in ["stream", "snapshot"] {
            let compacted = threadline(&["compact", "--form", form, jsonl.to_str().unwrap()], "");
            assert_eq!((compacted.code, compacted.stderr.as_str()), (0, ""), "{}", jsonl.display());
            let after = fold(compacted.text());
            for held in [
                "outcome",
                "messages",
                "state",
                "interrupts",
                "pendingToolCalls",
                "usage",
                "runs",
                "warnings",
            ] {
                assert_eq!(after[held], before[held], "{held} of {} as {form}", jsonl.display());
            }
            let again = threadline(&["compact", "--form", form], compacted.text());
            assert_eq!(again.text(), compacted.text());
        }
    }
}

#[test]
fn the_form_can_be_chosen() {
    let input = [START, CHUNK, FINISH].join("\n");
    let types = |args: &[&str]| -> Vec<String> {
        let ran = threadline(args, &input);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let types =
            ran.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take());
        types.map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let stream =
        ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"];
    assert_eq!(types(&["compact"]), stream);
    assert_eq!(types(&["compact", "--form", "stream"]), stream);
    assert_eq!(
        types(&["compact", "--form", "snapshot"]),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
    assert_eq!(threadline(&["compact", "--form", "short"], "").code, 2);
}

#[test]
fn the_state_before_can_be_told() {
    let input = [START, DELTA, FINISH].join("\n");
    let path = std::env::temp_dir().join(format!("threadline-base-{}.json", std::process::id()));
    std::fs::write(&path, "{\"b\":2}").unwrap();
    for form in ["stream", "snapshot"] {
        let untold = threadline(&["compact", "--form", form], &input);
        assert_eq!(untold.text().lines().nth(1), Some(DELTA));
        let told = threadline(&["compact", "--form", form, "--base-state", path.to_str().unwrap()], &input);
        assert_eq!(told.text().lines().nth(1), Some(r#"{"type":"STATE_SNAPSHOT","snapshot":{"b":2,"a":1}}"#));
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(threadline(&["compact", "--base-state", "no/such/file"], "").code, 3);
}

#[test]
fn what_cannot_be_compacted_is_left_out_and_said() {
    let input = [START, r#"{"type":"TOOL_CALL_CHUNK","delta":"x"}"#, r#"{"type":"RAW"}"#, FINISH].join("\n");
    for form in ["stream", "snapshot"] {
        let ran = threadline(&["compact", "--form", form], &input);
        assert_eq!((ran.code, ran.text()), (1, format!("{START}\n{FINISH}\n").as_str()));
        let said: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("stdin: line 2: TOOL_CALL_CHUNK: left out: "), "{said:?}");
        assert!(said[1].starts_with("stdin: line 3: RAW: malformed, left out: "), "{said:?}");
    }
    assert_eq!(threadline(&["compact"], "no event\n").code, 2);
}

#[test]
fn a_run_is_given_as_soon_as_it_has_ended() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["compact", "--from", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        writeln!(stdin, "{START}\n{DELTA}\n{FINISH}").unwrap();
        for expected in [START, DELTA, FINISH] {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), expected);
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
