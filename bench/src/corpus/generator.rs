//! Runs of an agent, as event texts.

use super::application::{arguments, record};
use super::random::Random;
use super::writer::{Writer, array, quoted_ascii};
use super::{Corpus, Family, Sample, prose};

/// Any number would do; a fixed one makes every run measure the same bytes.
const SEED: u64 = 0x7468_7265_6164;

const RUNS: u64 = 60;

/// When the first run begins, in milliseconds since 1970.
const FIRST_TIMESTAMP: u64 = 1_760_000_000_000;

const TOOLS: &[&str] = &["get_refund_status", "search_orders", "write_file", "send_email"];

/// Makes the corpus.
#[must_use]
pub fn generate() -> Corpus {
    let mut generator = Generator::new(true);
    for _ in 0..RUNS {
        generator.run();
    }
    Corpus { samples: generator.samples }
}

pub(super) struct Generator {
    pub(super) random: Random,
    clock: u64,
    /// Whether the producer of this run writes timestamps.
    pub(super) timestamps: bool,
    /// Whether some events have members that AG-UI does not know.
    vendor_fields: bool,
    pub(super) samples: Vec<Sample>,
}

impl Generator {
    pub(super) const fn new(vendor_fields: bool) -> Self {
        let random = Random::new(SEED);
        Self { random, clock: FIRST_TIMESTAMP, timestamps: false, vendor_fields, samples: Vec::new() }
    }

    /// Adds an event, with what any event may carry.
    pub(super) fn emit(&mut self, family: Family, mut event: Writer) {
        self.clock += self.random.within(1..80);
        if self.timestamps {
            event = event.json("timestamp", &self.clock.to_string());
        }
        if self.random.once_in(20) {
            event = event.json("rawEvent", &provider_event(&mut self.random));
        }
        if self.random.once_in(25) {
            let metadata = Writer::object().text("traceId", &self.random.uuid()).json("attempt", "1");
            event = event.json("metadata", &metadata.end());
        }
        if self.random.once_in(50) && self.vendor_fields {
            event = event.json("vendorField", r#"{"latencyMs":12.50,"region":"eu-west-1"}"#);
        }
        self.samples.push(Sample { family, json: event.end() });
    }

    fn run(&mut self) {
        self.timestamps = self.random.once_in(3);
        let (thread, run) = (self.random.uuid(), self.random.uuid());
        let mut started = ids(Writer::event("RUN_STARTED"), &thread, &run).text("protocolVersion", "1.0");
        if self.random.once_in(2) {
            started = started.json("input", &input(&mut self.random, &thread, &run));
        }
        self.emit(Family::Run, started);
        self.emit(Family::Run, Writer::event("STEP_STARTED").text("stepName", "plan"));
        if self.random.once_in(2) {
            self.reasoning();
        }
        self.state();
        for _ in 0..self.random.within(1..4) {
            self.text_message();
            self.tool_call();
        }
        self.activity();
        self.passthrough();
        self.text_message();
        self.emit(Family::Run, Writer::event("STEP_FINISHED").text("stepName", "plan"));
        if self.random.once_in(2) {
            let count = self.random.within(10..51);
            let messages = messages(&mut self.random, count);
            self.emit(
                Family::MessagesSnapshot,
                Writer::event("MESSAGES_SNAPSHOT").json("messages", &messages),
            );
        }
        let usage = r#"[{"provider":"openai","model":"gpt-5","inputTokens":5120,"outputTokens":731,"totalTokens":5851}]"#;
        let finished = ids(Writer::event("RUN_FINISHED"), &thread, &run)
            .json("result", r#"{"ok":true}"#)
            .json("outcome", r#"{"type":"success"}"#)
            .json("usage", usage);
        self.emit(Family::Run, finished);
    }

    pub(super) fn text_message(&mut self) {
        let id = self.random.uuid();
        let start = Writer::event("TEXT_MESSAGE_START").text("messageId", &id).text("role", "assistant");
        self.emit(Family::Text, start);
        // One producer in eight escapes everything beyond ASCII.
        let ascii = self.random.once_in(8);
        for _ in 0..self.random.within(30..70) {
            let words = self.random.within(1..7);
            let delta = prose::text(&mut self.random, words);
            let content = Writer::event("TEXT_MESSAGE_CONTENT").text("messageId", &id);
            let content = if ascii {
                content.json("delta", &quoted_ascii(&delta))
            } else {
                content.text("delta", &delta)
            };
            self.emit(Family::Text, content);
        }
        self.emit(Family::Text, Writer::event("TEXT_MESSAGE_END").text("messageId", &id));
    }

    pub(super) fn tool_call(&mut self) {
        let (call, parent) = (self.random.uuid(), self.random.uuid());
        let start = Writer::event("TOOL_CALL_START")
            .text("toolCallId", &call)
            .text("toolCallName", self.random.pick(TOOLS))
            .text("parentMessageId", &parent);
        self.emit(Family::Tool, start);
        let arguments: Vec<char> = arguments(&mut self.random).chars().collect();
        for piece in arguments.chunks(12) {
            let delta: String = piece.iter().collect();
            let args = Writer::event("TOOL_CALL_ARGS").text("toolCallId", &call).text("delta", &delta);
            self.emit(Family::Tool, args);
        }
        self.emit(Family::Tool, Writer::event("TOOL_CALL_END").text("toolCallId", &call));
        let returned = record(&mut self.random);
        let result = Writer::event("TOOL_CALL_RESULT")
            .text("messageId", &self.random.uuid())
            .text("toolCallId", &call)
            .text("content", &returned)
            .text("role", "tool");
        self.emit(Family::Tool, result);
    }

    pub(super) fn reasoning(&mut self) {
        let id = self.random.uuid();
        self.emit(Family::Reasoning, Writer::event("REASONING_START").text("messageId", &id));
        let start = Writer::event("REASONING_MESSAGE_START").text("messageId", &id).text("role", "reasoning");
        self.emit(Family::Reasoning, start);
        for _ in 0..self.random.within(10..30) {
            let words = self.random.within(2..9);
            let delta = prose::text(&mut self.random, words);
            let content =
                Writer::event("REASONING_MESSAGE_CONTENT").text("messageId", &id).text("delta", &delta);
            self.emit(Family::Reasoning, content);
        }
        self.emit(Family::Reasoning, Writer::event("REASONING_MESSAGE_END").text("messageId", &id));
        self.emit(Family::Reasoning, Writer::event("REASONING_END").text("messageId", &id));
    }

    fn state(&mut self) {
        // A record has about 250 bytes: 1 to 20 KB in all.
        let records = self.random.within(4..80);
        let items = array((0..records).map(|_| record(&mut self.random)));
        let state = Writer::object().text("phase", "planning").json("items", &items).json("draft", "null");
        self.emit(Family::StateSnapshot, Writer::event("STATE_SNAPSHOT").json("snapshot", &state.end()));
        for _ in 0..self.random.within(2..7) {
            let operations = self.random.within(1..6);
            let patch = array((0..operations).map(|_| operation(&mut self.random)));
            self.emit(Family::StateDelta, Writer::event("STATE_DELTA").json("delta", &patch));
        }
    }

    fn activity(&mut self) {
        let (id, subagent) = (self.random.uuid(), self.random.uuid());
        let started =
            Writer::event("SUBAGENT_STARTED").text("subagentRunId", &subagent).text("name", "researcher");
        self.emit(Family::Activity, started);
        let snapshot = Writer::event("ACTIVITY_SNAPSHOT")
            .text("messageId", &id)
            .text("activityType", "PLAN")
            .json("content", &record(&mut self.random))
            .text("subagentRunId", &subagent);
        self.emit(Family::Activity, snapshot);
        let delta = Writer::event("ACTIVITY_DELTA")
            .text("messageId", &id)
            .text("activityType", "PLAN")
            .json("patch", &array([operation(&mut self.random)]));
        self.emit(Family::Activity, delta);
        self.emit(Family::Activity, Writer::event("SUBAGENT_FINISHED").text("subagentRunId", &subagent));
    }

    fn passthrough(&mut self) {
        let custom =
            Writer::event("CUSTOM").text("name", "progress").json("value", &record(&mut self.random));
        self.emit(Family::Passthrough, custom);
        let raw =
            Writer::event("RAW").json("event", &provider_event(&mut self.random)).text("source", "openai");
        self.emit(Family::Passthrough, raw);
        if self.random.once_in(4) {
            let vendor = Writer::event("VENDOR_HEARTBEAT").json("payload", &record(&mut self.random));
            self.emit(Family::Unknown, vendor);
        }
    }
}

pub(super) fn ids(event: Writer, thread: &str, run: &str) -> Writer {
    event.text("threadId", thread).text("runId", run)
}

/// A chunk as a model provider streams it.
fn provider_event(random: &mut Random) -> String {
    let choice = Writer::object()
        .json("index", "0")
        .json("delta", &Writer::object().text("content", prose::word(random)).end())
        .json("finish_reason", "null");
    Writer::object()
        .text("id", &format!("chatcmpl-{}", random.uuid()))
        .text("object", "chat.completion.chunk")
        .json("created", "1760000000")
        .text("model", "gpt-5")
        .json("choices", &array([choice.end()]))
        .end()
}

/// One operation of a JSON patch.
fn operation(random: &mut Random) -> String {
    let item = random.within(0..40);
    let operation = Writer::object();
    match random.within(0..4) {
        0 => operation.text("op", "add").text("path", "/items/-").json("value", &record(random)),
        1 => operation.text("op", "remove").text("path", &format!("/items/{item}/tags/0")),
        2 => operation
            .text("op", "replace")
            .text("path", &format!("/items/{item}/score"))
            .json("value", "0.75"),
        _ => {
            let title = prose::text(random, 5);
            operation
                .text("op", "replace")
                .text("path", &format!("/items/{item}/title"))
                .text("value", &title)
        }
    }
    .end()
}

/// A thread's messages: a question, now and then a tool call with its result, an answer.
fn messages(random: &mut Random, count: u64) -> String {
    array((0..count).map(|number| {
        let words = random.within(8..90);
        let message = Writer::object().text("id", &random.uuid());
        let content = prose::text(random, words);
        match number % 4 {
            0 => message.text("role", "user").text("content", &content),
            1 => {
                let function = Writer::object()
                    .text("name", random.pick(TOOLS))
                    .text("arguments", &arguments(random))
                    .end();
                let call = Writer::object()
                    .text("id", &random.uuid())
                    .text("type", "function")
                    .json("function", &function)
                    .end();
                message.text("role", "assistant").text("content", &content).json("toolCalls", &array([call]))
            }
            2 => message
                .text("role", "tool")
                .text("toolCallId", &random.uuid())
                .text("content", &record(random)),
            _ => message.text("role", "assistant").text("name", "support_agent").text("content", &content),
        }
        .end()
    }))
}

/// The request of a run, as agents echo it.
fn input(random: &mut Random, thread: &str, run: &str) -> String {
    let parameters =
        r#"{"type":"object","properties":{"order_id":{"type":"string"},"limit":{"type":"integer"}}}"#;
    let tools = TOOLS.iter().map(|name| {
        Writer::object()
            .text("name", name)
            .text("description", "Does what it says.")
            .json("parameters", parameters)
            .end()
    });
    let context = Writer::object().text("description", "locale").text("value", "de-DE").end();
    let count = random.within(1..8);
    ids(Writer::object(), thread, run)
        .json("state", &record(random))
        .json("messages", &messages(random, count))
        .json("tools", &array(tools))
        .json("context", &array([context]))
        .json("forwardedProps", "{}")
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::{DepartureKind, Received};

    #[test]
    fn every_event_is_legal_but_for_unknown_members() {
        for Sample { json, .. } in generate().samples {
            let received = Received::read(&json).unwrap();
            for departure in received.departures() {
                assert_eq!(
                    (departure.kind, departure.pointer.as_str()),
                    (DepartureKind::UnknownMember, "/vendorField")
                );
            }
        }
    }

    #[test]
    fn it_is_the_same_every_time() {
        let texts = || -> Vec<String> { generate().samples.into_iter().map(|sample| sample.json).collect() };
        assert_eq!(texts(), texts());
    }
}
