//! `threadline check`

use crate::{captures, threadline};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/check").join(name);
    std::fs::read_to_string(path).expect("a fixture")
}

fn json(stdin: &str) -> Value {
    let ran = threadline(&["check", "--format", "json"], stdin);
    assert_eq!(ran.stderr, "");
    serde_json::from_str(ran.text()).expect("JSON")
}

/// Code, type, path and count of each finding.
fn found(report: &Value) -> Vec<(&str, &str, &str, u64)> {
    let findings = report["findings"].as_array().expect("findings");
    findings
        .iter()
        .map(|finding| {
            let [code, event_type, path] =
                ["code", "type", "path"].map(|member| finding[member].as_str().unwrap_or(""));
            (code, event_type, path, finding["count"].as_u64().unwrap_or(0))
        })
        .collect()
}

/// The examples of AG-UI's own page on serialization, verbatim.
#[test]
fn every_deviation_of_the_documentation_is_named() {
    let report = json(&fixture("seed-serialization.json"));
    assert_eq!(report["verdict"], "severe");
    assert_eq!(
        found(&report),
        [
            ("before_run_started", "", "", 8),
            ("message_is_text", "RUN_STARTED", "/input/messages/0", 2),
            ("input_incomplete", "RUN_STARTED", "/input/threadId", 4),
            ("input_incomplete", "RUN_STARTED", "/input/runId", 4),
            ("run_still_active", "RUN_STARTED", "", 3),
            ("missing_member", "RUN_STARTED", "/threadId", 2),
            ("run_not_ended", "", "", 1),
            ("version_undeclared", "RUN_STARTED", "/protocolVersion", 4),
            ("member_name", "STATE_DELTA", "/patch", 2),
            ("patch_not_a_list", "STATE_DELTA", "/patch", 2),
            ("member_name", "STATE_SNAPSHOT", "/state", 1),
        ]
    );
}

/// A stream as the drift analysis of a producer with a dialect of its own describes it.
#[test]
fn a_dialect_is_told_what_to_write_instead() {
    let report = json(&fixture("foreign-dialect.jsonl"));
    assert_eq!(report["verdict"], "severe");
    let codes: BTreeSet<&str> = found(&report).iter().map(|(code, ..)| *code).collect();
    assert_eq!(
        codes,
        BTreeSet::from([
            "arguments_not_text",
            "flat_tool_call",
            "foreign_type",
            "member_name",
            "member_spelling",
            "missing_member",
            "text_in_object",
            "timestamp_not_integer",
            "type_member",
            "type_spelling",
            "unknown_member",
            "unknown_role",
            "unknown_type",
            "unknown_word",
            "version_undeclared",
        ])
    );
    // What was meant is understood, so that nothing is said about the order.
    let types = report["coverage"]["eventTypes"].as_array().unwrap();
    assert_eq!(types.len(), 31);
    let used: Vec<&str> = types
        .iter()
        .filter(|usage| usage["used"] != 0)
        .map(|usage| usage["name"].as_str().unwrap())
        .collect();
    assert!(used.contains(&"TEXT_MESSAGE_CHUNK") && used.contains(&"RUN_STARTED"), "{used:?}");
}

#[test]
fn people_get_a_report_by_family() {
    let input = concat!(
        "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\",\"protocolVersion\":\"1.0\"}\n",
        "{\"type\":\"textMessageStart\",\"messageId\":\"m\"}\n",
        "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a\",\"seq\":1}\n",
        "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"b\",\"seq\":2}\n",
        "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\",\"seq\":3}\n",
        "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
    );
    let ran = threadline(&["check"], input);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let expected = "\
stdin: drift: 1 error, 3 warnings in 6 events

text
  error    textMessageStart  line 2
           AG-UI spells the type differently, clients drop the event [type_spelling]
           -> write TEXT_MESSAGE_START
  warning  TEXT_MESSAGE_CONTENT, TEXT_MESSAGE_END  /seq  3 times: lines 3, 4, 5
           AG-UI 1.0 has no member `seq` here, clients strip it [unknown_member]
           -> leave it out, or put it into `metadata`

what of AG-UI 1.0 is used
  event types: 5 of 31 used, 2 correctly
    lifecycle:   RUN_STARTED 1, RUN_FINISHED 1; not used: RUN_ERROR, STEP_STARTED, STEP_FINISHED
    text:        TEXT_MESSAGE_START 1 (1 wrong), TEXT_MESSAGE_CONTENT 2 (2 wrong),
                 TEXT_MESSAGE_END 1 (1 wrong); not used: TEXT_MESSAGE_CHUNK
";
    assert!(ran.text().starts_with(expected), "{}", ran.text());
    assert!(ran.text().contains("\n  roles: 1 of 7 used, 1 correctly\n    assistant 1; not used: "));
}

#[test]
fn sarif_has_a_rule_and_a_place_for_every_result() {
    for (input, region) in [("seed-serialization.json", "byteOffset"), ("foreign-dialect.jsonl", "startLine")]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/check").join(input);
        let ran = threadline(&["check", "--format", "sarif", path.to_str().unwrap()], "");
        assert_eq!(ran.code, 1);
        let sarif: Value = serde_json::from_str(ran.text()).unwrap();
        assert_eq!(sarif["version"], "2.1.0");
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), rules.len());
        for rule in rules {
            assert!(rule["shortDescription"]["text"].is_string() && rule["help"]["text"].is_string());
        }
        let results = run["results"].as_array().unwrap();
        assert!(!results.is_empty());
        for result in results {
            assert!(ids.contains(result["ruleId"].as_str().unwrap()));
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
            assert!(result["message"]["text"].is_string());
            let place = &result["locations"][0]["physicalLocation"];
            assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with(input));
            assert!(place["region"][region].is_u64() || result["ruleId"] == "run_not_ended", "{result}");
        }
    }
    // A name with a space is no URI.
    let ran = threadline(&["check", "--format", "sarif", "no such file"], "");
    assert_eq!((ran.code, ran.text()), (3, ""));
}

#[test]
fn exit_codes_tell_what_became_of_it() {
    let start = "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n";
    let end = "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n";
    let code = |input: &[u8]| threadline(&["check"], input).code;
    // Notes are no reason to fail, warnings are.
    assert_eq!(code(format!("{start}{end}").as_bytes()), 0);
    assert_eq!(code(start.as_bytes()), 1);
    assert_eq!(code(format!("{start}no event\n{end}").as_bytes()), 1);
    assert_eq!(code(&[start.as_bytes(), b"{\"type\":\"\xff\"}\n", end.as_bytes()].concat()), 1);
    assert_eq!(code(format!("[{},", start.trim()).as_bytes()), 1);
    // What is no stream of events cannot be checked.
    assert_eq!(code(b""), 2);
    assert_eq!(code(b"<html>"), 2);
    assert_eq!(code(b"\0\xff\xff\xff"), 2);
    assert_eq!(threadline(&["check", "--format", "xml"], "").code, 2);
    assert_eq!(threadline(&["check", "no/such/file"], "").code, 3);
}

/// The reference splits an SSE stream at LF LF and nowhere else.
#[test]
fn line_ends_that_clients_do_not_know_are_told() {
    let start = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#;
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
    let sse = |line_end: &str| format!("data: {start}{line_end}{line_end}data: {end}{line_end}{line_end}");
    assert_eq!(threadline(&["check"], sse("\n")).code, 0);
    for line_end in ["\r\n", "\r"] {
        let input = sse(line_end);
        assert_eq!(threadline(&["check"], input.as_str()).code, 1);
        let report = json(&input);
        assert_eq!(
            (found(&report), &report["verdict"]),
            (vec![("sse_line_ends", "", "", 1)], &"drift".into())
        );
        let place = &report["findings"][0]["places"][0];
        assert_eq!((&place["event"], &place["line"]), (&2.into(), &3.into()));
    }
    // A single event is read at the end all the same, and lines of other formats do not matter.
    let error = "data: {\"type\":\"RUN_ERROR\",\"message\":\"no\"}\r\n\r\n";
    assert_eq!(threadline(&["check"], error).code, 0);
    assert_eq!(threadline(&["check"], format!("{start}\r\n{end}\r\n")).code, 0);
}

#[test]
fn recorded_streams_of_1_0_are_conformant() {
    for (sse, jsonl) in captures().iter().filter(|(sse, _)| sse.to_string_lossy().contains("0.11.0")) {
        for path in [sse, jsonl] {
            let ran = threadline(&["check", path.to_str().unwrap()], "");
            assert_eq!(ran.code, 0, "{}", ran.text());
            assert!(ran.text().contains(": conformant: nothing wrong in "), "{}", ran.text());
        }
    }
}

#[test]
fn protobuf_is_checked_as_well() {
    let (_, jsonl) = &captures()[0];
    let proto = threadline(&["convert", "--to", "proto", jsonl.to_str().unwrap()], "");
    let as_json = threadline(&["check", "--format", "json", jsonl.to_str().unwrap()], "");
    let as_proto = threadline(&["check", "--format", "json"], proto.stdout);
    let verdict = |text: &str| serde_json::from_str::<Value>(text).unwrap()["verdict"].clone();
    assert_eq!(verdict(as_proto.text()), verdict(as_json.text()));
}

#[test]
fn an_event_can_neither_forge_a_report_nor_command_the_terminal() {
    let ran = threadline(&["check"], "{\"type\":\"A\\nstdin: conformant\\u001b[31m\"}\n");
    assert!(ran.text().contains("A\\nstdin: conformant\\u{1b}[31m"), "{}", ran.text());
    assert!(!ran.text().contains('\u{1b}'));
}

/// Every code is in the documentation, and the documentation has no other.
#[test]
fn the_codes_are_documented() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let docs = std::fs::read_to_string(docs).expect("docs/check.md");
    // Those of endpoints are compared beside their table.
    let (docs, _) = docs.split_once("\n## A live endpoint").expect("a part about endpoints");
    let rows = docs.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    let codes: BTreeSet<&str> =
        threadline_protocol::check::Code::all().iter().map(|code| code.name()).collect();
    assert_eq!(documented, codes);
}
