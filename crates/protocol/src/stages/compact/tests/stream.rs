//! The stream form.

use super::{compact_texts, lines, read, texts, wild};
use crate::Event;
use crate::json::{Json, SafeInt, Text};
use crate::stages::compact::{Compactor, Form, compact};
use crate::stages::verify::{Options, verify_all};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

/// What a piece belongs to.
type Whole = (&'static str, Text<'static>);

/// What an event opens, continues or closes, bit by bit.
enum Part {
    Start(Whole),
    Piece(Whole),
    End(Whole),
}

fn part(event: &Event<'_>) -> Option<Part> {
    let text = |id: &Text<'_>| ("text", id.clone().into_owned());
    let call = |id: &Text<'_>| ("call", id.clone().into_owned());
    let reasoning = |id: &Text<'_>| ("reasoning", id.clone().into_owned());
    Some(match event {
        Event::TextMessageStart(event) => Part::Start(text(&event.message_id)),
        Event::TextMessageContent(event) => Part::Piece(text(&event.message_id)),
        Event::TextMessageEnd(event) => Part::End(text(&event.message_id)),
        Event::ToolCallStart(event) => Part::Start(call(&event.tool_call_id)),
        Event::ToolCallArgs(event) => Part::Piece(call(&event.tool_call_id)),
        Event::ToolCallEnd(event) => Part::End(call(&event.tool_call_id)),
        Event::ReasoningMessageStart(event) => Part::Start(reasoning(&event.message_id)),
        Event::ReasoningMessageContent(event) => Part::Piece(reasoning(&event.message_id)),
        Event::ReasoningMessageEnd(event) => Part::End(reasoning(&event.message_id)),
        _ => return None,
    })
}

const fn ends_run(event: &Event<'_>) -> bool {
    matches!(event, Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_))
}

/// Every event but those that may go into others, as it is, and where the first piece of each message and call is.
fn outline(events: &[Event<'_>]) -> Vec<String> {
    let mut begun = HashSet::new();
    let mut outline = Vec::new();
    for event in events {
        if ends_run(event) {
            begun.clear();
        }
        match (part(event), event) {
            (Some(Part::Piece(whole)), _) => {
                let shown = format!("{whole:?}");
                if begun.insert(whole) {
                    outline.push(shown);
                }
            }
            (
                None,
                Event::StateSnapshot(_)
                | Event::StateDelta(_)
                | Event::ActivitySnapshot(_)
                | Event::ActivityDelta(_),
            ) => {}
            (part, _) => {
                if let Some(Part::Start(whole) | Part::End(whole)) = part {
                    begun.remove(&whole);
                }
                outline.push(event.to_json());
            }
        }
    }
    outline
}

/// The first and the last time of each message and call, in the order in which they were opened.
fn times(events: &[Event<'_>]) -> Vec<(Option<SafeInt>, Option<SafeInt>)> {
    let mut open = BTreeMap::new();
    let mut times = Vec::new();
    for event in events {
        if ends_run(event) {
            open.clear();
        }
        match part(event) {
            Some(Part::Start(whole)) => {
                open.insert(whole, times.len());
                times.push((event.timestamp(), event.timestamp()));
            }
            Some(Part::Piece(whole) | Part::End(whole)) => {
                if let Some(at) = open.get(&whole) {
                    let (_, last): &mut (_, Option<SafeInt>) = &mut times[*at];
                    *last = event.timestamp().or(*last);
                }
            }
            None => {}
        }
    }
    times
}

/// The laws, on a stream that verification accepts.
fn assert_lawful(json: &[String], base: Option<&Json<'_>>) {
    let events = read(json);
    let compacted = compact(&events, Form::Stream, base).unwrap();
    let whole = super::expanded(&events).unwrap();
    let shown = format!("{}\n\nbecame\n\n{}", json.join("\n"), texts(&compacted).join("\n"));
    for base in super::bases(&whole, base) {
        let base = base.as_ref();
        assert_eq!(super::checkpoint(&compacted, base), super::checkpoint(&whole, base), "{shown}");
    }
    assert_eq!(verify_all(&compacted, Options::new()), Ok(()), "{shown}");
    assert_eq!(texts(&compact(&compacted, Form::Stream, base).unwrap()), texts(&compacted), "{shown}");
    assert_eq!(outline(&compacted), outline(&whole), "{shown}");
    assert_eq!(times(&compacted), times(&whole), "{shown}");
    assert!(compacted.len() <= whole.len());
}

/// One piece a message and call, unless something between them says what the messages are.
fn assert_whole(events: &[Event<'_>]) {
    let mut begun = HashSet::new();
    for event in events {
        match (part(event), event) {
            (Some(Part::Piece(whole)), _) => {
                assert!(begun.insert(whole), "{}\nin\n{}", event.to_json(), texts(events).join("\n"));
            }
            (Some(Part::Start(whole) | Part::End(whole)), _) => {
                begun.remove(&whole);
            }
            (None, Event::MessagesSnapshot(_)) => begun.clear(),
            _ => {}
        }
        if let Event::ToolCallStart(start) = event
            && let Some(parent) = &start.parent_message_id
        {
            begun.remove(&("text", parent.clone().into_owned()));
        }
        if ends_run(event) {
            begun.clear();
        }
    }
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
    assert_lawful(&stream, None);
    let compacted = compact_texts(&stream, Form::Stream, None);
    assert_eq!(compacted.len(), stream.len() - 2);
    assert_eq!(
        compacted[2],
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ab","timestamp":3,"metadata":{"x":1,"y":2}}"#
    );
    assert_eq!(compacted[4], r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}"#);
}

#[test]
fn a_failed_run_stays_valid() {
    // The reference's compaction puts the open message after the error.
    assert_lawful(
        &lines(&[
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
        ]),
        None,
    );
}

#[test]
fn a_snapshot_in_the_middle_of_a_message_stays_there() {
    assert_lawful(
        &lines(&[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"A"}]}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
        ]),
        None,
    );
}

#[test]
fn text_and_reasoning_of_one_id_keep_their_order() {
    assert_lawful(
        &lines(&[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
            r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
            r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"c"}"#,
            r#"{"type":"REASONING_MESSAGE_END","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
        ]),
        None,
    );
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
    assert_eq!(compact_texts(&stream, Form::Stream, None), stream);
}

#[test]
fn changes_of_a_known_state_become_a_snapshot() {
    let stream = lines(&DELTAS);
    let base = Json::parse(r#"{"bar":0}"#).unwrap();
    let compacted = compact_texts(&stream, Form::Stream, Some(&base));
    assert_eq!(compacted[1], r#"{"type":"STATE_SNAPSHOT","snapshot":{"bar":0,"foo":2},"timestamp":5}"#);
    // A small change of a large state is shorter as it is.
    let large = format!(r#"{{"large":"{}"}}"#, "x".repeat(1_000));
    let base = Json::parse(&large).unwrap();
    assert_eq!(compact_texts(&stream, Form::Stream, Some(&base)), stream);
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
    assert_lawful(&stream, None);
    let compacted = compact_texts(&stream, Form::Stream, None);
    assert_eq!(compacted.len(), 4);
    assert_eq!(
        compacted[2],
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"u","content":{"n":2},"metadata":{"k":1}}"#
    );
}

#[test]
fn the_state_of_a_request_is_a_base_only_at_the_start() {
    let delta = r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}"#;
    let start = r#"{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[]}}"#;
    let made = r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}"#;
    for form in [Form::Stream, Form::Snapshot] {
        assert_eq!(compact_texts(&lines(&[start, delta, delta]), form, None)[1..], [made]);
        assert_eq!(compact_texts(&lines(&[delta, start, delta]), form, None), [delta, start, delta]);
    }
}

#[test]
fn what_is_settled_is_given_at_once() {
    let stream = lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
        r#"{"type":"CUSTOM","name":"n","value":1}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"STATE_DELTA","delta":[]}"#,
        r#"{"type":"RAW","event":1}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
        r#"{"type":"RUN_ERROR","message":"late"}"#,
    ]);
    let mut compactor = Compactor::new(Form::Stream, None);
    let lengths: Vec<usize> =
        read(&stream).iter().map(|event| compactor.push_borrowed(event).unwrap().len()).collect();
    assert_eq!(lengths, [1, 1, 0, 0, 3, 0, 0, 3, 1]);
    assert!(compactor.finish().is_empty());
}

#[test]
fn an_activity_stays_as_it_was_written_where_no_change_can_be_made() {
    let stream = lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{"n" : 1}}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"u","patch":[{"op":"replace","path":"","value":[]}]}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"u","patch":[{"op":"remove","path":"/x"}]}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
    ]);
    assert_lawful(&stream, None);
    assert_eq!(compact_texts(&stream, Form::Stream, None)[1], stream[1]);
}

proptest! {
    #[test]
    fn the_laws_hold(seed: u64, cut: prop::sample::Index) {
        let stream = lines(&streams::valid(&mut Random::new(seed)));
        assert_whole(&compact(&read(&stream), Form::Stream, None).unwrap());
        assert_lawful(&stream, None);
        assert_lawful(&stream, Some(&Json::parse(r#"{"base":[1]}"#).unwrap()));
        assert_lawful(&stream[..cut.index(stream.len())], None);
    }

    #[test]
    fn the_laws_hold_in_the_wild(stream in wild()) {
        assert_lawful(&stream, None);
    }
}
