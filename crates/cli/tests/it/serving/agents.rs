//! Agents that a server is put in front of.

use threadline_testkit::upstream::{Step, Upstream, head, sse_answer, sse_body};

/// How many pieces a talker says before it stops, without an end.
pub(super) const PIECES: usize = 2_000;

/// An agent that says numbered pieces of a message as quickly as it can, and then nothing more, for ever.
pub(super) async fn talker() -> Upstream {
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"talk","role":"assistant"}"#.to_owned();
    let pieces = (0..PIECES)
        .map(|piece| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"talk","delta":"{piece} "}}"#));
    let events: Vec<String> = [start].into_iter().chain(pieces).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    Upstream::start([stream(Step::Write(sse_body(&events).into()), Step::UntilGone)]).await
}

/// An agent that says a word, and is done.
pub(super) async fn brief() -> Upstream {
    let events = [
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"word","role":"assistant","delta":"word"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#,
    ];
    Upstream::start([sse_answer(&events)]).await
}

/// An answer of events that goes on until its connection ends.
pub(super) fn stream(first: Step, then: Step) -> Vec<Step> {
    vec![head("200 OK", &[("content-type", "text/event-stream")]), first, then]
}

/// A section of the settings for an agent.
pub(super) fn section(name: &str, agent: &Upstream) -> String {
    format!("[agents.{name}]\nurl = \"{}\"\n", agent.url("/"))
}
