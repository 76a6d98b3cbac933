//! The protobuf binding beside the JSON one.

use crate::corpus::Corpus;
use crate::measure::{Candidate, Plan, Selection};
use crate::protocol::{Parsed, RECEIVED, WRITE};
use threadline_protocol::proto::{self, Encoded};
use threadline_protocol::{Event, Received};

/// The events of a corpus in protobuf; None where the binding has no place for one.
#[must_use]
pub fn encoded(parsed: &Parsed<'_>) -> Vec<Option<Encoded>> {
    parsed.events.iter().map(|event| proto::encode(event).ok()).collect()
}

/// Writing events as protobuf.
#[must_use]
pub fn encoding<'a>(corpus: &Corpus, parsed: &'a Parsed<'_>, encoded: &[Option<Encoded>]) -> Plan<'a> {
    let fits = |event: usize| encoded[event].is_some();
    let whole = Selection::of(corpus, "all", fits);
    let bytes: usize = encoded.iter().flatten().map(|encoded| encoded.bytes.len()).sum();
    let lossy = encoded.iter().flatten().filter(|encoded| !encoded.lost.is_empty()).count();
    Plan {
        title: "Protobuf, writing",
        note: format!(
            "The events that the binding has a place for, {lossy} of them without their unknown members: \
             {bytes} bytes, against {} of JSON.",
            whole.bytes
        ),
        candidates: vec![
            Candidate::each(WRITE, &parsed.events, Event::to_json).ours(),
            Candidate::each("proto::encode", &parsed.events, proto::encode).ours(),
        ],
        baselines: &[WRITE],
        aims: &[],
        whole,
        families: Selection::by_family(corpus, fits),
    }
}

/// Reading events from protobuf.
#[must_use]
pub fn decoding<'a>(corpus: &'a Corpus, encoded: &'a [Option<Encoded>]) -> Plan<'a> {
    const OWNED: &str = "Received::read_owned";
    let fits = |event: usize| encoded[event].is_some();
    Plan {
        title: "Protobuf, reading",
        note: "The same events. What is decoded owns itself and its JSON, like what `read_owned` reads. MB/s are of \
               the JSON."
            .to_owned(),
        candidates: vec![
            Candidate::each(RECEIVED, &corpus.samples, |sample| Received::read(&sample.json)).ours(),
            Candidate::each(OWNED, &corpus.samples, |sample| Received::read_owned(sample.json.clone())).ours(),
            Candidate::each("proto::decode", encoded, |encoded| {
                encoded.as_ref().map(|encoded| proto::decode(&encoded.bytes))
            })
            .ours(),
        ],
        baselines: &[RECEIVED, OWNED],
        aims: &[],
        whole: Selection::of(corpus, "all", fits),
        families: Selection::by_family(corpus, fits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;
    use threadline_protocol::proto::Decoded;

    #[test]
    fn what_fits_comes_back() {
        let corpus = corpus::generate();
        for encoded in encoded(&Parsed::read(&corpus)).iter().flatten() {
            assert!(matches!(proto::decode(&encoded.bytes), Ok(Decoded::Event { .. })));
        }
    }
}
