//! The contract, row by row, by what it refuses.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadline_evidence::bounds::{ARTIFACT_BYTES_MAX, MESSAGES_MAX};
use threadline_evidence::{Reason, check};

/// Section 12 of the plan, word for word.
const SECTION_12: &str = r#"{
"schema": "ag-ui.compacted-message-snapshot.export.v1",
"framework": "ag_ui",
"surface": "compacted_message_snapshot_artifact",
"thread_id_ref": "thread_123",
"run_id_ref": "run_456",
"started_at": "2026-04-14T19:00:00Z",
"messages": [
{
"id": "m1",
"role": "user",
"content": "Hello"
},
{
"id": "m2",
"role": "assistant",
"content": "Hi there"
}
],
"terminal_event": "RUN_FINISHED",
"finished_at": "2026-04-14T19:00:02Z"
}"#;

fn finished() -> Value {
    serde_json::from_str(SECTION_12).expect("a fixture that is good")
}

fn failed() -> Value {
    let mut artifact = finished();
    artifact["terminal_event"] = json!("RUN_ERROR");
    artifact["error_code"] = json!("lookup_interrupted");
    artifact["error_message"] = json!("the run ended before it was done");
    artifact["parent_run_id_ref"] = json!("run_455");
    artifact
}

fn reasons(artifact: &Value) -> Vec<(Reason, String)> {
    match check(artifact.to_string().as_bytes()) {
        Ok(_) => Vec::new(),
        Err(refused) => {
            refused.refusals().iter().map(|refusal| (refusal.reason, refusal.path.clone())).collect()
        }
    }
}

/// What the contract says of an artifact with one change.
fn refused(of: Value, pointer: &str, value: Value) -> Vec<(Reason, String)> {
    let mut artifact = of;
    let (parent, key) = pointer.rsplit_once('/').expect("a fixture that is good");
    let parent = artifact.pointer_mut(parent).expect("a fixture that is good");
    match parent {
        Value::Array(list) => list[key.parse::<usize>().expect("a fixture that is good")] = value,
        parent => parent[key] = value,
    }
    reasons(&artifact)
}

#[test]
fn section_12_is_an_artifact_verbatim() {
    let artifact = check(SECTION_12.as_bytes()).unwrap();
    assert_eq!(artifact.messages().len(), 2);
    assert_eq!(reasons(&failed()), []);
}

#[test]
fn every_row_is_enforced_by_name() {
    use Reason::*;
    let long = |chars: usize| json!("x".repeat(chars));
    let rows = [
        ("/schema", json!("ag-ui.compacted-message-snapshot.export.v2"), WrongValue),
        ("/schema", json!(1), WrongType),
        ("/framework", json!("AG_UI"), WrongValue),
        ("/framework", json!("ag-ui"), WrongValue),
        ("/surface", json!("compacted-message-snapshot-artifact"), WrongValue),
        ("/surface", Value::Null, WrongType),
        ("/thread_id_ref", json!(""), Blank),
        ("/thread_id_ref", json!("https://host/thread"), ResolvingRef),
        ("/thread_id_ref", json!("//host/x"), ResolvingRef),
        ("/thread_id_ref", json!("www.host/x"), ResolvingRef),
        ("/thread_id_ref", json!("javascript:x"), ResolvingRef),
        ("/thread_id_ref", json!("urn:uuid:1"), ResolvingRef),
        ("/thread_id_ref", long(97), TooLong),
        ("/thread_id_ref", Value::Null, WrongType),
        ("/run_id_ref", json!("a b"), UnsafeRef),
        ("/run_id_ref", json!("a/b"), UnsafeRef),
        ("/run_id_ref", json!(7), WrongType),
        ("/run_id_ref", long(97), TooLong),
        ("/parent_run_id_ref", Value::Null, WrongType),
        ("/parent_run_id_ref", json!("data:,x"), ResolvingRef),
        ("/parent_run_id_ref", long(97), TooLong),
        ("/started_at", json!("2026-04-14"), BadTime),
        ("/started_at", json!("2026-04-14T19:00:00"), BadTime),
        ("/started_at", json!("2026-04-14 19:00:00Z"), BadTime),
        ("/started_at", json!("2026-W16-2T19:00:00Z"), BadTime),
        ("/started_at", json!("2026-04-14T18:00:00.1234567Z"), BadTime),
        ("/started_at", json!(1_776_193_200), WrongType),
        ("/finished_at", json!("2026-04-14T18:59:59Z"), FinishedBeforeStarted),
        ("/finished_at", json!("2026-04-14T19:59:59+01:00"), FinishedBeforeStarted),
        ("/finished_at", json!("soon"), BadTime),
        ("/finished_at", Value::Null, WrongType),
        ("/messages", json!([]), NoMessages),
        ("/messages", json!({}), WrongType),
        ("/messages", Value::Null, WrongType),
        ("/messages/0", json!("Hello"), WrongType),
        ("/messages/0/id", json!(" "), Blank),
        ("/messages/0/id", json!("https://host/m"), ResolvingRef),
        ("/messages/0/id", long(97), TooLong),
        ("/messages/1/id", json!("m1"), DuplicateMessageId),
        ("/messages/0/role", json!("reasoning"), UnknownRole),
        ("/messages/0/role", json!("activity"), UnknownRole),
        ("/messages/0/role", json!("User"), UnknownRole),
        ("/messages/0/role", Value::Null, WrongType),
        ("/messages/0/content", json!(""), Blank),
        ("/messages/0/content", json!("  "), Blank),
        ("/messages/0/content", json!(" Hello"), Padded),
        ("/messages/0/content", json!("Hello\n"), Padded),
        ("/messages/0/content", long(401), TooLong),
        ("/messages/0/content", Value::Null, WrongType),
        ("/messages/0/content", json!([{"type": "text", "text": "Hello"}]), WrongType),
        ("/messages/0/content", json!("a\u{0}b"), ControlCharacter),
        ("/messages/0/content", json!("data:image/png;base64,iVBORw0KGgo="), DataUri),
        ("/messages/0/name", Value::Null, WrongType),
        ("/messages/0/name", json!(""), Blank),
        ("/messages/0/name", long(61), TooLong),
        ("/messages/0/toolCalls", json!([]), UnknownField),
        ("/messages/0/toolCallId", json!("c"), UnknownField),
        ("/messages/0/encryptedValue", json!("x"), UnknownField),
        ("/messages/0/metadata", json!({}), UnknownField),
        ("/terminal_event", json!("RUN_CANCELLED"), WrongValue),
        ("/terminal_event", json!("run_error"), WrongValue),
        ("/terminal_event", json!(" RUN_ERROR"), WrongValue),
        ("/terminal_event", Value::Null, WrongType),
        ("/error_message", Value::Null, WrongType),
        ("/error_message", long(201), TooLong),
        ("/error_message", json!("a\nb"), ControlCharacter),
        ("/error_message", json!("Traceback (most recent call last): boom"), StackTrace),
        ("/error_message", json!("GET http://10.0.0.1/ failed"), LinkInError),
        ("/error_code", Value::Null, WrongType),
        ("/error_code", long(49), TooLong),
        ("/error_code", json!("\u{7}"), ControlCharacter),
    ];
    for (pointer, value, reason) in rows {
        let told = refused(failed(), pointer, value.clone());
        assert!(told.iter().any(|(found, _)| *found == reason), "{pointer} {value}: {told:?}");
        assert!(
            told.iter().all(|(_, path)| path.starts_with(pointer.rsplit_once('/').unwrap().0)),
            "{pointer}: {told:?}"
        );
    }
}

#[test]
fn required_fields_are_required() {
    for field in [
        "schema",
        "framework",
        "surface",
        "thread_id_ref",
        "run_id_ref",
        "started_at",
        "messages",
        "terminal_event",
        "error_message",
    ] {
        let mut artifact = failed();
        artifact.as_object_mut().unwrap().remove(field);
        assert_eq!(reasons(&artifact), [(Reason::MissingField, format!("/{field}"))]);
    }
    for field in ["id", "role", "content"] {
        let mut artifact = finished();
        artifact["messages"][1].as_object_mut().unwrap().remove(field);
        assert_eq!(reasons(&artifact), [(Reason::MissingField, format!("/messages/1/{field}"))]);
    }
    for field in ["parent_run_id_ref", "finished_at", "error_code"] {
        let mut artifact = failed();
        artifact.as_object_mut().unwrap().remove(field);
        assert_eq!(reasons(&artifact), []);
    }
}

#[test]
fn errors_belong_to_failed_runs() {
    for field in ["error_code", "error_message"] {
        let told = refused(finished(), &format!("/{field}"), json!("x"));
        assert_eq!(told, [(Reason::ErrorWithoutFailure, format!("/{field}"))]);
        let told = refused(finished(), &format!("/{field}"), Value::Null);
        assert!(told.contains(&(Reason::ErrorWithoutFailure, format!("/{field}"))));
    }
}

/// Section 9: what is not part of v1 makes an artifact malformed, wherever it is put.
#[test]
fn no_non_goal_gets_in() {
    for (goal, field, value) in [
        ("STATE_SNAPSHOT", "state", json!({"a": 1})),
        ("STATE_DELTA", "state_delta", json!([{"op": "add", "path": "/a", "value": 1}])),
        ("RAW", "raw", json!({"event": {}})),
        ("CUSTOM", "custom", json!({"name": "n", "value": 1})),
        ("tool call streaming fidelity", "tool_calls", json!([])),
        ("step-level completeness", "steps", json!(["a"])),
        ("frontend activity semantics", "activities", json!([])),
        ("replay completeness claims", "replayable", json!(true)),
        ("branch correctness claims", "branch", json!("main")),
        ("transport semantics", "transport", json!("sse")),
        ("RunStarted.input normalization", "input", json!({"messages": []})),
        ("a full raw event log", "events", json!([{"type": "RUN_STARTED"}])),
        ("vendor metadata", "metadata", json!({})),
    ] {
        let told = refused(finished(), &format!("/{field}"), value.clone());
        assert_eq!(told, [(Reason::UnknownField, format!("/{field}"))], "{goal}");
        let told = refused(finished(), &format!("/messages/0/{field}"), value);
        assert_eq!(told, [(Reason::UnknownField, format!("/messages/0/{field}"))], "{goal}");
    }
}

#[test]
fn only_strict_json_is_read() {
    let reason = |text: &str| check(text.as_bytes()).unwrap_err().refusals()[0].reason;
    assert_eq!(reason(&format!("\u{FEFF}{SECTION_12}")), Reason::Bom);
    assert_eq!(reason(&format!("{SECTION_12} {{}}")), Reason::TrailingBytes);
    assert_eq!(reason(&SECTION_12.replace("\"role\"", "\"id\"")), Reason::DuplicateKey);
    assert_eq!(reason(&SECTION_12.replace("Hello", "\\ud83d")), Reason::LoneSurrogate);
    assert_eq!(reason(&SECTION_12.replace("}", "")), Reason::NotJson);
    assert_eq!(reason("[]"), Reason::WrongType);
    assert_eq!(reason("null"), Reason::WrongType);
    assert_eq!(check(b"{\"schema\":\"\xFF\"}").unwrap_err().refusals()[0].reason, Reason::NotUtf8);
}

#[test]
fn it_is_bounded() {
    let message = |index: usize| json!({"id": format!("m{index}"), "role": "user", "content": "x"});
    let with = |count: usize| refused(finished(), "/messages", (0..count).map(message).collect());
    assert_eq!(with(MESSAGES_MAX), []);
    assert_eq!(with(MESSAGES_MAX + 1), [(Reason::TooManyMessages, "/messages".to_owned())]);
    let padded = format!("{SECTION_12}{}", " ".repeat(ARTIFACT_BYTES_MAX));
    assert!(check(padded.as_bytes()).unwrap_err().has(Reason::TooLarge));
}

#[test]
fn what_is_wrong_is_told_together_and_says_nothing_of_the_input() {
    let mut artifact = finished();
    artifact["framework"] = json!("secret-1");
    artifact["run_id_ref"] = json!("secret 2");
    artifact["messages"][0]["content"] = json!(" secret-3");
    artifact["secret\n4"] = json!("secret-5");
    let refused = check(artifact.to_string().as_bytes()).unwrap_err();
    let reasons: Vec<Reason> = refused.refusals().iter().map(|refusal| refusal.reason).collect();
    assert_eq!(reasons, [Reason::UnknownField, Reason::WrongValue, Reason::UnsafeRef, Reason::Padded]);
    assert!(!refused.to_string().contains("secret"), "{refused}");
}

/// Any JSON below the keys of an artifact, now and then the right thing.
fn artifacts() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z]{1,8}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,8}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let field = proptest::sample::select(vec![
        "/thread_id_ref",
        "/started_at",
        "/messages",
        "/messages/0",
        "/messages/1/content",
        "/messages/0/name",
        "/terminal_event",
        "/finished_at",
        "/error_message",
        "/other",
    ]);
    (any::<bool>(), field, value).prop_map(|(ended_well, pointer, value)| {
        let mut artifact = if ended_well { finished() } else { failed() };
        match artifact.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => drop(
                artifact
                    .as_object_mut()
                    .expect("a fixture that is good")
                    .insert(pointer[1..].to_owned(), value),
            ),
        }
        artifact
    })
}

proptest! {
    #[test]
    fn no_bytes_crash_the_checker(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        let _ = check(&bytes);
    }

    #[test]
    fn no_json_crashes_the_checker(artifact in artifacts()) {
        let _ = check(artifact.to_string().as_bytes());
    }

    #[test]
    fn no_cut_and_no_flipped_bit_crashes_the_checker(cut in 0..SECTION_12.len(), bit in 0..8_u32) {
        let _ = check(&SECTION_12.as_bytes()[..cut]);
        let mut bytes = SECTION_12.as_bytes().to_vec();
        bytes[cut] ^= 1 << bit;
        let _ = check(&bytes);
    }

    /// Both ways of writing an artifact mean the same one.
    #[test]
    fn writing_changes_nothing(artifact in artifacts()) {
        if let Ok(artifact) = check(artifact.to_string().as_bytes()) {
            prop_assert_eq!(&check(artifact.to_json().as_bytes()).unwrap(), &artifact);
            prop_assert_eq!(&check(artifact.to_canonical_json().as_bytes()).unwrap(), &artifact);
        }
    }
}
