//! What an agent says in English, as a stream: text that compresses like prose, unlike words drawn from a list.

use super::random::Random;
use super::writer::Writer;
use std::sync::LazyLock;

/// From this repository's documents and comments as they were one day. Longer than a block of sealed history, so that no
/// block has the same sentence twice.
const ENGLISH: &str = include_str!("english.txt");

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| ENGLISH.split_ascii_whitespace().collect());

/// When the first event was made, in milliseconds since 1970.
const FIRST_TIMESTAMP: u64 = 1_760_000_000_000;

/// Start and end of a run, and of a message.
const RUN_ENDS: usize = 2;
const MESSAGE_ENDS: usize = 2;

const MESSAGE_EVENTS_MIN: usize = MESSAGE_ENDS + 1;

/// How many a message has in a run that is long enough.
const MESSAGE_EVENTS: usize = 50;

/// Makes the runs of one thread, event by event.
#[derive(Debug)]
pub struct Deltas {
    random: Random,
    /// Which word of the text comes next.
    word: usize,
    thread: String,
    clock: u64,
}

impl Deltas {
    /// Those of this thread. Each thread begins elsewhere in the text.
    #[must_use]
    pub fn of_thread(thread: u32) -> Self {
        Self::continued(thread, 0)
    }

    /// The same for a thread that goes on: other runs, with other ids.
    #[must_use]
    pub fn continued(thread: u32, times: u32) -> Self {
        let mut of_thread = Random::new(u64::from(thread));
        let id = of_thread.uuid();
        let mut random = Random::new(of_thread.next() ^ u64::from(times));
        let word = usize::try_from(random.within(0..1 << 32)).expect("it has 32 bits");
        Self { random, word, thread: id, clock: FIRST_TIMESTAMP }
    }

    /// One run of exactly so many events, with as many messages as it takes.
    ///
    /// # Panics
    /// If that is too few for a message: a run needs five.
    #[must_use]
    pub fn run(&mut self, events: usize) -> Vec<String> {
        let mut left = events.checked_sub(RUN_ENDS + MESSAGE_EVENTS_MIN).expect("a run needs events")
            + MESSAGE_EVENTS_MIN;
        let mut messages = Vec::new();
        while left > 0 {
            let taken = if left < MESSAGE_EVENTS + MESSAGE_EVENTS_MIN { left } else { MESSAGE_EVENTS };
            messages.push(self.message(taken - MESSAGE_ENDS));
            left -= taken;
        }
        self.run_of(&messages)
    }

    /// So many pieces of a message.
    #[must_use]
    pub fn message(&mut self, pieces: usize) -> Vec<String> {
        (0..pieces).map(|_| self.words()).collect()
    }

    /// One run with a message for each of these, cut as they are.
    #[must_use]
    pub fn run_of(&mut self, messages: &[Vec<String>]) -> Vec<String> {
        let run = self.random.uuid();
        let thread = self.thread.clone();
        let mut out = Vec::new();
        let ends = |event_type| Writer::event(event_type).text("threadId", &thread).text("runId", &run);
        out.push(self.stamped(ends("RUN_STARTED").text("protocolVersion", "1.0")));
        for deltas in messages {
            let message = self.random.uuid();
            let of_message = |event_type| Writer::event(event_type).text("messageId", &message);
            out.push(self.stamped(of_message("TEXT_MESSAGE_START").text("role", "assistant")));
            for delta in deltas {
                out.push(self.stamped(of_message("TEXT_MESSAGE_CONTENT").text("delta", delta)));
            }
            out.push(self.stamped(of_message("TEXT_MESSAGE_END")));
        }
        out.push(self.stamped(ends("RUN_FINISHED").json("outcome", r#"{"type":"success"}"#)));
        out
    }

    /// Pieces of one message as they come in the middle of a run.
    #[must_use]
    pub fn pieces(&mut self, events: usize) -> Vec<String> {
        let message = self.random.uuid();
        let piece = |this: &mut Self| {
            let delta = this.words();
            let event = Writer::event("TEXT_MESSAGE_CONTENT").text("messageId", &message);
            this.stamped(event.text("delta", &delta))
        };
        (0..events).map(|_| piece(self)).collect()
    }

    /// A text of at least so many bytes.
    #[must_use]
    pub fn text(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(&self.words());
        }
        text
    }

    /// Some words, with the space that follows: about 60 bytes.
    fn words(&mut self) -> String {
        let mut out = String::new();
        for _ in 0..self.random.within(6..15) {
            out.push_str(WORDS[self.word % WORDS.len()]);
            self.word += 1;
            out.push(' ');
        }
        out
    }

    fn stamped(&mut self, event: Writer) -> String {
        self.clock += self.random.within(1..80);
        event.json("timestamp", &self.clock.to_string()).end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::stages::consumer::Consumer;
    use threadline_protocol::stages::fold::Fold;

    #[test]
    fn a_run_is_legal_and_of_the_length_asked_for() {
        let mut deltas = Deltas::of_thread(7);
        let mut consumer = Consumer::new(Fold::new());
        for _ in 0..2 {
            let run = deltas.run(100);
            assert_eq!(run.len(), 100);
            for event in run {
                consumer.push(&event, |_| {}).unwrap();
            }
        }
        assert_eq!(consumer.notices(), []);
        assert_eq!(consumer.fold().messages().len(), 4);
    }

    #[test]
    fn every_length_is_met() {
        for events in 5..160 {
            assert_eq!(Deltas::of_thread(1).run(events).len(), events);
        }
    }

    #[test]
    fn pieces_have_the_size_that_was_measured_with() {
        let events = Deltas::of_thread(1).pieces(1000);
        let mean = events.iter().map(String::len).sum::<usize>() / events.len();
        assert!((170..190).contains(&mean), "{mean}");
    }
}
