//! One conversation of any length, as a client is given it: legal from the first event to the last.

use super::application::{arguments, record};
use super::generator::{Generator, ids};
use super::writer::{Writer, array};
use super::{Corpus, Family, prose};

/// A state of some two kilobytes, so that neither side's work is only that of the state.
const ITEMS: u64 = 8;

/// The events of a run that only says something, but for the pieces of what it says.
const PLAIN_RUN_EVENTS: usize = 4;

/// Makes a conversation of exactly so many events: chat, tools, reasoning and state, run after run.
///
/// # Panics
/// If that is not enough for one run.
#[must_use]
pub fn conversation(events: usize) -> Corpus {
    assert!(events > PLAIN_RUN_EVENTS, "a run needs more events");
    let mut generator = Generator::new(false);
    let thread = generator.random.uuid();
    for number in 0.. {
        let before = generator.samples.len();
        run(&mut generator, &thread, number);
        if generator.samples.len() + PLAIN_RUN_EVENTS >= events {
            generator.samples.truncate(before);
            break;
        }
    }
    let pieces = events - generator.samples.len() - PLAIN_RUN_EVENTS;
    plain_run(&mut generator, &thread, pieces);
    Corpus { samples: generator.samples }
}

fn run(generator: &mut Generator, thread: &str, number: u64) {
    let run = generator.random.uuid();
    start(generator, thread, &run);
    generator.emit(Family::Run, Writer::event("STEP_STARTED").text("stepName", "plan"));
    if generator.random.once_in(2) {
        generator.reasoning();
    }
    // A client that joins late is helped by a snapshot now and then.
    if number.is_multiple_of(10) {
        snapshot(generator);
    }
    for _ in 0..generator.random.within(2..7) {
        let operations = generator.random.within(1..4);
        let patch = array((0..operations).map(|_| operation(generator)));
        generator.emit(Family::StateDelta, Writer::event("STATE_DELTA").json("delta", &patch));
    }
    for _ in 0..generator.random.within(1..4) {
        generator.text_message();
        generator.tool_call();
    }
    generator.text_message();
    generator.emit(Family::Run, Writer::event("STEP_FINISHED").text("stepName", "plan"));
    finish(generator, thread, &run);
}

fn plain_run(generator: &mut Generator, thread: &str, pieces: usize) {
    let (run, message) = (generator.random.uuid(), generator.random.uuid());
    start(generator, thread, &run);
    generator.emit(Family::Text, Writer::event("TEXT_MESSAGE_START").text("messageId", &message));
    for _ in 0..pieces {
        let delta = prose::text(&mut generator.random, 4);
        let content = Writer::event("TEXT_MESSAGE_CONTENT").text("messageId", &message).text("delta", &delta);
        generator.emit(Family::Text, content);
    }
    generator.emit(Family::Text, Writer::event("TEXT_MESSAGE_END").text("messageId", &message));
    finish(generator, thread, &run);
}

/// Begins a run with what the user asked. The history is left out: the client has it.
fn start(generator: &mut Generator, thread: &str, run: &str) {
    generator.timestamps = generator.random.once_in(3);
    let words = generator.random.within(5..40);
    let question = Writer::object()
        .text("id", &generator.random.uuid())
        .text("role", "user")
        .text("content", &prose::text(&mut generator.random, words))
        .end();
    let input = ids(Writer::object(), thread, run)
        .json("state", "{}")
        .json("messages", &array([question]))
        .json("tools", "[]")
        .json("context", "[]")
        .json("forwardedProps", "{}")
        .end();
    let started =
        ids(Writer::event("RUN_STARTED"), thread, run).text("protocolVersion", "1.0").json("input", &input);
    generator.emit(Family::Run, started);
}

fn finish(generator: &mut Generator, thread: &str, run: &str) {
    let finished = ids(Writer::event("RUN_FINISHED"), thread, run).json("outcome", r#"{"type":"success"}"#);
    generator.emit(Family::Run, finished);
}

fn snapshot(generator: &mut Generator) {
    let items = array((0..ITEMS).map(|_| record(&mut generator.random)));
    let state = Writer::object().text("phase", "planning").json("items", &items).json("draft", "null").end();
    generator.emit(Family::StateSnapshot, Writer::event("STATE_SNAPSHOT").json("snapshot", &state));
}

/// A change that fits the state, and leaves its size.
fn operation(generator: &mut Generator) -> String {
    let random = &mut generator.random;
    let item = random.within(0..ITEMS);
    let replace = Writer::object().text("op", "replace");
    match random.within(0..4) {
        0 => replace.text("path", &format!("/items/{item}")).json("value", &record(random)),
        1 => replace.text("path", &format!("/items/{item}/score")).json("value", "0.75"),
        2 => replace.text("path", &format!("/items/{item}/title")).text("value", &prose::text(random, 5)),
        _ => Writer::object().text("op", "add").text("path", "/draft").json("value", &arguments(random)),
    }
    .end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::stages::consumer::Consumer;
    use threadline_protocol::stages::fold::Fold;

    #[test]
    fn it_has_the_length_asked_for_and_nothing_to_complain_of() {
        for events in [5, 100, 5_000] {
            let corpus = conversation(events);
            assert_eq!(corpus.samples.len(), events);
            let mut consumer = Consumer::new(Fold::new());
            for sample in &corpus.samples {
                consumer.push(&sample.json, |_| {}).unwrap();
            }
            assert_eq!(consumer.notices(), []);
        }
    }
}
