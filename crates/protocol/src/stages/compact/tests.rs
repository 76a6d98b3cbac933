use super::compact;
use crate::json::Json;
use crate::stages::expand::Expander;
use crate::stages::fold::Fold;
use crate::stages::verify::{Options, verify_all};
use crate::{Event, Received, RunAgentInput};
use proptest::prelude::*;
use threadline_testkit::random::Random;
use threadline_testkit::streams;

fn read(json: &[String]) -> Vec<Event<'_>> {
    json.iter().map(|json| Received::read(json).unwrap().into_event()).collect()
}

fn lines(json: &[&str]) -> Vec<String> {
    json.iter().map(|json| (*json).to_owned()).collect()
}

fn expanded<'a>(events: &[Event<'a>]) -> Vec<Event<'a>> {
    let mut expander = Expander::new();
    let mut out = Vec::new();
    for event in events {
        out.extend(expander.expand(event).unwrap().iter().cloned());
    }
    out
}

/// What a reader holds in the end, who began with the state of the first run's request.
fn held(events: &[Event<'_>]) -> String {
    let first = events.iter().find_map(|event| match event {
        Event::RunStarted(started) => Some(started.input.as_ref()),
        _ => None,
    });
    let mut fold = match first.flatten() {
        Some(input) => {
            let mut before = RunAgentInput::new("", "", vec![]);
            before.state.clone_from(&input.state);
            Fold::from_input(&before)
        }
        None => Fold::new(),
    };
    for event in events {
        let _ = fold.apply(event);
    }
    fold.checkpoint().to_json()
}

fn is_piece(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::TextMessageContent(_)
            | Event::ReasoningMessageContent(_)
            | Event::ToolCallArgs(_)
            | Event::StateSnapshot(_)
            | Event::StateDelta(_)
            | Event::ActivitySnapshot(_)
            | Event::ActivityDelta(_)
    )
}

fn texts(events: &[Event<'_>]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

/// The laws, on a stream that verification accepts.
fn assert_lawful(json: &[String]) {
    let events = read(json);
    let compacted = compact(&events, None).unwrap();
    let whole = expanded(&events);
    let shown = json.join("\n");
    assert_eq!(held(&compacted), held(&whole), "{shown}");
    assert_eq!(verify_all(&compacted, Options::new()), Ok(()), "{shown}");
    assert_eq!(texts(&compact(&compacted, None).unwrap()), texts(&compacted), "{shown}");
    // All but the pieces is there, as it was and where it was.
    let rest = |events: &[Event<'_>]| {
        texts(&events.iter().filter(|event| !is_piece(event)).cloned().collect::<Vec<_>>())
    };
    assert_eq!(rest(&compacted), rest(&whole), "{shown}");
    assert!(compacted.len() <= whole.len());
}

#[test]
fn pieces_become_one() {
    let stream = lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","timestamp":1}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":2,"rawEvent":1,"metadata":{"x":1,"y":1}}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b","timestamp":3,"metadata":{"y":2}}"#,
        r#"{"type":"CUSTOM","name":"n","value":1}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"}"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":4}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
    ]);
    assert_lawful(&stream);
    let compacted = texts(&compact(&read(&stream), None).unwrap());
    assert_eq!(compacted.len(), stream.len() - 2);
    assert_eq!(
        compacted[2],
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ab","timestamp":2,"metadata":{"x":1,"y":2}}"#
    );
    assert_eq!(compacted[4], r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}"#);
}

#[test]
fn a_failed_run_stays_valid() {
    // The reference's compaction puts the open message after the error.
    assert_lawful(&lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
        r#"{"type":"RUN_ERROR","message":"x"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"2"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"c"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"2"}"#,
    ]));
}

#[test]
fn a_snapshot_in_the_middle_of_a_message_stays_there() {
    assert_lawful(&lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"A"}]}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
    ]));
}

#[test]
fn text_and_reasoning_of_one_id_keep_their_order() {
    assert_lawful(&lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
        r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"c"}"#,
        r#"{"type":"REASONING_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
    ]));
}

const DELTAS: [&str; 4] = [
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/foo","value":1}]}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/foo","value":2}],"timestamp":5}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
];

#[test]
fn changes_without_a_base_make_no_snapshot() {
    let stream = lines(&DELTAS);
    assert_eq!(texts(&compact(&read(&stream), None).unwrap()), stream);
}

#[test]
fn changes_of_a_known_state_become_a_snapshot() {
    let stream = lines(&DELTAS);
    let base = Json::parse(r#"{"bar":0}"#).unwrap();
    let compacted = texts(&compact(&read(&stream), Some(&base)).unwrap());
    assert_eq!(compacted[1], r#"{"type":"STATE_SNAPSHOT","snapshot":{"bar":0,"foo":2},"timestamp":5}"#);
    // A small change of a large state is shorter as it is.
    let large = format!(r#"{{"large":"{}"}}"#, "x".repeat(1_000));
    let base = Json::parse(&large).unwrap();
    assert_eq!(texts(&compact(&read(&stream), Some(&base)).unwrap()), stream);
}

#[test]
fn changes_of_an_activity_go_into_its_snapshot() {
    let stream = lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"t","patch":[]}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{"n":1}}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"u","patch":[{"op":"replace","path":"/n","value":2}]}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"v","patch":[{"op":"remove","path":"/x"}],"metadata":{"k":1}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
    ]);
    assert_lawful(&stream);
    let compacted = texts(&compact(&read(&stream), None).unwrap());
    assert_eq!(compacted.len(), 4);
    assert_eq!(
        compacted[2],
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"u","content":{"n":2},"metadata":{"k":1}}"#
    );
}

proptest! {
    #[test]
    fn the_laws_hold(seed: u64) {
        let stream: Vec<String> = streams::valid(&mut Random::new(seed)).iter().map(ToString::to_string).collect();
        assert_lawful(&stream);
    }
}
