//! `threadline enforce`

use crate::{captures, threadline};

#[test]
fn survivors_go_to_stdout_and_findings_to_stderr() {
    let input = concat!(
        "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n",
        "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\",\"x\":1}\n",
        "{\"type\":\"VENDOR\"}\n",
        "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":null}\n",
        "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"role\":\"oracle\"}\n",
    );
    let ran = threadline(&["enforce"], input);
    assert_eq!(ran.code, 1);
    let line = "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n";
    assert_eq!(ran.text(), format!("{line}{line}"));
    assert_eq!(
        ran.stderr,
        "stdin: line 2: TEXT_MESSAGE_END: unknown, stripped. path=/x\n\
         stdin: line 3: VENDOR: unknown, dropped\n\
         stdin: line 4: TEXT_MESSAGE_END: refused: expected a string, found null. path=/messageId, byte=39\n\
         stdin: line 5: TEXT_MESSAGE_START: refused: unknown word. path=/role\n"
    );

    let ran = threadline(&["enforce", "--unknown-words", "strip", "--format", "json"], input);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.text().lines().count(), 3);
    let findings: Vec<serde_json::Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        findings[3],
        serde_json::json!({"severity": "finding", "code": "stripped", "event": 5, "line": 5,
            "type": "TEXT_MESSAGE_START", "path": "/role", "message": "unknown, stripped. path=/role"})
    );
}

#[test]
fn recorded_streams_of_1_0_pass_untouched() {
    for (_, jsonl) in captures().iter().filter(|(sse, _)| sse.to_string_lossy().contains("0.11.0")) {
        let ran = threadline(&["enforce", jsonl.to_str().unwrap()], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", jsonl.display());
        assert_eq!(ran.stdout, std::fs::read(jsonl).unwrap());
    }
}
