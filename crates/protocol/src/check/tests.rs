use super::*;
use std::collections::BTreeSet;

const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#;

fn check<'j>(events: impl IntoIterator<Item = &'j str>) -> CheckReport {
    let mut checker = Checker::new();
    for event in events {
        checker.push(event);
    }
    checker.finish()
}

/// What is found in an event that comes after RUN_STARTED: severity, code and path.
fn found(json: &str) -> Vec<(&'static str, &'static str, String)> {
    let found = check([START, json]).findings.into_iter().filter(|found| found.positions.contains(&1));
    found.map(|found| (found.severity.name(), found.code.name(), found.path)).collect()
}

/// What is found in a stream: code, how often, and where.
fn summary(report: &CheckReport) -> Vec<(&'static str, u64, &[u64])> {
    report.findings.iter().map(|found| (found.code.name(), found.count, found.positions.as_slice())).collect()
}

type Expected = &'static [(&'static str, &'static str, &'static str)];

/// An event a row, and everything that is wrong with it.
#[rustfmt::skip]
const EVENTS: &[(&str, Expected)] = &[
    (r#"{"type":"RUN_ERROR""#, &[("error", "not_json", "")]),
    ("[1]", &[("error", "not_an_object", "")]),
    (r#"{"x":1}"#, &[("error", "no_type", "")]),
    (r#"{"type":5,"x":1}"#, &[("error", "no_type", "")]),
    (r#"{"event":"vendor"}"#, &[("error", "no_type", "")]),
    (r#"{"event":"RAW","source":"x"}"#, &[("error", "type_member", "/event"), ("error", "missing_member", "/event")]),
    (r#"{"kind":"STEP_STARTED","stepName":"s"}"#, &[("error", "type_member", "/kind")]),
    (r#"{"eventType":"stepStarted","stepName":"s"}"#, &[("error", "type_member", "/eventType"), ("error", "type_spelling", "/type")]),
    (r#"{"event_type":"STEP_STARTED","stepName":"s"}"#, &[("error", "type_member", "/event_type")]),

    (r#"{"type":"textMessageStart","messageId":"m"}"#, &[("error", "type_spelling", "/type")]),
    (r#"{"type":"TextMessageStartEvent","messageId":"m"}"#, &[("error", "type_spelling", "/type")]),
    (r#"{"type":"thinkingStart"}"#, &[("error", "type_spelling", "/type"), ("note", "thinking_event", "")]),
    (r#"{"type":"budgetAlert"}"#, &[("error", "unknown_type", "/type")]),
    (r#"{"type":"typingStart"}"#, &[("error", "foreign_type", "/type")]),
    (r#"{"type":"LifecycleError","error":"no","code":"E"}"#, &[("error", "foreign_type", "/type"), ("error", "member_name", "/error")]),
    (r#"{"type":"messageDelta","messageId":"m","delta":{"type":"text","text":"Hello"}}"#,
        &[("error", "foreign_type", "/type"), ("error", "text_in_object", "/delta")]),

    (r#"{"type":"TEXT_MESSAGE_START","message_id":"m"}"#, &[("error", "member_spelling", "/message_id")]),
    (r#"{"type":"TEXT_MESSAGE_START","id":"m"}"#, &[("error", "member_name", "/id")]),
    (r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","text":"x"}"#, &[("error", "member_name", "/text")]),
    (r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parent_message_id":"m"}"#,
        &[("error", "member_spelling", "/parent_message_id")]),
    (r#"{"type":"TOOL_CALL_START","tool_call_id":"c","tool_name":"f"}"#,
        &[("error", "member_spelling", "/tool_call_id"), ("error", "member_name", "/tool_name")]),
    (r#"{"type":"TOOL_CALL_START","toolCallId":"c","name":"f"}"#, &[("error", "member_name", "/name")]),
    (r#"{"type":"STATE_DELTA","patch":[]}"#, &[("error", "member_name", "/patch")]),
    (r#"{"type":"STATE_DELTA","patch":{"op":"add","path":"/a","value":1}}"#,
        &[("error", "member_name", "/patch"), ("error", "patch_not_a_list", "/patch")]),
    (r#"{"type":"STATE_DELTA","delta":{"op":"add","path":"a","value":1}}"#,
        &[("error", "patch_not_a_list", "/delta"), ("error", "wrong_value", "/delta/path")]),
    (r#"{"type":"STATE_SNAPSHOT","state":{}}"#, &[("error", "member_name", "/state")]),
    (r#"{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"a","delta":[]}"#, &[("error", "member_name", "/delta")]),
    (r#"{"type":"RUN_ERROR","error":{"message":"no"}}"#,
        &[("error", "member_name", "/error"), ("error", "text_in_object", "/error")]),
    (r#"{"type":"RUN_ERROR","message":"no","a/b~c":1}"#, &[("warning", "unknown_member", "/a~1b~0c")]),
    (r#"{"type":"STEP_STARTED"}"#, &[("error", "missing_member", "/stepName")]),
    (r#"{"type":"RUN_ERROR","message":"no","code":null}"#, &[("error", "null_member", "/code")]),
    (r#"{"type":"RUN_ERROR","message":5,"code":6}"#, &[("error", "wrong_value", "/message"), ("error", "wrong_value", "/code")]),
    (r#"{"type":"RUN_ERROR","message":"no","timestamp":"now"}"#, &[("error", "timestamp_not_integer", "/timestamp")]),
    (r#"{"type":"RUN_ERROR","message":"no","timestamp":1.5}"#, &[("error", "timestamp_not_integer", "/timestamp")]),
    (r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"bot"}"#, &[("error", "unknown_word", "/role")]),
    (r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"oracle"}"#, &[("error", "unknown_word", "/role")]),
    (r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"maybe"}}"#, &[("error", "unknown_variant", "/outcome")]),
    (r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}"#,
        &[("error", "wrong_value", "/outcome/interrupts")]),
    (r#"{"type":"STATE_DELTA","delta":[{"op":"merge"},5]}"#,
        &[("error", "wrong_value", "/delta/1"), ("error", "unknown_variant", "/delta/0")]),

    (r#"{"type":"MESSAGES_SNAPSHOT","messages":["Hi"]}"#, &[("error", "message_is_text", "/messages/0")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","content":"Hi"}]}"#, &[("error", "message_without_id", "/messages/0/id")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"messageId":"m","role":"user","content":"Hi"}]}"#,
        &[("error", "member_name", "/messages/0/messageId")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"human","content":""},{"id":"b","role":"oracle","content":5},{"id":"c"}]}"#,
        &[("error", "unknown_role", "/messages/0/role"), ("error", "unknown_role", "/messages/*/role")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","type":"tool","tool_call_id":"c","content":""},{"role":"tool","tool_call_id":"c","content":""}]}"#,
        &[("error", "member_name", "/messages/0/type"), ("error", "member_spelling", "/messages/*/tool_call_id"),
          ("error", "message_without_id", "/messages/1/id")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","tool_calls":[{"id":"c","name":"f","args":{}}]}]}"#,
        &[("error", "member_spelling", "/messages/0/tool_calls"), ("error", "flat_tool_call", "/messages/0/tool_calls/0"),
          ("error", "arguments_not_text", "/messages/0/tool_calls/0/args")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}]}"#,
        &[("error", "tool_call_without_type", "/messages/0/toolCalls/0/type")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":null}]}"#,
        &[("error", "null_member", "/messages/0/content")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"user","content":[{"type":"image_url"},{"type":"binary","mimeType":"a/b","id":"x"}]}]}"#,
        &[("error", "unknown_variant", "/messages/0/content/0"), ("error", "unknown_variant", "/messages/0/content/1")]),
    (r#"{"type":"TEXT_MESSAGE_START","messageId":"m","toolName":"f"}"#, &[("warning", "unknown_member", "/toolName")]),
    (r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":{"a":1}}"#,
        &[("error", "arguments_not_text", "/content"), ("warning", "result_of_unknown_call", "")]),
    (r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","arguments":{"a":1}}"#,
        &[("error", "member_name", "/arguments"), ("error", "arguments_not_text", "/arguments")]),

    (r#"{"type":"THINKING_START","title":"Hm"}"#, &[("note", "thinking_event", ""), ("warning", "thinking_title_lost", "/title")]),
    (r#"{"type":"THINKING_END"}"#, &[("note", "thinking_event", ""), ("error", "thinking_orphan", "")]),
    (r#"{"type":"RUN_ERROR","message":"no","rawEvent":null}"#, &[("note", "legacy_null", "/rawEvent")]),
    (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"AA=="}]}]}"#,
        &[("note", "binary_part", "/messages/0/content/0")]),
    (r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}"#, &[("error", "reasoning_role", "/role")]),
    (r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"ai"}"#, &[("error", "unknown_word", "/role")]),
    // A null that nobody knows does not hide one of 0.x.
    (r#"{"type":"RUN_ERROR","message":"no","rawEvent":null,"code":null}"#,
        &[("error", "null_member", "/code"), ("note", "legacy_null", "/rawEvent")]),
];

#[test]
fn everything_wrong_with_an_event_is_named_once() {
    for (json, expected) in EVENTS {
        let mut expected: Vec<_> =
            expected.iter().map(|&(severity, code, path)| (severity, code, path.to_owned())).collect();
        let mut found = found(json);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{json}");
    }
}

#[test]
fn inputs_are_checked_to_the_bottom() {
    let report = check([
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"messages":["Hi",{"id":"m","role":"ai"}]}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
        r#"{"type":"RUN_STARTED","thread_id":"t","runId":"s","protocolVersion":"0.9"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"s"}"#,
    ]);
    let found: Vec<_> =
        report.findings.iter().map(|found| (found.code.name(), found.path.as_str())).collect();
    assert_eq!(
        found,
        [
            ("message_is_text", "/input/messages/0"),
            ("unknown_role", "/input/messages/1/role"),
            ("input_incomplete", "/input/threadId"),
            ("input_incomplete", "/input/runId"),
            ("member_spelling", "/thread_id"),
            ("version_undeclared", "/protocolVersion"),
            ("version_other", "/protocolVersion"),
        ]
    );
}

#[test]
fn a_run_with_a_hopeless_input_has_started() {
    let messages = vec![r#"{"role":"user","content":"Hi"}"#; 300].join(",");
    let tools = vec![r#"{"name":"f"}"#; 100].join(",");
    let nulls = vec![r#"{"id":"m","role":"assistant","content":null}"#; 300].join(",");
    for (messages, tools) in [(messages.as_str(), ""), ("", tools.as_str()), (nulls.as_str(), "")] {
        let started = format!(
            r#"{{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0","input":{{"threadId":"t","runId":"r","messages":[{messages}],"tools":[{tools}]}}}}"#
        );
        let report = check([&started, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#]);
        assert!(report.errors <= 200, "{}", report.errors);
        assert!(report.findings.iter().any(|found| found.code == Code::NotAllChecked));
        assert!(report.findings.iter().all(|found| !matches!(found.code, Code::Sequence(_))), "{report:?}");
    }
}

#[test]
fn a_wrong_version_is_one_finding() {
    for version in ["null", "1.0"] {
        let started =
            format!(r#"{{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":{version}}}"#);
        let report = check([&started, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#]);
        assert_eq!(report.findings.len(), 1, "{report:?}");
    }
}

#[test]
fn every_code_has_a_test() {
    let mut tested: BTreeSet<&str> =
        EVENTS.iter().flat_map(|(_, expected)| expected.iter().map(|(_, code, _)| *code)).collect();
    // In tests of their own.
    tested.extend(["undecodable", "sse_line_ends", "lost_in_protobuf", "not_all_checked"]);
    tested.extend(["input_incomplete", "version_undeclared", "version_other", "patch_not_appliable"]);
    for code in Code::all() {
        assert!(!code.summary().is_empty() && !code.advice().is_empty());
        if !matches!(code, Code::Sequence(_) | Code::Chunk(_)) {
            assert!(tested.contains(code.name()), "{}", code.name());
        }
    }
}

#[test]
fn advice_names_the_right_word() {
    for (json, advice) in [
        (r#"{"type":"textMessageEnd","messageId":"m"}"#, "write TEXT_MESSAGE_END"),
        (r#"{"type":"thinkingEnd"}"#, "write REASONING_END"),
        (r#"{"type":"lifecycle.start"}"#, "write RUN_STARTED with threadId and runId"),
        (r#"{"type":"STATE_DELTA","patch":[]}"#, "write delta"),
        (r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"human"}"#, "write user"),
        (r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"AI"}]}"#, "write assistant"),
        (r#"{"type":"STEP_STARTED"}"#, "add stepName"),
        (r#"{"type":"THINKING_START"}"#, "write REASONING_START"),
    ] {
        let report = check([START, json]);
        assert!(report.findings.iter().any(|found| found.advice == advice), "{json}: {:?}", report.findings);
    }
}

#[test]
fn a_missing_run_is_one_finding() {
    let content = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    let report = check(std::iter::repeat_n(content, 1_000));
    assert_eq!(summary(&report), [("before_run_started", 1_000, &[0, 1, 2, 3, 4][..])]);
    assert_eq!((report.verdict, report.findings[0].event_type.as_deref()), (Verdict::Drift, None));

    // Once a run starts, all is well.
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
    let report = check([content, START, content, end]);
    assert_eq!(summary(&report), [("before_run_started", 1, &[0][..])]);
    let report = check([START, end, content, content, START]);
    assert_eq!(summary(&report), [("after_run_finished", 2, &[2, 3][..]), ("run_not_ended", 1, &[5])]);
    let report = check([START, r#"{"type":"RUN_ERROR","message":"no"}"#, end]);
    assert_eq!(summary(&report), [("after_run_error", 1, &[2][..])]);
}

#[test]
fn an_end_without_a_run_is_wrong_itself() {
    let [finished, failed] =
        [r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#, r#"{"type":"RUN_ERROR","message":"no"}"#];
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    let deviating = |events: [&str; 4], name: &str| {
        let report = check(events);
        let usage = report.coverage.event_types.into_iter().find(|usage| usage.name == name).unwrap();
        (usage.used, usage.deviating)
    };
    assert_eq!(deviating([START, failed, finished, custom], "RUN_FINISHED"), (1, 1));
    assert_eq!(deviating([START, failed, failed, custom], "RUN_ERROR"), (2, 1));
    // Clients accept an error after the end.
    assert_eq!(deviating([START, finished, failed, custom], "RUN_ERROR"), (1, 0));
    assert_eq!(deviating([START, custom, custom, finished], "RUN_FINISHED"), (1, 0));
    // What is said outside of a run would be right inside of one.
    assert_eq!(deviating([START, finished, custom, custom], "CUSTOM"), (2, 0));
}

#[test]
fn a_missing_start_is_one_finding() {
    let content = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}"#;
    let mut events = vec![START, "{"];
    events.extend(std::iter::repeat_n(content, 100));
    events.push(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#);
    events.push(r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
    assert_eq!(summary(&check(events)), [("text_not_open", 1, &[2][..]), ("not_json", 1, &[1])]);
}

#[test]
fn what_was_meant_counts_for_what_follows() {
    let report = check([
        r#"{"type":"lifecycle.start","sessionId":"t"}"#,
        r#"{"type":"tool_call_start","id":"c","tool":"f"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","args":"{}"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
    ]);
    let sequence = report.findings.iter().filter(|found| matches!(found.code, Code::Sequence(_)));
    assert_eq!(sequence.count(), 0, "{:?}", report.findings);
}

#[test]
fn a_run_that_ends_badly_ends() {
    let report = check([
        START,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"s","protocolVersion":"1.0"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"u","protocolVersion":"1.0"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"u"}"#,
    ]);
    assert_eq!(summary(&report), [("texts_left_open", 1, &[2][..]), ("run_still_active", 1, &[4])]);
}

#[test]
fn patches_are_judged_where_the_stream_shows_what_they_change() {
    let positions = |events: &[&str]| {
        let report = check(std::iter::once(START).chain(events.iter().copied()));
        let patches = report.findings.into_iter().filter(|found| found.code == Code::PatchNotAppliable);
        patches.map(|found| (found.path, found.positions)).collect::<Vec<_>>()
    };
    let state = r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#;
    let add = r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/no","value":1}]}"#;
    let replace = r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/no","value":2}]}"#;
    let at = |path: &str, positions: &[u64]| vec![(path.to_owned(), positions.to_vec())];
    assert_eq!(positions(&[state, replace, add, replace, state, replace]), at("/delta", &[2, 6]));
    // Nobody knows what it is to change.
    assert_eq!(positions(&[replace]), []);
    let deep = format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{}{}}}"#, "[".repeat(600), "]".repeat(600));
    assert_eq!(positions(&[state, &deep, replace]), []);
    // What has errors, or cannot be read, could have made it fit.
    for wrong in [r#"{"type":"STATE_DELTA","delta":5}"#, r#"{"type":"STATE_SNAPSHOT","state":{"no":1}}"#, "{"]
    {
        assert_eq!(positions(&[state, wrong, replace]), [], "{wrong}");
    }
    assert_eq!(positions(&[state, r#"{"type":"VENDOR"}"#, replace]), at("/delta", &[3]));
    // Our own limits are not those of clients.
    let test = r#"{"op":"test","path":"","value":{}},"#.repeat(1_000);
    let long = format!(r#"{{"type":"STATE_DELTA","delta":[{test}{{"op":"add","path":"/no","value":1}}]}}"#);
    assert_eq!(positions(&[state, &long, replace]), []);

    let activity = |content: &str| {
        format!(r#"{{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"a","content":{content}}}"#)
    };
    let patch = |operation: &str| {
        format!(r#"{{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"a","patch":[{operation}]}}"#)
    };
    let remove = patch(r#"{"op":"remove","path":"/x"}"#);
    let whole = patch(r#"{"op":"replace","path":"","value":1}"#);
    let (empty, full) = (activity("{}"), activity(r#"{"x":1}"#));
    assert_eq!(positions(&[&full, &remove, &remove, &whole]), at("/patch", &[3, 4]));
    assert_eq!(positions(&[&remove]), []);
    let messages = r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#;
    assert_eq!(positions(&[&empty, messages, &remove]), []);
    // It changes nothing if there is an activity, and else the history may have one.
    let kept = full.replace("\"content\"", "\"replace\":false,\"content\"");
    assert_eq!(positions(&[&empty, &kept, &remove]), at("/patch", &[3]));
    assert_eq!(positions(&[&kept, &remove, &remove]), []);
}

#[test]
fn requests_tell_the_state_before_the_first_run() {
    let start = |run: &str, thread: &str, state: &str| {
        let input = format!(r#""input":{{"threadId":"{thread}","runId":"{run}","messages":[]{state}}}"#);
        format!(
            r#"{{"type":"RUN_STARTED","threadId":"{thread}","runId":"{run}","protocolVersion":"1.0",{input}}}"#
        )
    };
    let end = r#"{"type":"RUN_ERROR","message":"no"}"#;
    let replace = r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":2}]}"#;
    let count = |events: &[&str]| {
        let report = check(events.iter().copied());
        report.findings.iter().filter(|found| found.code == Code::PatchNotAppliable).count()
    };
    assert_eq!(count(&[&start("r", "t", ""), replace]), 1);
    assert_eq!(count(&[&start("r", "t", r#","state":{"b":1}"#), replace]), 1);
    assert_eq!(count(&[&start("r", "t", r#","state":{"a":1}"#), replace]), 0);
    // Between runs the client may change it, and another thread has another one.
    let state = r#"{"type":"STATE_SNAPSHOT","snapshot":{"b":1}}"#;
    assert_eq!(count(&[START, state, end, &start("s", "t", r#","state":{"b":1}"#), replace]), 1);
    assert_eq!(count(&[START, state, end, &start("s", "t", r#","state":{"c":1}"#), replace]), 0);
    let other = r#"{"type":"RUN_STARTED","threadId":"u","runId":"s","protocolVersion":"1.0"}"#;
    assert_eq!(count(&[START, state, end, other, replace]), 0);
}

#[test]
fn memory_of_activities_is_bounded() {
    let mut checker = Checker::new();
    checker.push(START);
    for number in 0..1_100 {
        checker.push(&format!(
            r#"{{"type":"ACTIVITY_SNAPSHOT","messageId":"{number}","activityType":"a","content":{{}}}}"#
        ));
    }
    for number in 0..1_100 {
        let remove = r#"[{"op":"remove","path":"/x"}]"#;
        checker.push(&format!(
            r#"{{"type":"ACTIVITY_DELTA","messageId":"{number}","activityType":"a","patch":{remove}}}"#
        ));
    }
    let report = checker.finish();
    let found = report.findings.iter().find(|found| found.code == Code::PatchNotAppliable).unwrap();
    assert_eq!(found.count, crate::limits::CHECK_ACTIVITIES_MAX as u64);
}

#[test]
fn memory_is_bounded() {
    let mut checker = Checker::new();
    checker.push(START);
    for number in 0..3_000 {
        checker.push(&format!(r#"{{"type":"VENDOR_{number}{}"}}"#, "x".repeat(1_000)));
    }
    let report = checker.finish();
    // The end of the stream is told, too, which is but a warning.
    assert_eq!(report.findings.len(), crate::limits::CHECK_FINDINGS_MAX + 1);
    let listed: u64 = report.findings.iter().map(|found| found.count).sum();
    assert_eq!(listed + report.omitted, 3_001);
    assert!(
        report.findings.iter().all(|found| found.event_type.as_ref().is_none_or(|name| name.len() < 300))
    );
}

#[test]
fn an_event_with_no_end_of_errors_is_left_at_some_point() {
    let strings = vec![r#""x""#; 10_000].join(",");
    assert_eq!(
        found(&format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{strings}]}}"#)),
        [("error", "message_is_text", "/messages/*".to_owned()), ("note", "not_all_checked", String::new())]
    );
    let parts = vec![r#"{"type":"text","text":5}"#; 10_000].join(",");
    let json = format!(
        r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"m","role":"user","content":[{parts}]}}]}}"#
    );
    let found = found(&json);
    assert_eq!(
        found,
        [
            ("error", "wrong_value", "/messages/0/content/*/text".to_owned()),
            ("note", "not_all_checked", String::new())
        ]
    );
    // Errors are not lost among warnings.
    let members = (0..2_000).map(|number| format!(r#","text_{number}":1"#)).collect::<String>();
    let json = format!(r#"{{"type":"TEXT_MESSAGE_START","messageId":"m"{members},"role":"oracle"}}"#);
    let found = super::tests::found(&json);
    assert!(found.contains(&("error", "unknown_word", "/role".to_owned())));
    assert!(found.contains(&("note", "not_all_checked", String::new())));
    // Nesting beyond what can be mended is reported all the same.
    let deep = format!(r#"{{"type":"RAW","event":{}{},"x":1}}"#, "[".repeat(1_000), "]".repeat(1_000));
    assert_eq!(super::tests::found(&deep), [("warning", "unknown_member", "/x".to_owned())]);
}

#[test]
fn the_verdict_says_how_bad_it_is() {
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
    assert_eq!(check([START, end]).verdict, Verdict::Conformant);
    assert_eq!(check([START]).verdict, Verdict::Warnings);
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    assert_eq!(check([START, custom, r#"{"type":"X"}"#, end]).verdict, Verdict::Drift);
    assert_eq!(check([START, r#"{"type":"X"}"#, r#"{"type":"X"}"#, end]).verdict, Verdict::Severe);
    assert_eq!(check(["no", "event"]).verdict, Verdict::Unreadable);
    assert_eq!(check([]).verdict, Verdict::Unreadable);
    // Old shapes are no reason to fail.
    let old = [START, r#"{"type":"THINKING_START"}"#, r#"{"type":"THINKING_END"}"#, end];
    assert_eq!(check(old).verdict, Verdict::Conformant);
}

#[test]
fn what_never_was_a_text_is_counted() {
    let mut checker = Checker::new();
    checker.push(START);
    assert!(checker.push_unreadable("not UTF-8"));
    assert!(checker.lost("MESSAGES_SNAPSHOT", "/messages/0/content/1"));
    checker.push(r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#);
    let report = checker.finish();
    assert_eq!((report.events, report.readable), (3, 2));
    let expected = [("run_not_ended", 1, &[3][..]), ("lost_in_protobuf", 1, &[2]), ("undecodable", 1, &[1])];
    assert_eq!(summary(&report), expected);
}

#[test]
fn line_ends_are_the_fault_of_the_stream() {
    let mut checker = Checker::new();
    checker.push(START);
    checker.push(r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
    assert!(checker.joined(1));
    let report = checker.finish();
    assert_eq!((summary(&report), report.verdict), (vec![("sse_line_ends", 1, &[1][..])], Verdict::Drift));
    assert_eq!(report.coverage.event_types.iter().map(|usage| usage.deviating).sum::<u64>(), 0);
}

#[test]
fn coverage_counts_what_is_used_and_how_well() {
    let report = check([
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[
            {"id":"a","role":"user","content":[{"type":"image","source":{"type":"url","value":"u"}},{"type":"text","text":1}]},
            {"id":"b","role":"assistant","toolCalls":[{"id":"c","name":"f","arguments":"{}"}],"metadata":{}}],
            "resume":[{"interruptId":"i","status":"resolved"}]}}"#,
        r#"{"type":"THINKING_START","subagentRunId":"s"}"#,
        r#"{"type":"textMessageStart","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"n"}"#,
        r#"{"type":"STATE_DELTA","delta":[]}"#,
    ]);
    let coverage = &report.coverage;
    assert_eq!([&coverage.event_types, &coverage.thinking_types, &coverage.roles].map(Vec::len), [31, 5, 7]);
    let used = |usages: &[Usage]| {
        let used = usages.iter().filter(|usage| usage.used > 0);
        used.map(|usage| (usage.name, usage.used, usage.deviating)).collect::<Vec<_>>()
    };
    assert_eq!(
        used(&coverage.event_types),
        [("RUN_STARTED", 1, 1), ("TEXT_MESSAGE_START", 2, 1), ("STATE_DELTA", 1, 0)]
    );
    assert_eq!(used(&coverage.thinking_types), [("THINKING_START", 1, 0)]);
    assert_eq!(used(&coverage.roles), [("assistant", 3, 1), ("user", 1, 1)]);
    assert_eq!(
        used(&coverage.structures),
        [
            ("RunAgentInput", 1, 1),
            ("resume entries", 1, 0),
            ("tool calls in messages", 1, 1),
            ("text parts", 1, 1),
            ("image parts", 1, 0),
            ("url sources", 1, 0),
            ("JSON patches", 1, 0),
            ("metadata", 1, 0),
            ("subagent attribution", 1, 0),
        ]
    );
}
