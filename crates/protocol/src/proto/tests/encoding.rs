//! What the binary form cannot carry.

use super::build::json_of;
use crate::event::{Received, RunError};
use crate::limits::PROTO_DEPTH_MAX as DEPTH_MAX;
use crate::proto::{EncodeError, Encoded, encode};

fn encoded(json: &str) -> Result<Encoded, EncodeError> {
    encode(Received::read(json).unwrap().event())
}

/// What is lost of an event, and what it comes back as.
#[track_caller]
fn assert_lost<const N: usize>(json: &str, lost: [&str; N], back: &str) {
    let encoded = encoded(json).unwrap();
    assert_eq!(encoded.lost, lost);
    assert_eq!(json_of(&encoded.bytes).unwrap().0, back);
}

#[test]
fn the_example_of_the_protocol() {
    let encoded = encode(&RunError::new("x").into()).unwrap();
    assert_eq!(encoded.bytes, b"\x72\x07\x0a\x02\x08\x0d\x1a\x01x");
    assert!(encoded.lost.is_empty());
}

#[test]
fn unknown_members_are_lost_wherever_they_are() {
    assert_lost(
        r#"{"type":"RUN_ERROR","message":"x","a/b~c":1,"usage":[{"model":"m"},{"tier":null}],"threadId":"t"}"#,
        ["/a~1b~0c", "/threadId", "/usage/1/tier"],
        r#"{"type":"RUN_ERROR","message":"x","usage":[{"model":"m"},{}]}"#,
    );
    assert_lost(
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","x":0,"messages":[
            {"role":"assistant","id":"m","toolCalls":[
                {"id":"c","type":"function","function":{"name":"n","arguments":"","x":0},"x":0}]},
            {"role":"user","id":"m","x":0,"content":[{"type":"image","x":0,"source":{"type":"url","value":"u","x":0}}]}
        ],"tools":[{"name":"n","description":"d","x":0}],"resume":[]}}"#,
        [
            "/input/x",
            "/input/messages/0/toolCalls/0/x",
            "/input/messages/0/toolCalls/0/function/x",
            "/input/messages/1/content/0/x",
            "/input/messages/1/content/0/source/x",
            "/input/messages/1/x",
            "/input/tools/0/x",
        ],
        concat!(
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":["#,
            r#"{"role":"assistant","id":"m","toolCalls":[{"id":"c","type":"function","#,
            r#""function":{"name":"n","arguments":""}}]},"#,
            r#"{"role":"user","id":"m","content":[{"type":"image","source":{"type":"url","value":"u"}}]}],"#,
            r#""tools":[{"name":"n","description":"d"}],"context":[]}}"#
        ),
    );
}

#[test]
fn unknown_variants_are_lost_whole() {
    assert_lost(
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"critic","id":"1"},{"id":"2"},{"role":"user","id":"3",
            "content":[
            {"type":"binary","mimeType":"image/png","url":"u"},
            {"type":"image","x":0,"source":{"type":"scroll","value":"v"}},
            {"type":"text","text":"t"}
        ]}]}"#,
        ["/messages/0", "/messages/1", "/messages/2/content/0", "/messages/2/content/1"],
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"3","content":[{"type":"text","text":"t"}]}]}"#,
    );
    assert_lost(
        r#"{"type":"STATE_DELTA","delta":[{"op":"increment","path":"/a","by":1},{"op":"remove","path":"/b"}]}"#,
        ["/delta/0"],
        r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/b"}]}"#,
    );
}

#[test]
fn operations_keep_the_members_that_other_operations_have() {
    assert_lost(
        r#"{"type":"STATE_DELTA","delta":[
            {"op":"remove","path":"/a","value":{"old":1},"why":"x"},
            {"op":"add","path":"/a","value":1,"from":"/b"},
            {"op":"test","path":"/a","value":1,"from":2}
        ]}"#,
        ["/delta/0/why", "/delta/2/from"],
        concat!(
            r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a","value":{"old":1}},"#,
            r#"{"op":"add","from":"/b","path":"/a","value":1},{"op":"test","path":"/a","value":1}]}"#
        ),
    );
}

#[test]
fn of_an_unknown_outcome_only_the_type_rides() {
    assert_lost(
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"paused","until":"noon"}}"#,
        ["/outcome/until"],
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"paused"}}"#,
    );
    assert_lost(
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":""}}"#,
        ["/outcome/type"],
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
    );
    assert_lost(
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"success","interruptIds":["i"]}}"#,
        ["/outcome/interruptIds"],
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"success"}}"#,
    );
}

#[test]
fn unknown_words_ride() {
    for json in [
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"critic"}"#,
        r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"other","entityId":"e","encryptedValue":"v"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"","role":"robot"}"#,
    ] {
        assert_lost(json, [], json);
    }
}

#[test]
fn lone_surrogates_are_reported_where_they_stand() {
    assert_lost(
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d","rawEvent":{"a":["\ude00"]}}"#,
        ["/rawEvent", "/delta"],
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"�","rawEvent":{"a":["�"]}}"#,
    );
    assert_lost(
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s",
            "outcome":{"type":"suspended","interruptIds":["","\ud83d"]}}"#,
        ["/outcome/interruptIds/1"],
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"suspended","interruptIds":["","�"]}}"#,
    );
}

#[test]
fn the_list_of_what_is_lost_is_bounded() {
    let json = format!(r#"{{"type":"RUN_ERROR","message":"x"{}}}"#, r#","x":0"#.repeat(5_000));
    assert_eq!(encoded(&json).unwrap().lost.len(), 1_000);
}

#[test]
fn what_has_no_binary_form_is_an_error() {
    let error = encoded(r#"{"type":"THINKING_START"}"#).unwrap_err();
    assert_eq!(error, EncodeError::UnknownType { event_type: "THINKING_START".to_owned() });
    assert_eq!(error.to_string(), "event type without a binary form. type=THINKING_START");

    let deep = format!("{}{}", "[".repeat(DEPTH_MAX + 1), "]".repeat(DEPTH_MAX + 1));
    let error =
        encoded(&format!(r#"{{"type":"STATE_DELTA","delta":[{{"op":"add","path":"","value":{deep}}}]}}"#));
    assert_eq!(error, Err(EncodeError::TooDeep { pointer: "/delta/0/value".to_owned() }));

    let error = encoded(r#"{"type":"RAW","event":1e999}"#);
    assert_eq!(error, Err(EncodeError::NumberRange { pointer: "/event".to_owned() }));
}
