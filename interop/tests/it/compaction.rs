//! Streams compacted by us and by the reference's own `compactEvents`, both read by the reference.

use crate::cases;
use crate::consume::{is_accepted, question, theirs};
use crate::suite::{batches, stream};
use serde_json::{Value, json};
use std::fmt;
use threadline_interop::peer::{Peer, Session};
use threadline_protocol::stages::compact::{Form, compact};
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{Event, Json, Received};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

/// What must be the same after a compacted stream.
const RESULT: &[&str] = &["messages", "state", "interrupts", "pendingToolCalls"];

const FORMS: [Form; 2] = [Form::Stream, Form::Snapshot];

/// The stream in the words of 1.0, as far as it can be read: no compaction looks for those of 0.x.
fn translated(events: Vec<String>) -> Vec<String> {
    let mut translator = Translator::new();
    let translate = |json: String| {
        let translated = Received::read(&json).and_then(|received| translator.translate(received));
        translated.map(|translated| translated.event.json().to_owned()).unwrap_or(json)
    };
    events.into_iter().map(translate).collect()
}

/// A stream in a form of ours.
pub(crate) fn compacted(form: Form, events: &[String]) -> Vec<String> {
    let events: Vec<Event<'_>> =
        events.iter().map(|json| Received::read(json).expect("an event").into_event()).collect();
    let compacted = compact(&events, form, Some(&Json::EMPTY_OBJECT));
    compacted.expect("chunks that can be expanded").iter().map(Event::to_json).collect()
}

/// How many compacted streams are as good as the streams they were made from.
#[derive(Clone, Default)]
struct Rate {
    accepted: usize,
    same: usize,
    /// Events that the reader is spared, and then those that it is not.
    saved: usize,
    left: usize,
}

impl Rate {
    /// Counts a stream, and gives what is wrong with it.
    fn add(&mut self, before: &Value, after: &Value) -> Option<String> {
        if !is_accepted(after) {
            return Some(format!("it is refused at event {}", after["failedAt"]));
        }
        self.accepted += 1;
        let delivered = |held: &Value| held["delivered"].as_array().map_or(0, Vec::len);
        self.saved += delivered(before).saturating_sub(delivered(after));
        self.left += delivered(after);
        let differing = RESULT.iter().find(|what| before[what] != after[what]);
        self.same += usize::from(differing.is_none());
        let what = differing?;
        Some(format!("{what} is\n{}\nand was\n{}", after[what], before[what]))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} accepted, {} the same result", self.accepted, self.same)
    }
}

/// What the reference holds after each of the streams.
pub(crate) fn consumed(peer: &mut Session, streams: &[Vec<String>]) -> Vec<Value> {
    let questions: Vec<Value> = streams.iter().map(|events| question(events)).collect();
    let answers = peer.ask(&questions);
    streams.iter().zip(answers).map(|(events, answer)| theirs(&answer, events)).collect()
}

/// The streams as the reference compacts them.
fn compacted_by_reference(peer: &mut Session, streams: &[Vec<String>]) -> Vec<Vec<String>> {
    let questions: Vec<Value> =
        streams.iter().map(|events| json!({"op": "compact", "events": events})).collect();
    let events = |answer: Value| serde_json::from_value(answer["events"].clone()).expect("a stream");
    peer.ask(&questions).into_iter().map(events).collect()
}

#[test]
fn compacted_streams_are_consumed_alike() {
    let mut peer = Peer::Node.start();
    let mut streams_valid = 0;
    let mut rates = vec![Rate::default(); FORMS.len()];
    let mut reference = Rate::default();
    for seeds in batches() {
        let streams: Vec<Vec<String>> = seeds.map(|seed| translated(stream(seed))).collect();
        let before = consumed(&mut peer, &streams);
        let valid = |(events, held): (Vec<String>, Value)| is_accepted(&held).then_some((events, held));
        let (streams, before): (Vec<_>, Vec<_>) = streams.into_iter().zip(before).filter_map(valid).unzip();
        streams_valid += streams.len();
        for (form, rate) in FORMS.into_iter().zip(&mut rates) {
            let compacted: Vec<Vec<String>> = streams.iter().map(|events| compacted(form, events)).collect();
            for (at, after) in consumed(&mut peer, &compacted).iter().enumerate() {
                if let Some(wrong) = rate.add(&before[at], after) {
                    let (was, is) = (streams[at].join("\n"), compacted[at].join("\n"));
                    panic!("in {form:?} form, {wrong}\n\nthe stream\n{was}\n\nbecame\n{is}");
                }
            }
        }
        let compacted = compacted_by_reference(&mut peer, &streams);
        for (before, after) in before.iter().zip(consumed(&mut peer, &compacted)) {
            // Not ours to complain about.
            let _ = reference.add(before, &after);
        }
    }
    for (form, rate) in FORMS.iter().zip(&rates) {
        let Rate { saved, left, .. } = rate;
        println!(
            "compaction of {streams_valid} valid streams, {form:?} form: ours {rate}; the reference's own: {reference}"
        );
        println!(
            "  of the events of accepted streams, {left} of {} are left; with the reference's own, {} of {}",
            saved + left,
            reference.left,
            reference.saved + reference.left
        );
        assert_eq!((rate.accepted, rate.same), (streams_valid, streams_valid));
        assert!(rate.saved > streams_valid, "only {} events less", rate.saved);
    }
}

/// A client that has seen the stream may read its snapshot form, too: nothing is doubled.
#[test]
fn a_snapshot_form_can_be_read_by_who_holds_the_messages() {
    let streams: Vec<Vec<String>> = (0..cases() / 2)
        .map(|seed| streams::valid(&mut Random::new(seed)).iter().map(Value::to_string).collect())
        .collect();
    let twice: Vec<Vec<String>> =
        streams.iter().map(|stream| [stream.clone(), compacted(Form::Snapshot, stream)].concat()).collect();
    let mut peer = Peer::Node.start();
    let before = consumed(&mut peer, &streams);
    for (at, after) in consumed(&mut peer, &twice).iter().enumerate() {
        let shown = twice[at].join("\n");
        assert!(is_accepted(after), "\n{shown}");
        assert_eq!(after["messages"], before[at]["messages"], "\n{shown}");
    }
}
