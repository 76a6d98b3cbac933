//! Agents that a server is put in front of.

use std::time::Duration;
use threadline_testkit::upstream::{Step, Upstream, head, sse_answer, sse_body};

/// How many pieces a talker says before it stops, without an end.
pub(crate) const PIECES: usize = 2_000;

/// How many pieces a steady agent says at once.
const PIECES_AT_ONCE: usize = 4;
/// How long it waits then.
const PAUSE: Duration = Duration::from_millis(20);

/// An agent that says numbered pieces of a message as quickly as it can, and then nothing more, for ever.
pub(crate) async fn talker() -> Upstream {
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"talk","role":"assistant"}"#.to_owned();
    let pieces = (0..PIECES)
        .map(|piece| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"talk","delta":"{piece} "}}"#));
    let events: Vec<String> = [start].into_iter().chain(pieces).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    Upstream::start([stream(Step::Write(sse_body(&events).into()), Step::UntilGone)]).await
}

/// An agent that says a word, and is done.
pub(crate) async fn brief() -> Upstream {
    let events = [
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"word","role":"assistant","delta":"word"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#,
    ];
    Upstream::start([sse_answer(&events)]).await
}

/// An answer of events that goes on until its connection ends.
pub(crate) fn stream(first: Step, then: Step) -> Vec<Step> {
    vec![head("200 OK", &[("content-type", "text/event-stream")]), first, then]
}

/// A section of the settings for an agent.
pub(crate) fn section(name: &str, agent: &Upstream) -> String {
    format!("[agents.{name}]\nurl = \"{}\"\n", agent.url("/"))
}

/// An agent that says so many numbered pieces of a message, some of them at a time with a pause in between, and then ends its run, or says
/// nothing more, for ever.
pub(crate) async fn steady(pieces: usize, does_end: bool) -> Upstream {
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"talk","role":"assistant"}"#;
    let mut script = stream(Step::Write(sse_body(&[start]).into()), Step::Sleep(PAUSE));
    let pieces: Vec<String> = (0..pieces)
        .map(|piece| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"talk","delta":"{piece} "}}"#))
        .collect();
    for some in pieces.chunks(PIECES_AT_ONCE) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        script.extend([Step::Write(sse_body(&some).into()), Step::Sleep(PAUSE)]);
    }
    if does_end {
        let end = [
            r#"{"type":"TEXT_MESSAGE_END","messageId":"talk"}"#,
            r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#,
        ];
        script.push(Step::Write(sse_body(&end).into()));
    } else {
        script.push(Step::UntilGone);
    }
    Upstream::start([script]).await
}
