//! The examples of the protocol's page on serialization, in the words of 1.0, and what holds for every stream.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadline_protocol::event::RunStarted;
use threadline_protocol::stages::compact::{Form, compact};
use threadline_protocol::stages::normalise::Normaliser;
use threadline_protocol::{Event, Json, Received, RestoreReason, restore, serialize};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

fn events(json: &str) -> Vec<Event<'_>> {
    restore(json).expect("a stream").into_iter().map(Received::into_event).collect()
}

const BEFORE: &str = r#"[
    {"type":"TEXT_MESSAGE_START","messageId":"msg1","role":"user"},
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg1","delta":"Hello "},
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg1","delta":"world"},
    {"type":"TEXT_MESSAGE_END","messageId":"msg1"},
    {"type":"STATE_DELTA","delta":[{"op":"add","path":"/foo","value":1}]},
    {"type":"STATE_DELTA","delta":[{"op":"replace","path":"/foo","value":2}]}
]"#;

const MESSAGES: &str =
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"msg1","content":"Hello world"}]}"#;

#[test]
fn compaction_makes_snapshots() {
    let compacted = compact(&events(BEFORE), Form::Snapshot, Some(&Json::EMPTY_OBJECT)).unwrap();
    let state = r#"{"type":"STATE_SNAPSHOT","snapshot":{"foo":2}}"#;
    assert_eq!(serialize(&compacted), format!("[{MESSAGES},{state}]"));
}

#[test]
fn what_the_state_was_before_is_not_guessed() {
    let before = events(BEFORE);
    let compacted = compact(&before, Form::Snapshot, None).unwrap();
    assert_eq!(compacted.len(), 3);
    assert_eq!(compacted[..2], before[4..]);
    assert_eq!(compacted[2].to_json(), MESSAGES);
}

#[test]
fn compaction_makes_a_shorter_stream() {
    let compacted = compact(&events(BEFORE), Form::Stream, Some(&Json::EMPTY_OBJECT)).unwrap();
    let types: Vec<String> = compacted.iter().map(|event| event.type_name().to_string()).collect();
    assert_eq!(types, ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STATE_SNAPSHOT"]);
}

#[test]
fn branches_stay_branches() {
    let branched = events(
        r#"[
        {"type":"RUN_STARTED","threadId":"thread1","runId":"run1","input":{"threadId":"thread1","runId":"run1",
            "messages":[{"id":"msg1","role":"user","content":"Tell me about Paris"}]}},
        {"type":"RUN_FINISHED","threadId":"thread1","runId":"run1"},
        {"type":"RUN_STARTED","threadId":"thread1","runId":"run2","parentRunId":"run1","input":{"threadId":"thread1",
            "runId":"run2","messages":[{"id":"msg2","role":"user","content":"Actually, tell me about London instead"}]}},
        {"type":"RUN_FINISHED","threadId":"thread1","runId":"run2"}
    ]"#,
    );
    assert_eq!(compact(&branched, Form::Stream, None).unwrap(), branched);
    let compacted = compact(&branched, Form::Snapshot, None).unwrap();
    let runs: Vec<(String, Option<String>)> = compacted
        .iter()
        .filter_map(|event| match event {
            Event::RunStarted(RunStarted { run_id, parent_run_id, .. }) => {
                Some((run_id.to_string(), parent_run_id.as_ref().map(ToString::to_string)))
            }
            _ => None,
        })
        .collect();
    assert_eq!(runs, [("run1".into(), None), ("run2".into(), Some("run1".into()))]);
    let Event::MessagesSnapshot(snapshot) = &compacted[3] else { panic!("{}", compacted[3].to_json()) };
    assert_eq!(snapshot.messages.len(), 2);
}

#[test]
fn every_layout_of_a_kept_stream_is_read() {
    let one = r#"{"type":"CUSTOM", "name":"ä","value":1.50}"#;
    let two = r#"{"type":"VENDOR","x":[]}"#;
    for text in [
        format!("[{one},{two}]"),
        format!(" [\n{one} ,\n{two}\n]\n"),
        format!("{one}\n{two}\n"),
        format!("{one}\r\n\r\n{two}"),
        format!("data: {one}\n\ndata: {two}\n\n"),
    ] {
        let restored = restore(&text).unwrap();
        assert_eq!(restored.iter().map(Received::json).collect::<Vec<_>>(), [one, two], "{text}");
    }
    assert_eq!(restore("").unwrap(), []);
    assert_eq!(restore("[]").unwrap(), []);
    assert_eq!(serialize(&[]), "[]");
}

#[test]
fn an_error_says_which_event_and_why() {
    let good = r#"{"type":"RUN_ERROR","message":"m"}"#;
    let error = restore(&format!(r#"[{good},{{"type":"RUN_ERROR"}}]"#)).unwrap_err();
    assert_eq!(error.to_string(), "the stream cannot be restored. event=1");
    assert_eq!(error.index, 1);
    assert!(matches!(error.reason, RestoreReason::Read(_)), "{error:?}");
    let error = restore(&format!("[{good},{good}")).unwrap_err();
    assert!(matches!(error.reason, RestoreReason::Decode(_)), "{error:?}");
    assert!(restore("no event").is_err());
}

proptest! {
    #[test]
    fn what_is_kept_comes_back(seed: u64) {
        let stream: Vec<String> =
            streams::wild(&mut Random::new(seed)).iter().map(ToString::to_string).collect();
        let text = format!("[{}]", stream.join(","));
        let restored = restore(&text).unwrap();
        prop_assert_eq!(restored.iter().map(Received::json).collect::<Vec<_>>(), stream);
        let events: Vec<Event<'_>> = restored.into_iter().map(Received::into_event).collect();
        let again = serialize(&events);
        let restored: Vec<Event<'_>> =
            restore(&again).unwrap().into_iter().map(Received::into_event).collect();
        prop_assert_eq!(restored, events);
    }
}

/// "Normalized Input": the second run leaves out what is in the history already.
#[test]
fn a_normalised_input_omits_what_is_there() {
    let run = |id: &str, messages: Value| {
        json!({"type": "RUN_STARTED", "threadId": "thread1", "runId": id,
            "input": {"threadId": "thread1", "runId": id, "messages": messages}})
    };
    let (one, two) = (
        json!({"id": "msg1", "role": "user", "content": "Hello"}),
        json!({"id": "msg2", "role": "user", "content": "How are you?"}),
    );
    let finished = |id: &str| json!({"type": "RUN_FINISHED", "threadId": "thread1", "runId": id});
    let stream =
        [run("run1", json!([one])), finished("run1"), run("run2", json!([one, two])), finished("run2")];
    let mut normaliser = Normaliser::new();
    let normalised: Vec<Value> = stream
        .iter()
        .map(|json| {
            let event = Received::read_owned(json.to_string()).unwrap().into_event();
            serde_json::from_str(&normaliser.normalise(&event).output.last().unwrap().to_json()).unwrap()
        })
        .collect();
    assert_eq!(normalised[0], stream[0]);
    assert_eq!(normalised[2], run("run2", json!([two])));
}
