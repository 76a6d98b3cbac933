//! The snapshot form.

use super::{bases, compact_texts, expanded, folded, lines, read, texts, wild};
use crate::json::{Json, Text};
use crate::stages::compact::{Form, compact};
use crate::stages::fold::{Fold, RunStatus, RunSummary};
use crate::stages::verify::{Options, Verifier, verify_all};
use crate::{Event, Message};
use proptest::prelude::*;
use std::collections::HashSet;
use threadline_testkit::random::Random;
use threadline_testkit::streams;

fn messages(fold: &Fold) -> Vec<String> {
    fold.messages().map(Message::to_json).collect()
}

/// What a reader holds. Calls of a run that was cut off are in its messages only.
fn held(fold: &Fold) -> Vec<String> {
    let mut held = messages(fold);
    held.push(fold.state().as_str().to_owned());
    held.extend(fold.interrupts().iter().map(|interrupt| interrupt.to_json()));
    held.extend(fold.runs().iter().map(RunSummary::to_json));
    held.extend(fold.usage().iter().map(|usage| usage.to_json()));
    if fold.runs().last().is_some_and(|run| run.status != RunStatus::Running) {
        held.extend(fold.pending_tool_calls().iter().map(Text::to_json));
    }
    held
}

/// What stays, but for the messages of requests and for outcomes.
fn frame(events: &[Event<'_>]) -> Vec<String> {
    let mut frame = Vec::new();
    for event in events {
        match event {
            Event::RunStarted(event) => {
                let mut event = event.clone();
                if let Some(input) = &mut event.input {
                    input.messages.clear();
                }
                frame.push(Event::from(event).to_json());
            }
            Event::RunFinished(event) => {
                let mut event = event.clone();
                event.outcome = None;
                frame.push(Event::from(event).to_json());
            }
            Event::RunError(_)
            | Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::SubagentStarted(_)
            | Event::SubagentFinished(_)
            | Event::SubagentError(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::Unknown(_) => frame.push(event.to_json()),
            _ => {}
        }
    }
    frame
}

/// The laws, on a stream that verification accepts.
fn assert_lawful(json: &[String], base: Option<&Json<'_>>) {
    let events = read(json);
    let compacted = compact(&events, Form::Snapshot, base).unwrap();
    let whole = expanded(&events).unwrap();
    let shown = format!("{}\n\nbecame\n\n{}", json.join("\n"), texts(&compacted).join("\n"));
    let before = folded(&whole, base);
    for base in bases(&whole, base) {
        assert_eq!(held(&folded(&compacted, base.as_ref())), held(&folded(&whole, base.as_ref())), "{shown}");
    }
    assert_eq!(verify_all(&compacted, Options::new()), Ok(()), "{shown}");
    assert_eq!(texts(&compact(&compacted, Form::Snapshot, base).unwrap()), texts(&compacted), "{shown}");
    assert_eq!(frame(&compacted), frame(&whole), "{shown}");
    assert!(compacted.iter().filter(|event| matches!(event, Event::MessagesSnapshot(_))).count() <= 1);
    assert!(compacted.iter().filter(|event| matches!(event, Event::StateSnapshot(_))).count() <= 1);
    // Whoever holds the messages already holds the same ones afterwards.
    let mut again = before.clone();
    for event in &compacted {
        let _ = again.apply(event);
    }
    let mut ids = HashSet::new();
    if before.messages().all(|message| ids.insert(message.id())) {
        assert_eq!(messages(&again), messages(&before), "{shown}");
    }
}

/// Compacting to a stream first makes no difference.
fn assert_confluent(json: &[String], base: Option<&Json<'_>>) {
    let events = read(json);
    let stream = compact(&events, Form::Stream, base).unwrap();
    assert_eq!(
        texts(&compact(&stream, Form::Snapshot, base).unwrap()),
        texts(&compact(&events, Form::Snapshot, base).unwrap()),
        "{}",
        json.join("\n")
    );
}

const RUNS: [&str; 14] = [
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[{"id":"u","role":"user","content":"Hi"}]}}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}],"timestamp":4}"#,
    r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","timestamp":5}"#,
    r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"2"}"#,
    r#"{"type":"REASONING_START","messageId":"r"}"#,
    r#"{"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"}"#,
    r#"{"type":"REASONING_MESSAGE_END","messageId":"r"}"#,
    r#"{"type":"REASONING_END","messageId":"r"}"#,
    r#"{"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"f","parentMessageId":"m"}"#,
    r#"{"type":"CUSTOM","name":"n","value":1}"#,
    r#"{"type":"TOOL_CALL_END","toolCallId":"d"}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"2","outcome":{"type":"success"}}"#,
];

#[test]
fn runs_keep_their_frame_and_the_last_one_says_everything() {
    let stream = lines(&RUNS);
    assert_lawful(&stream, None);
    assert_eq!(
        compact_texts(&stream, Form::Snapshot, None),
        [
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[]}}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1","outcome":{"type":"success","pendingToolCallIds":["c"]}}"#,
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"2"}"#,
            r#"{"type":"CUSTOM","name":"n","value":1}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":"Hi"},{"role":"assistant","id":"m","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}},{"id":"d","type":"function","function":{"name":"f","arguments":""}}]},{"role":"reasoning","id":"r","content":""}],"timestamp":5}"#,
            r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":1},"timestamp":4}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"2","outcome":{"type":"success","pendingToolCallIds":["d"]}}"#,
        ]
    );
}

#[test]
fn only_the_lists_of_earlier_runs_are_warned_about() {
    let stream = lines(&RUNS);
    let compacted = compact_texts(&stream, Form::Snapshot, None);
    let mut verifier = Verifier::new(Options::new());
    let mut warned = Vec::new();
    for event in read(&compacted) {
        warned.extend(verifier.check(&event).iter().map(|violation| violation.to_string()));
    }
    assert_eq!(warned, ["the pending tool calls are not those without a result. listed=c"]);
}

#[test]
fn a_snapshot_stands_before_the_first_end_of_a_run() {
    let stream = lines(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
        r#"{"type":"RUN_ERROR","message":"late"}"#,
    ]);
    assert_lawful(&stream, None);
    // Even without messages it stays, because it deletes those of others.
    assert_eq!(compact_texts(&stream, Form::Snapshot, None), stream);
    let cut = &stream[..2];
    assert_lawful(cut, None);
    assert_eq!(compact_texts(cut, Form::Snapshot, None), cut);
}

#[test]
fn changes_without_a_base_stay_until_a_snapshot_overrules_them() {
    let delta = r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}"#;
    let start = |run: u8| format!(r#"{{"type":"RUN_STARTED","threadId":"t","runId":"{run}"}}"#);
    let stream = [start(1), delta.to_owned(), r#"{"type":"RUN_ERROR","message":"x"}"#.to_owned(), start(2)];
    assert_lawful(&stream, None);
    assert_eq!(compact_texts(&stream, Form::Snapshot, None), stream);

    let mut overruled = stream.to_vec();
    overruled.push(r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#.to_owned());
    overruled.push(delta.to_owned());
    assert_lawful(&overruled, None);
    let compacted = compact_texts(&overruled, Form::Snapshot, None);
    assert_eq!(compacted.len(), 4);
    assert_eq!(compacted[3], r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#);
}

proptest! {
    #[test]
    fn the_laws_hold(seed: u64, cut: prop::sample::Index) {
        let stream = lines(&streams::valid(&mut Random::new(seed)));
        let base = Json::parse(r#"{"base":[1]}"#).unwrap();
        for stream in [&stream, &stream[..cut.index(stream.len())]] {
            for base in [None, Some(&base)] {
                assert_lawful(stream, base);
                assert_confluent(stream, base);
            }
        }
    }

    #[test]
    fn the_laws_hold_in_the_wild(stream in wild()) {
        assert_lawful(&stream, None);
    }
}
