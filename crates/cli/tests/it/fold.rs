//! `threadline expand` and `threadline fold`

use crate::{captures, threadline};
use serde_json::{Value, json};

const RUN: &str = concat!(
    "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
    "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"m\",\"delta\":\"Hel\"}\n",
    "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"delta\":\"lo\"}\n",
    "{\"type\": \"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
);

fn fold(args: &[&str], input: &str) -> (i32, Value, String) {
    let ran = threadline(&[&["fold"], args].concat(), input);
    (ran.code, serde_json::from_str(ran.text()).expect("JSON"), ran.stderr)
}

#[test]
fn chunks_are_expanded_and_other_events_pass_as_they_are() {
    let ran = threadline(&["expand"], RUN);
    assert_eq!(ran.code, 0);
    let lines: Vec<&str> = ran.text().lines().collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[1], r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#);
    assert_eq!(lines[4], r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#);
    assert_eq!(lines[5], RUN.lines().last().unwrap());

    let ran = threadline(&["expand"], "{\"type\":\"TOOL_CALL_CHUNK\",\"delta\":\"x\"}\n");
    assert_eq!((ran.code, ran.text()), (1, ""));
    assert!(ran.stderr.contains("TOOL_CALL_CHUNK: left out: nothing to continue"), "{}", ran.stderr);
}

#[test]
fn a_run_is_folded() {
    let (code, folded, stderr) = fold(&[], RUN);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(folded["outcome"], "completed");
    assert_eq!(folded["error"], Value::Null);
    assert_eq!(folded["messages"], json!([{"id": "m", "role": "assistant", "content": "Hello"}]));
    assert_eq!(folded["state"], json!({}));
    assert_eq!(folded["runs"][0]["status"], "success");
    assert_eq!(folded["eventTypes"].as_array().unwrap().len(), 6);
}

#[test]
fn a_stream_ends_where_a_client_hangs_up_unless_told_otherwise() {
    let input = format!(
        "{{\"type\":\"STATE_SNAPSHOT\",\"snapshot\":1}}\n{RUN}{{\"type\":\"RUN_ERROR\",\"message\":\"late\",\"x\":1}}\n"
    );
    let (code, folded, stderr) = fold(&[], &input);
    assert_eq!(code, 1);
    assert_eq!(folded["outcome"], "failed");
    assert_eq!(folded["error"]["position"], 0);
    assert_eq!(folded["messages"], json!([]));
    assert!(stderr.starts_with("stdin: line 1: "), "{stderr}");

    let (code, folded, _) = fold(&["--lenient"], &input);
    assert_eq!(code, 1);
    assert_eq!(folded["messages"][0]["content"], "Hello");
    assert_eq!(folded["runs"][0]["status"], "failed");
    assert_eq!(
        folded["warnings"][0],
        json!({"position": 5, "path": "/x", "message": "unknown, stripped. path=/x"})
    );
}

#[test]
fn a_client_may_hold_something_before() {
    let path = std::env::temp_dir().join(format!("threadline-input-{}.json", std::process::id()));
    let input = json!({"threadId": "t", "runId": "r", "state": {"a": 1}, "messages": [{"id": "u", "role": "user", "content": "Hi"}]});
    std::fs::write(&path, input.to_string()).unwrap();
    let stream = "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n{\"type\":\"STATE_DELTA\",\"delta\":[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2}]}\n";
    let (code, folded, _) = fold(&["--input", path.to_str().unwrap()], stream);
    std::fs::remove_file(&path).unwrap();
    assert_eq!((code, &folded["state"]), (0, &json!({"a": 2})));
    assert_eq!(folded["messages"][0]["content"], "Hi");
    assert_eq!(folded["runs"][0]["status"], "running");
}

#[test]
fn recorded_streams_of_1_0_fold_without_a_warning() {
    for (sse, _) in captures().iter().filter(|(sse, _)| sse.to_string_lossy().contains("0.11.0")) {
        let (code, folded, stderr) = fold(&[sse.to_str().unwrap()], "");
        assert_eq!((code, stderr.as_str()), (0, ""), "{}", sse.display());
        assert_eq!(folded["outcome"], "completed");
        assert_eq!(folded["warnings"], json!([]), "{}", sse.display());
    }
}

#[test]
fn a_peer_of_an_older_release_has_no_subagents() {
    let stream = concat!(
        "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
        "{\"type\":\"SUBAGENT_STARTED\",\"subagentRunId\":3}\n",
        "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"m\",\"delta\":\"Hi\",\"subagentRunId\":\"s\"}\n",
        "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
    );
    let (code, folded, _) = fold(&["--peer-version", "0.0.57"], stream);
    assert_eq!((code, &folded["outcome"]), (0, &json!("completed")));
    assert_eq!(folded["messages"], json!([{"id": "m", "role": "assistant", "content": "Hi"}]));
    assert_eq!(folded["warnings"][0]["position"], 1);
    let (code, folded, _) = fold(&["--peer-version", "1.0"], stream);
    assert_eq!((code, &folded["error"]["rule"]), (1, &json!("malformed")));
    let ran = threadline(&["fold", "--peer-version", "new"], stream);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("a version is two or three numbers"), "{}", ran.stderr);
}
