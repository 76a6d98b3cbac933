//! The protobuf binding beside the JSON one.

use crate::corpus::Corpus;
use crate::measure::{Candidate, Plan, Selection};
use crate::protocol::{Parsed, RECEIVED, WRITE};
use threadline_protocol::proto;
use threadline_protocol::{Event, Received};

/// The events of a corpus in protobuf; None where the binding has no place for one.
#[must_use]
pub fn encoded(parsed: &Parsed<'_>) -> Vec<Option<Vec<u8>>> {
    parsed.events.iter().map(|event| proto::encode(event).ok().map(|encoded| encoded.bytes)).collect()
}

/// Writing events as protobuf.
#[must_use]
pub fn encoding<'a>(corpus: &Corpus, parsed: &'a Parsed<'_>, encoded: &[Option<Vec<u8>>]) -> Plan<'a> {
    let fits = |event: usize| encoded[event].is_some();
    Plan {
        title: "Protobuf, writing",
        note: "The events that the binding has a place for.",
        candidates: vec![
            Candidate::each(WRITE, &parsed.events, Event::to_json),
            Candidate::each("**`proto::encode`**", &parsed.events, proto::encode),
        ],
        baselines: &[WRITE],
        aims: &[],
        whole: Selection::of(corpus, "all", fits),
        families: Selection::by_family(corpus, fits),
    }
}

/// Reading events from protobuf.
#[must_use]
pub fn decoding<'a>(corpus: &'a Corpus, encoded: &'a [Option<Vec<u8>>]) -> Plan<'a> {
    let fits = |event: usize| encoded[event].is_some();
    Plan {
        title: "Protobuf, reading",
        note: "The same events. MB/s are of the JSON that they replace.",
        candidates: vec![
            Candidate::each(RECEIVED, &corpus.samples, |sample| Received::read(&sample.json)),
            Candidate::each("**`proto::decode`**", encoded, |bytes| bytes.as_deref().map(proto::decode)),
        ],
        baselines: &[RECEIVED],
        aims: &[],
        whole: Selection::of(corpus, "all", fits),
        families: Selection::by_family(corpus, fits),
    }
}
