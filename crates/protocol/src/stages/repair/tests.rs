use super::Repairer;
use crate::Event;
use crate::stages::fold::Fold;
use crate::stages::testing::{consumed, lines, read};
use crate::stages::verify::{Options, Rule};
use proptest::prelude::*;
use threadline_testkit::random::Random;
use threadline_testkit::streams;

/// The repaired stream, and what was done to it, as `position action TYPE`.
fn repaired(json: &[String]) -> (Vec<String>, Vec<String>) {
    let mut repairer = Repairer::new();
    let (mut out, mut changes) = (Vec::new(), Vec::new());
    for event in &read(json) {
        let repaired = repairer.repair(event);
        out.extend(repaired.output.iter().map(Event::to_json));
        changes.extend(repaired.changes);
    }
    let (events, ended) = repairer.finish();
    out.extend(events.iter().map(Event::to_json));
    changes.extend(ended);
    let shown = changes.iter().map(|change| {
        format!(
            "{} {} {}",
            change.position,
            change.action.name(),
            change.event_type.map_or("", |t| t.as_str())
        )
    });
    (out, shown.collect())
}

/// What a strict reader says: the first error, or that the stream has no end.
fn verdict(json: &[String]) -> Result<(), &'static str> {
    consumed(&read(json), Options::new().with_error(Rule::RunNotEnded)).map(drop)
}

fn assert_repaired(json: &[&str], wanted: &[&str], changes: &[&str]) {
    let (out, done) = repaired(&lines(json));
    assert_eq!(verdict(&out), Ok(()), "{out:#?}");
    assert_eq!(out, wanted);
    assert_eq!(done, changes);
}

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#;

#[test]
fn orphan_content_gets_a_start() {
    let text = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","subagentRunId":"s"}"#;
    let args = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}"#;
    assert_repaired(
        &[STARTED, text, args, FINISHED],
        &[
            STARTED,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"s"}"#,
            text,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"unknown"}"#,
            args,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"s"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
            FINISHED,
        ],
        &[
            "1 added TEXT_MESSAGE_START",
            "2 added TOOL_CALL_START",
            "3 added TEXT_MESSAGE_END",
            "3 added TOOL_CALL_END",
        ],
    );
}

#[test]
fn a_call_that_goes_on_keeps_its_name() {
    let start = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#;
    let end = r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#;
    let args = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}"#;
    assert_repaired(
        &[STARTED, start, end, args, end, FINISHED],
        &[STARTED, start, end, start, args, end, FINISHED],
        &["3 added TOOL_CALL_START"],
    );
}

#[test]
fn what_ends_twice_or_comes_too_late_goes() {
    let end = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    assert_repaired(
        &[STARTED, end, FINISHED, FINISHED, custom],
        &[STARTED, FINISHED],
        &["1 dropped TEXT_MESSAGE_END", "3 dropped RUN_FINISHED", "4 dropped CUSTOM"],
    );
}

#[test]
fn a_run_within_a_run_ends_the_other() {
    let other = r#"{"type":"RUN_STARTED","threadId":"t","runId":"2"}"#;
    let start = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#;
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"2"}"#;
    let (out, done) = repaired(&lines(&[STARTED, STARTED, start, other, end]));
    assert_eq!(verdict(&out), Ok(()));
    assert_eq!(
        done,
        ["1 dropped RUN_STARTED", "3 added TOOL_CALL_END", "3 added TOOL_CALL_RESULT", "3 added RUN_ERROR",]
    );
    assert!(out[4].contains(r#""code":"truncated""#), "{out:#?}");
}

#[test]
fn a_stream_without_a_run_gets_one() {
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    let (out, done) = repaired(&lines(&[custom, FINISHED]));
    assert_eq!(out.len(), 3);
    assert_eq!(done, ["0 added RUN_STARTED"]);
    // What came too early is no failure.
    let (_, done) = repaired(&lines(&[custom, STARTED, FINISHED]));
    assert_eq!(done, ["0 added RUN_STARTED", "1 added RUN_FINISHED"]);
    assert_repaired(&[FINISHED], &[STARTED, FINISHED], &["0 added RUN_STARTED"]);
}

#[test]
fn what_was_cut_off_is_closed() {
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}"#;
    let subagent = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#;
    let (out, done) = repaired(&lines(&[STARTED, subagent, chunk]));
    assert_eq!(verdict(&out), Ok(()));
    // What chunks have opened ends with the run.
    assert_eq!(done, ["3 added SUBAGENT_ERROR", "3 added RUN_ERROR"]);
}

#[test]
fn chunks_and_their_like_are_told_from_each_other() {
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}"#;
    let content = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#;
    let as_chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b"}"#;
    assert_repaired(
        &[STARTED, chunk, content, FINISHED],
        &[STARTED, chunk, as_chunk, FINISHED],
        &["2 altered TEXT_MESSAGE_CONTENT"],
    );
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#;
    let end = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
    assert_repaired(
        &[STARTED, start, as_chunk, end, FINISHED],
        &[STARTED, start, content, end, FINISHED],
        &["2 altered TEXT_MESSAGE_CHUNK"],
    );
}

#[test]
fn a_chunk_without_an_id_gets_one() {
    let stream = lines(&[
        STARTED,
        r#"{"type":"REASONING_MESSAGE_CHUNK","delta":"a"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"{"}"#,
        FINISHED,
    ]);
    let (out, done) = repaired(&stream);
    assert_eq!(verdict(&out), Ok(()));
    assert_eq!(
        done,
        ["1 altered REASONING_MESSAGE_CHUNK", "2 altered TOOL_CALL_CHUNK", "2 altered TOOL_CALL_CHUNK"]
    );
    assert_eq!(repaired(&stream).0, out);
}

#[test]
fn a_wrong_tag_goes() {
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#;
    let end = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
    assert_repaired(
        &[STARTED, start, r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"x"}"#, FINISHED],
        &[STARTED, start, end, FINISHED],
        &["2 altered TEXT_MESSAGE_END"],
    );
}

#[test]
fn a_wrong_tag_becomes_the_right_one() {
    // Without a tag it would be the agent's, and end what the agent assembles.
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"s"}"#;
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"p","delta":"Hel"}"#;
    let more = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"lo"}"#;
    let end = r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"s"}"#;
    let chunk_of_m = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x","subagentRunId":"s"}"#;
    let piece_of_m = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"s"}"#;
    let wrong = r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"x"}"#;
    assert_repaired(
        &[STARTED, start, chunk, chunk_of_m, wrong, more, FINISHED],
        &[STARTED, start, chunk, piece_of_m, end, more, FINISHED],
        &["3 altered TEXT_MESSAGE_CHUNK", "4 altered TEXT_MESSAGE_END"],
    );
}

#[test]
fn what_a_reader_drops_is_nobody_s_business() {
    let vendor = r#"{"type":"VENDOR"}"#;
    assert_repaired(&[vendor, STARTED, FINISHED, vendor], &[vendor, STARTED, FINISHED, vendor], &[]);
}

#[test]
fn subagents_that_wait_are_suspended() {
    let finished = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation","subagentRunId":"s"}]}}"#;
    let subagent = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#;
    assert_repaired(
        &[STARTED, subagent, finished],
        &[
            STARTED,
            subagent,
            r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"suspended","interruptIds":["i"]}}"#,
            finished,
        ],
        &["2 added SUBAGENT_FINISHED"],
    );
}

/// What a reader holds in the end, who takes the stream as it is.
fn held(json: &[String]) -> Fold {
    consumed(&read(json), Options::new()).unwrap()
}

proptest! {
    #[test]
    fn a_good_stream_stays_as_it_is(seed: u64) {
        let stream = lines(&streams::valid(&mut Random::new(seed)));
        let mut repairer = Repairer::new();
        for event in &read(&stream) {
            let repaired = repairer.repair(event);
            prop_assert!(repaired.changes.is_empty(), "{:?}", repaired.changes);
            prop_assert!(repaired.output.is_passed() && repaired.output.iter().count() == 1);
        }
        let (events, changes) = repairer.finish();
        prop_assert!(events.is_empty() && changes.is_empty());
    }

    #[test]
    fn every_stream_is_accepted_and_repaired_once(seed: u64) {
        let stream = lines(&streams::wild(&mut Random::new(seed)));
        let (out, changes) = repaired(&stream);
        prop_assert_eq!(verdict(&out), Ok(()), "{}\n{:#?}", stream.join("\n"), changes);
        // A stream is changed if and only if it was not good.
        prop_assert_eq!(changes.is_empty(), verdict(&stream).is_ok());
        let (again, more) = repaired(&out);
        prop_assert!(more.is_empty(), "{:#?}", more);
        prop_assert_eq!(again, out);
    }

    #[test]
    fn what_was_cut_off_keeps_what_it_said(seed: u64, at: prop::sample::Index) {
        let mut stream = lines(&streams::valid(&mut Random::new(seed)));
        stream.truncate(at.index(stream.len() + 1));
        let (out, _) = repaired(&stream);
        prop_assert_eq!(verdict(&out), Ok(()), "{}", stream.join("\n"));
        prop_assert_eq!(&out[..stream.len()], &read(&stream).iter().map(Event::to_json).collect::<Vec<_>>()[..]);
        // Results for calls that nobody answered come on top.
        let texts = |json: &[String]| {
            let messages = held(json).messages().map(crate::Message::to_json).collect::<Vec<_>>();
            messages.into_iter().filter(|message| !message.contains("No result: ")).collect::<Vec<_>>()
        };
        prop_assert_eq!(texts(&out), texts(&stream));
    }
}

#[test]
fn a_repaired_stream_says_what_the_producer_meant() {
    // A producer that forgets every end.
    let whole = lines(&[
        STARTED,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        FINISHED,
    ]);
    let mut forgetful = whole.clone();
    forgetful.remove(3);
    assert_eq!(repaired(&forgetful).0, whole);
    let checkpoint = |json: &[String]| held(json).checkpoint().to_json();
    assert_eq!(checkpoint(&repaired(&forgetful).0), checkpoint(&whole));
}
