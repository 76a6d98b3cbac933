//! `threadline convert`

use crate::{captures, threadline};

fn read(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).expect("a recorded stream")
}

#[test]
fn recorded_streams_survive_byte_for_byte() {
    for (sse, jsonl) in captures() {
        let to_jsonl = threadline(&["convert", "--to", "jsonl", sse.to_str().unwrap()], "");
        assert_eq!((to_jsonl.code, to_jsonl.stderr.as_str()), (0, ""), "{}", sse.display());
        assert_eq!(to_jsonl.stdout, read(&jsonl), "{}", sse.display());
        let to_sse = threadline(&["convert", "--to", "sse", jsonl.to_str().unwrap()], "");
        assert_eq!((to_sse.code, &to_sse.stdout), (0, &read(&sse)), "{}", sse.display());
        // By way of a JSON array as well.
        let to_json = threadline(&["convert", "--to", "json", sse.to_str().unwrap()], "");
        let back = threadline(&["convert", "--to", "sse"], to_json.stdout);
        assert_eq!((back.code, &back.stdout), (0, &read(&sse)));
    }
}

#[test]
fn recorded_streams_survive_protobuf() {
    for (sse, jsonl) in captures() {
        let proto = threadline(&["convert", "--to", "proto", sse.to_str().unwrap()], "");
        let back = threadline(&["convert", "--to", "jsonl"], &proto.stdout);
        assert_eq!(back.code, 0, "{}", back.stderr);
        let values = |text: &[u8]| -> Vec<serde_json::Value> {
            let lines = std::str::from_utf8(text).unwrap().lines();
            lines.map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        assert_eq!(values(&back.stdout), values(&read(&jsonl)), "{}", sse.display());
    }
}

#[test]
fn a_broken_line_is_named_and_ends_the_work() {
    let input = "{\"type\":\"RAW\",\"event\":1}\n{\"type\":\"RAW\",\n{\"type\":\"RAW\",\"event\":2}\n";
    let ran = threadline(&["convert", "--to", "jsonl"], input);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.text(), "{\"type\":\"RAW\",\"event\":1}\n");
    assert_eq!(ran.stderr, "stdin: line 2: not JSON: unexpected end of JSON. byte=14\n");

    let ran = threadline(&["convert", "--to", "jsonl", "--keep-going"], input);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.text(), "{\"type\":\"RAW\",\"event\":1}\n{\"type\":\"RAW\",\"event\":2}\n");
}

#[test]
fn a_broken_first_line_costs_only_itself() {
    let good = "{\"type\":\"RAW\",\"event\":1}\n{\"type\":\"RAW\",\"event\":2}\n";
    for broken in ["{\"type\":\"RA", "{\"type\":\"RAW\",\"event\":1", "{"] {
        let ran = threadline(
            &["convert", "--to", "jsonl", "--from", "jsonl", "--keep-going"],
            format!("{broken}\n{good}"),
        );
        assert_eq!((ran.code, ran.text()), (2, good), "{broken}");
        if broken != "{" {
            let ran = threadline(&["convert", "--to", "jsonl", "--keep-going"], format!("{broken}\n{good}"));
            assert_eq!((ran.code, ran.text()), (2, good), "{broken}");
        }
    }
}

#[test]
fn an_event_that_grows_too_large_for_a_frame_is_left_out() {
    let numbers = vec!["1"; 2_000_000].join(",");
    let small = "{\"type\":\"RUN_ERROR\",\"message\":\"m\"}\n";
    let input = format!("{{\"type\":\"RAW\",\"event\":[{numbers}]}}\n{small}");
    let ran = threadline(&["convert", "--to", "proto"], input);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("stdin: line 1: RAW: left out: frame too large."), "{}", ran.stderr);
    assert_eq!(threadline(&["convert", "--to", "jsonl"], &ran.stdout).text(), small);
}

#[test]
fn pretty_printed_documents_become_lines() {
    let ran = threadline(&["convert", "--to", "jsonl"], "{\n  \"type\": \"X\"\n}\n");
    assert_eq!((ran.code, ran.text()), (0, "{   \"type\": \"X\" }\n"));
    let ran = threadline(&["convert", "--to", "json"], "");
    assert_eq!((ran.code, ran.text()), (0, "[]\n"));
}

#[test]
fn halves_of_an_emoji_pass() {
    let input = "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"\\ud83d\"}\n";
    let ran = threadline(&["convert", "--to", "sse"], input);
    let back = threadline(&["convert", "--to", "jsonl"], &ran.stdout);
    assert_eq!((back.code, back.text()), (0, input));
}

#[test]
fn what_protobuf_cannot_carry_is_a_finding() {
    let input = "{\"type\":\"RUN_ERROR\",\"message\":\"m\",\"vendor\":1}\n{\"type\":\"VENDOR\"}\n{\"type\":\"RUN_ERROR\"}\n";
    let ran = threadline(&["convert", "--to", "proto", "--format", "json"], input);
    assert_eq!(ran.code, 1);
    let findings: Vec<serde_json::Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<(&str, u64)> = findings
        .iter()
        .map(|finding| (finding["code"].as_str().unwrap(), finding["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(codes, [("lost", 1), ("not_encodable", 2), ("malformed", 3)]);
    assert_eq!(findings[0]["path"], "/vendor");
    let back = threadline(&["convert", "--to", "jsonl"], &ran.stdout);
    assert_eq!(back.text(), "{\"type\":\"RUN_ERROR\",\"message\":\"m\"}\n");
}

#[test]
fn truncated_protobuf_is_unreadable() {
    let ran = threadline(&["convert", "--to", "jsonl"], b"\0\0\0\x09\x72\x07");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("stdin: "), "{}", ran.stderr);
}
