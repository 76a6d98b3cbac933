//! Streams as we deliver them: repaired, from the middle, and to readers of 0.x. The published clients take them all.

use crate::compaction::consumed;
use crate::consume::{is_accepted, question};
use crate::suite::{batches, stream};
use crate::{as_javascript, cases};
use serde_json::{Value, json};
use threadline_interop::peer::Peer;
use threadline_protocol::stages::downgrade::Downgrader;
use threadline_protocol::stages::join::join;
use threadline_protocol::stages::repair::{Repairer, without_refusals};
use threadline_protocol::{Event, Received};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

fn read(stream: &[String]) -> Vec<Event<'_>> {
    stream.iter().map(|json| Received::read(json).expect("an event").into_event()).collect()
}

fn texts<'e>(events: impl IntoIterator<Item = &'e Event<'e>>) -> Vec<String> {
    events.into_iter().map(Event::to_json).collect()
}

fn valid(seed: u64) -> Vec<String> {
    streams::valid(&mut Random::new(seed)).iter().map(Value::to_string).collect()
}

/// Whatever a producer has sent, as long as each event can be read.
#[test]
fn repaired_streams_are_accepted() {
    let mut peer = Peer::Node.start();
    let (mut repaired, mut whole) = (0, 0);
    for seeds in batches() {
        let streams =
            seeds.map(stream).filter(|stream| stream.iter().all(|json| Received::read(json).is_ok()));
        let streams: Vec<(Vec<String>, usize)> = streams
            .map(|stream| {
                let mut repairer = Repairer::new();
                let (mut out, mut changes) = (Vec::new(), 0);
                for json in &stream {
                    let (received, refused) = without_refusals(Received::read(json).expect("an event"));
                    changes += refused.len();
                    let Some(received) = received else { continue };
                    let repaired = repairer.repair(received.event());
                    out.extend(repaired.output.iter().map(Event::to_json));
                    changes += repaired.changes.len();
                }
                let (events, ended) = repairer.finish();
                out.extend(texts(&events));
                (out, changes + ended.len())
            })
            .collect();
        let questions: Vec<Value> =
            streams.iter().map(|(events, _)| json!({"op": "consume", "events": events})).collect();
        for ((events, changes), answer) in streams.iter().zip(peer.ask(&questions)) {
            assert!(is_accepted(&answer), "{}\n{}", answer["failure"], events.join("\n"));
            *if *changes > 0 { &mut repaired } else { &mut whole } += 1;
        }
    }
    println!("{repaired} streams repaired and accepted, {whole} left as they were");
    assert!(repaired > cases() / 4);
}

/// Who arrives in the middle ends with what those hold who were there from the start.
#[test]
fn streams_can_be_joined_anywhere() {
    let mut peer = Peer::Node.start();
    let streams: Vec<Vec<String>> = (0..cases() / 6).map(valid).collect();
    let whole = consumed(&mut peer, &streams);
    let mut joined = Vec::new();
    for (at, stream) in streams.iter().enumerate() {
        let events = read(stream);
        for part in 0..6 {
            let offset = events.len() * part / 5;
            let prelude = join(&events, offset).expect("the stream is good");
            joined.push((at, [texts(&prelude), stream[offset..].to_vec()].concat()));
        }
    }
    let questions: Vec<Value> = joined.iter().map(|(_, events)| question(events)).collect();
    for ((at, events), answer) in joined.iter().zip(peer.ask(&questions)) {
        assert!(is_accepted(&answer), "{}\n{}", answer["failure"], events.join("\n"));
        for what in ["messages", "state", "interrupts"] {
            assert_eq!(as_javascript(&answer[what]), whole[*at][what], "{what}\n{}", events.join("\n"));
        }
    }
    println!("{} streams joined at {} places", streams.len(), joined.len());
}

/// A reader of 0.x takes a downgraded stream, and would not take all of them as they are.
#[test]
fn readers_of_0_x_accept_what_was_downgraded() {
    let mut peer = Peer::Node.start();
    let streams: Vec<Vec<String>> = (0..cases() / 2).map(valid).collect();
    let downgraded: Vec<Vec<String>> = streams
        .iter()
        .map(|stream| {
            let mut downgrader = Downgrader::new();
            let mut out = Vec::new();
            for event in &read(stream) {
                let downgraded = downgrader.downgrade(event).expect("chunks that can be expanded");
                out.extend(downgraded.output.iter().map(Event::to_json));
            }
            out
        })
        .collect();
    let mut ask = |streams: &[Vec<String>]| {
        let questions: Vec<Value> =
            streams.iter().map(|events| json!({"op": "consumeOld", "events": events})).collect();
        peer.ask(&questions)
    };
    let as_they_are = ask(&streams).iter().filter(|answer| is_accepted(answer)).count();
    for (events, answer) in downgraded.iter().zip(ask(&downgraded)) {
        assert!(is_accepted(&answer), "{}\n{}", answer["failure"], events.join("\n"));
    }
    println!("{} downgraded streams accepted by 0.0.59; as they are, {as_they_are}", streams.len());
    assert!(as_they_are < streams.len());
}
