use super::*;
use crate::event::{Event, Received};
use proptest::prelude::*;
use threadline_testkit::fill::Fill;
use threadline_testkit::random::Random;
use threadline_testkit::{streams, tables};

fn read(json: &str) -> Event<'_> {
    Received::read(json).unwrap_or_else(|error| panic!("{error}\n{json}")).into_event()
}

/// What an event becomes, or why it cannot.
fn expand(expander: &mut Expander, json: &str) -> Vec<String> {
    match expander.expand(&read(json)) {
        Ok(expanded) => expanded.iter().map(Event::to_json).collect(),
        Err(error) => vec![format!("{}: {error}", error.rule.name())],
    }
}

/// Runs through a stream: each event, and what it becomes.
fn assert_expands(stream: &[(&str, &[&str])]) {
    let mut expander = Expander::new();
    for (json, expected) in stream {
        assert_eq!(expand(&mut expander, json), *expected, "{json}");
    }
}

#[test]
fn a_message_is_opened_continued_and_ended() {
    assert_expands(&[
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","name":"Ada","delta":"a"}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","name":"Ada"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
            ],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":""}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","name":"Ada","delta":"b"}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#],
        ),
        // Another one of its kind, whose id is empty but is one.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"","role":"user"}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"","role":"user"}"#,
            ],
        ),
        // Something of another kind in the same lane.
        (
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m","delta":"{"}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_END","messageId":""}"#,
                r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#,
                r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}"#,
            ],
        ),
        (
            r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"q"}"#,
            &[
                r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
                r#"{"type":"REASONING_MESSAGE_START","messageId":"q","role":"reasoning"}"#,
            ],
        ),
        // Nothing in it, nothing of it.
        (r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"q","timestamp":5}"#, &[]),
        (
            r#"{"type":"RUN_ERROR","message":"x"}"#,
            &[r#"{"type":"REASONING_MESSAGE_END","messageId":"q"}"#, r#"{"type":"RUN_ERROR","message":"x"}"#],
        ),
        // An id that has ended may be opened again.
        (
            r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"q"}"#,
            &[r#"{"type":"REASONING_MESSAGE_START","messageId":"q","role":"reasoning"}"#],
        ),
    ]);
}

#[test]
fn every_producer_has_a_lane() {
    assert_expands(&[
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","subagentRunId":"s"}"#,
            &[r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant","subagentRunId":"s"}"#],
        ),
        // The only one there is to continue, though another's.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a","subagentRunId":"s"}"#],
        ),
        // The empty id is a subagent's.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","subagentRunId":""}"#,
            &[r#"{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant","subagentRunId":""}"#],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}"#,
            &[
                "chunk_ambiguous: neither id nor tag, and several lanes to continue. messageId=m1, messageId=m2",
            ],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"b","subagentRunId":""}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"b","subagentRunId":""}"#],
        ),
        // An id is enough, wherever it is open.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"c"}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"c","subagentRunId":"s"}"#],
        ),
        // An id is unique in its kind only.
        (
            r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"m1"}"#,
            &[r#"{"type":"REASONING_MESSAGE_START","messageId":"m1","role":"reasoning"}"#],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m3"}"#,
            &[
                r#"{"type":"REASONING_MESSAGE_END","messageId":"m1"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m3","role":"assistant"}"#,
            ],
        ),
        // The agent itself comes first.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"d"}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m3","delta":"d"}"#],
        ),
        // What was opened again is the youngest.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m4","subagentRunId":"s"}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_END","messageId":"m1","subagentRunId":"s"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m4","role":"assistant","subagentRunId":"s"}"#,
            ],
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_END","messageId":"m2","subagentRunId":""}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"m3"}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"m4","subagentRunId":"s"}"#,
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
            ],
        ),
    ]);
}

#[test]
fn what_is_repeated_must_be_the_same() {
    let text = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#;
    let call = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f"}"#;
    for (opener, chunk, expected) in [
        (text, r#"{"type":"TEXT_MESSAGE_CHUNK","role":"assistant"}"#, None),
        (text, r#"{"type":"TEXT_MESSAGE_CHUNK","role":"user"}"#, Some("role")),
        (text, r#"{"type":"TEXT_MESSAGE_CHUNK","role":"oracle"}"#, Some("role")),
        (text, r#"{"type":"TEXT_MESSAGE_CHUNK","name":"Ada"}"#, Some("name")),
        (call, r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"f"}"#, None),
        (call, r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"g"}"#, Some("toolCallName")),
        (
            call,
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","parentMessageId":"m"}"#,
            Some("parentMessageId"),
        ),
    ] {
        let mut expander = Expander::new();
        expand(&mut expander, opener);
        let before = expander.clone();
        let chunk = read(chunk);
        let result = expander.expand(&chunk).map(|_| ());
        assert_eq!(
            result.map_err(|error| error.rule),
            match expected {
                Some(field) => Err(ExpandRule::Conflict { field }),
                None => Ok(()),
            }
        );
        assert_eq!(expander, before);
    }
}

#[test]
fn a_chunk_that_cannot_be_expanded_is_skipped() {
    for (opener, chunk, expected) in [
        (
            r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"q"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}"#,
            "chunk_without_id: nothing to continue, and no id to open anything with",
        ),
        // A tag names a lane, and there is nothing in it.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"a","subagentRunId":"s"}"#,
            "chunk_without_id: nothing to continue, and no id to open anything with. subagentRunId=s",
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#,
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":"a"}"#,
            "chunk_without_tool_call_name: the first chunk of a call must name the tool. toolCallId=c",
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","subagentRunId":"s"}"#,
            "chunk_owner_mismatch: the tag names another than the owner. messageId=m, subagentRunId=s, owner=(the agent)",
        ),
    ] {
        let mut expander = Expander::new();
        expand(&mut expander, opener);
        let before = expander.clone();
        assert_eq!(expand(&mut expander, chunk), [expected]);
        assert_eq!(expander, before);
    }
}

#[test]
fn what_a_chunk_carries_rides_on_its_content_or_else_on_its_start() {
    assert_expands(&[
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a","metadata":{"k":1},"rawEvent":2,"timestamp":3,"x":4}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","metadata":{"k":1}}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","rawEvent":2,"metadata":{"k":1},"x":4}"#,
            ],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","metadata":{"k":2}}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","metadata":{"k":2}}"#],
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","x":1}"#,
            &[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","x":1}"#],
        ),
        // What the provider sent is as good as a delta; the end has nothing of it.
        (
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","rawEvent":{"y":1}}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
                r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
                r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"","rawEvent":{"y":1}}"#,
            ],
        ),
        (
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"f","metadata":{},"x":1,"x":2}"#,
            &[
                r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
                r#"{"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"f","metadata":{},"x":1,"x":2}"#,
            ],
        ),
        // An unknown role is kept, to be refused where that is decided.
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"oracle"}"#,
            &[
                r#"{"type":"TOOL_CALL_END","toolCallId":"d"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"oracle"}"#,
            ],
        ),
    ]);
}

#[test]
fn the_role_of_a_reasoning_chunk_yields_to_that_of_the_start() {
    let mut expander = Expander::new();
    let chunk = read(r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"q","role":"wizard","x":1}"#);
    let expanded = expander.expand(&chunk).unwrap();
    assert_eq!(expanded.overruled(), Some("role"));
    let events: Vec<String> = expanded.iter().map(Event::to_json).collect();
    assert_eq!(events, [r#"{"type":"REASONING_MESSAGE_START","messageId":"q","role":"reasoning","x":1}"#]);
    // A content does not have one that it could yield to.
    let expanded = expander.expand(&chunk).unwrap();
    assert_eq!(expanded.overruled(), None);
    let events: Vec<String> = expanded.iter().map(Event::to_json).collect();
    assert_eq!(
        events,
        [r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"q","delta":"","role":"wizard","x":1}"#]
    );
}

#[test]
fn halves_of_an_emoji_are_ids_like_any_other() {
    assert_expands(&[
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"\ud83d","subagentRunId":"\ud83d"}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_START","messageId":"\ud83d","role":"assistant","subagentRunId":"\ud83d"}"#,
            ],
        ),
        (
            r#"{"type":"CUSTOM","name":"n","value":1,"subagentRunId":"\ud83d"}"#,
            &[
                r#"{"type":"TEXT_MESSAGE_END","messageId":"\ud83d","subagentRunId":"\ud83d"}"#,
                r#"{"type":"CUSTOM","name":"n","value":1,"subagentRunId":"\ud83d"}"#,
            ],
        ),
    ]);
}

/// Which of the agent's and the subagent `a`'s lane an event closes that is
/// the agent's, and one that is the subagent's.
#[test]
fn what_ends_a_lane() {
    for (name, _) in tables::EVENTS {
        if name.ends_with("_CHUNK") {
            continue;
        }
        for tagged in [false, true] {
            let mut event = threadline_testkit::event(name, &mut Fill::Minimal);
            if tagged {
                event["subagentRunId"] = "a".into();
            }
            let expected: &[&str] = match *name {
                "RUN_STARTED" | "RUN_FINISHED" | "RUN_ERROR" | "MESSAGES_SNAPSHOT" => &["m1", "m2"],
                "RAW"
                | "ACTIVITY_SNAPSHOT"
                | "ACTIVITY_DELTA"
                | "REASONING_ENCRYPTED_VALUE"
                | "SUBAGENT_STARTED" => &[],
                // The filler's subagent is the empty id.
                "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" if !tagged => &[],
                _ if tagged => &["m1"],
                _ => &["m2"],
            };
            let mut expander = Expander::new();
            expand(&mut expander, r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","subagentRunId":"a"}"#);
            expand(&mut expander, r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2"}"#);
            let json = event.to_string();
            let event = read(&json);
            let expanded = expander.expand(&event).unwrap();
            assert!(expanded.output().is_passed());
            let mut events: Vec<&Event<'_>> = expanded.iter().collect();
            assert_eq!(events.pop(), Some(&event));
            let ended: Vec<String> = events
                .into_iter()
                .map(|event| match event {
                    Event::TextMessageEnd(end) => end.message_id.to_string(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(ended, expected, "{json}");
        }
    }
}

#[test]
fn unknown_events_pass_and_end_nothing() {
    let mut expander = Expander::new();
    expand(&mut expander, r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#);
    let event = r#"{"type":"VENDOR","n":1.0}"#;
    assert_eq!(expand(&mut expander, event), [event]);
}

/// Or this would take hours.
#[test]
fn lanes_are_not_searched() {
    let mut expander = Expander::new();
    for at in 0..100_000 {
        let chunk = format!(
            r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"m{at}","subagentRunId":"s{at}","delta":""}}"#
        );
        assert_eq!(expander.expand(&read(&chunk)).unwrap().iter().count(), 2);
        let other = r#"{"type":"TOOL_CALL_CHUNK","delta":"x"}"#;
        assert_eq!(expander.expand(&read(other)).unwrap_err().rule, ExpandRule::MissingId);
    }
    let end = read(r#"{"type":"RUN_ERROR","message":"x"}"#);
    assert_eq!(expander.expand(&end).unwrap().iter().count(), 100_001);
    assert_eq!(expander, Expander::new());
}

proptest! {
    /// No chunk is left, what is no chunk is untouched, and what is skipped changes nothing.
    #[test]
    fn any_stream_is_expanded(seed: u64) {
        let mut expander = Expander::new();
        for event in streams::wild(&mut Random::new(seed)) {
            let json = event.to_string();
            let event = read(&json);
            let before = expander.clone();
            match expander.expand(&event) {
                Ok(expanded) => {
                    let is_chunk = event.type_name().to_str().ends_with("_CHUNK");
                    prop_assert_eq!(expanded.output().is_passed(), !is_chunk);
                    let made: Vec<Event<'_>> = expanded.iter().cloned().collect();
                    if !is_chunk {
                        prop_assert_eq!(made.last(), Some(&event));
                    }
                    prop_assert!(made.iter().all(|event| !event.type_name().to_str().ends_with("_CHUNK")));
                }
                Err(_) => prop_assert_eq!(&expander, &before),
            }
        }
    }

    /// In a valid stream there is nothing to skip.
    #[test]
    fn valid_streams_are_expanded_without_errors(seed: u64) {
        let mut expander = Expander::new();
        for event in streams::valid(&mut Random::new(seed)) {
            let json = event.to_string();
            prop_assert!(expander.expand(&read(&json)).is_ok(), "{json}");
        }
    }
}
