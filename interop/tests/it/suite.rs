//! Many generated streams, consumed by us and by the reference.

use crate::consume::{disagreements, is_accepted, ours, question, theirs};
use crate::coverage::Coverage;
use crate::differences::{Disagreement, explanation};
use crate::{cases, parse};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use threadline_interop::peer::Peer;
use threadline_testkit::random::Random;
use threadline_testkit::streams;

/// How many streams are held at a time, however many are asked for.
const BATCH: u64 = 1_000;

/// The seeds of all the streams, some at a time.
pub(crate) fn batches() -> impl Iterator<Item = Range<u64>> {
    let cases = cases();
    (0..cases.div_ceil(BATCH)).map(move |batch| batch * BATCH..cases.min((batch + 1) * BATCH))
}

/// The stream of a seed.
pub(crate) fn stream(seed: u64) -> Vec<String> {
    let random = &mut Random::new(seed);
    let events = match seed % 16 {
        0..6 => streams::valid(random),
        6..10 => streams::wild(random),
        10..13 => streams::breaching(random),
        13..15 => streams::old(random),
        _ => streams::malformed(random),
    };
    events.iter().map(Value::to_string).collect()
}

#[test]
fn streams_are_consumed_alike() {
    let mut peer = Peer::Node.start();
    let mut coverage = Coverage::new();
    let (mut accepted, mut failed) = (0, 0);
    let mut explained: BTreeMap<&str, u64> = BTreeMap::new();
    for seeds in batches() {
        let streams: Vec<Vec<String>> = seeds.clone().map(stream).collect();
        let questions: Vec<Value> = streams.iter().map(|events| question(events)).collect();
        for ((seed, events), answer) in seeds.zip(&streams).zip(peer.ask(&questions)) {
            let (ours, theirs) = (ours(events), theirs(&answer, events));
            let differing = disagreements(&ours, &theirs);
            if differing.is_empty() {
                coverage.add(events, &ours);
                *if is_accepted(&ours) { &mut accepted } else { &mut failed } += 1;
                continue;
            }
            let values: Vec<Value> = events.iter().map(|json| parse(json)).collect();
            for what in differing {
                let about = Disagreement { events: &values, what, ours: &ours[what] };
                let Some(difference) = explanation(&about) else {
                    panic!(
                        "stream {seed}: {what} is\n{}\nand with the reference\n{}\n{} in\n{}",
                        ours[what],
                        theirs[what],
                        answer["failure"],
                        events.join("\n")
                    );
                };
                *explained.entry(difference).or_default() += 1;
            }
        }
    }
    println!("{accepted} streams accepted by both, {failed} refused by both at the same event");
    println!("with deliberate differences: {explained:?}\n\n{coverage}");
    assert_eq!(coverage.missing(), [""; 0], "the generator never makes these");
    assert!(accepted > cases() / 4 && failed > cases() / 4, "{accepted} accepted, {failed} refused");
}
