//! The protocol crate: reading and writing events, and framing them.

use crate::corpus::{Corpus, Sample};
use crate::fidelity::Fidelity;
use crate::measure::{Aim, Candidate, Plan, Selection};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::rc::Rc;
use threadline_protocol::codec::{SseDecoder, SseId, encode_frame};
use threadline_protocol::{Envelope, Event, Limits, Received};

const VALIDATE: &str = "serde_json, validate only";
const VALUE: &str = "serde_json Value";
const ENVELOPE: &str = "Envelope::read";
pub(crate) const RECEIVED: &str = "Received::read";
const OWNED: &str = "Received::read, into_owned";
pub(crate) const WRITE: &str = "Event::to_json";
const AG_UI: &str = "ag-ui 0.5.0-alpha.3";
const AG_UI_CORE: &str = "ag-ui-core 0.1.0";

/// As much as one read from a socket gives when a stream is behind.
const CHUNK_BYTES: usize = 16 * 1024;

fn read_by_ag_ui(json: &str) -> serde_json::Result<ag_ui::Event> {
    serde_json::from_str(json)
}

fn read_by_ag_ui_core(json: &str) -> serde_json::Result<ag_ui_core::event::Event> {
    serde_json::from_str(json)
}

/// What each reader can read, and whether it can give it back.
#[must_use]
pub fn fidelity(corpus: &Corpus) -> Vec<Fidelity> {
    vec![
        Fidelity::of("Threadline", corpus, |json| {
            serde_json::from_str(&Received::read(json).ok()?.into_event().to_json()).ok()
        }),
        Fidelity::of(AG_UI, corpus, |json| serde_json::to_value(read_by_ag_ui(json).ok()?).ok()),
        Fidelity::of(AG_UI_CORE, corpus, |json| serde_json::to_value(read_by_ag_ui_core(json).ok()?).ok()),
    ]
}

/// Reading all events.
#[must_use]
pub fn reading(corpus: &Corpus) -> Plan<'_> {
    let mut candidates = our_reading(corpus);
    candidates.push(Candidate::each(ENVELOPE, &corpus.samples, |sample| Envelope::read(&sample.json)).ours());
    Plan {
        title: "Reading",
        note: "All events. A relay reads the envelope, everything else reads types.".to_owned(),
        candidates,
        baselines: &[VALIDATE, VALUE],
        aims: &[
            Aim { subject: ENVELOPE, baseline: VALIDATE, ratio_max: 1.5 },
            Aim { subject: RECEIVED, baseline: VALUE, ratio_max: 1.0 },
        ],
        whole: Selection::of(corpus, "all", |_| true),
        families: Selection::by_family(corpus, |_| true),
    }
}

/// Reading what ag-ui can read.
#[must_use]
pub fn reading_beside_ag_ui(corpus: &Corpus) -> Plan<'_> {
    let readable = readable(corpus, |json| read_by_ag_ui(json).is_ok());
    let mut candidates = our_reading(corpus);
    candidates.push(Candidate::each(AG_UI, &corpus.samples, |sample| read_by_ag_ui(&sample.json)));
    Plan {
        title: "Reading beside ag-ui",
        note: "The events that it can read.".to_owned(),
        candidates,
        baselines: &[VALUE, AG_UI],
        aims: &[
            Aim { subject: RECEIVED, baseline: AG_UI, ratio_max: 1.0 },
            Aim { subject: OWNED, baseline: AG_UI, ratio_max: 1.0 },
        ],
        whole: Selection::of(corpus, "all", |event| readable[event]),
        families: Selection::by_family(corpus, |event| readable[event]),
    }
}

/// Reading what ag-ui-core can read.
#[must_use]
pub fn reading_beside_ag_ui_core(corpus: &Corpus) -> Plan<'_> {
    let readable = readable(corpus, |json| read_by_ag_ui_core(json).is_ok());
    let mut candidates = our_reading(corpus);
    candidates.push(Candidate::each(AG_UI_CORE, &corpus.samples, |sample| read_by_ag_ui_core(&sample.json)));
    Plan {
        title: "Reading beside ag-ui-core",
        note: "The events that it can read.".to_owned(),
        candidates,
        baselines: &[VALUE, AG_UI_CORE],
        aims: &[
            Aim { subject: RECEIVED, baseline: AG_UI_CORE, ratio_max: 1.0 },
            Aim { subject: OWNED, baseline: AG_UI_CORE, ratio_max: 1.0 },
        ],
        whole: Selection::of(corpus, "all", |event| readable[event]),
        families: Selection::by_family(corpus, |event| readable[event]),
    }
}

fn readable(corpus: &Corpus, can_read: impl Fn(&str) -> bool) -> Vec<bool> {
    corpus.samples.iter().map(|sample| can_read(&sample.json)).collect()
}

/// The baselines and the typed readers.
fn our_reading(corpus: &Corpus) -> Vec<Candidate<'_>> {
    let samples = &corpus.samples;
    vec![
        Candidate::each(VALIDATE, samples, |sample| serde_json::from_str::<IgnoredAny>(&sample.json)),
        Candidate::each(VALUE, samples, |sample| serde_json::from_str::<Value>(&sample.json)),
        Candidate::each(RECEIVED, samples, |sample| Received::read(&sample.json)).ours(),
        Candidate::each(OWNED, samples, |sample| {
            Received::read(&sample.json).map(|received| received.into_event().into_owned())
        })
        .ours(),
    ]
}

/// The events of a corpus, read.
#[derive(Debug)]
pub struct Parsed<'a> {
    pub(crate) events: Vec<Event<'a>>,
    values: Vec<Value>,
    /// None where ag-ui cannot read the event.
    ag_ui: Vec<Option<ag_ui::Event>>,
}

impl<'a> Parsed<'a> {
    /// Reads a corpus by every reader that can also write.
    #[must_use]
    pub fn read(corpus: &'a Corpus) -> Self {
        let texts = || corpus.samples.iter().map(|sample| sample.json.as_str());
        let event = |json| Received::read(json).expect("the corpus is events").into_event();
        let value = |json| serde_json::from_str(json).expect("the corpus is JSON");
        Self {
            events: texts().map(event).collect(),
            values: texts().map(value).collect(),
            ag_ui: texts().map(|json| read_by_ag_ui(json).ok()).collect(),
        }
    }
}

/// Writing events that were read.
#[must_use]
pub fn writing<'a>(corpus: &Corpus, parsed: &'a Parsed<'_>) -> Plan<'a> {
    let readable = |event: usize| parsed.ag_ui[event].is_some();
    Plan {
        title: "Writing",
        note: "The events that ag-ui can read.".to_owned(),
        candidates: vec![
            Candidate::each(VALUE, &parsed.values, Value::to_string),
            Candidate::each(WRITE, &parsed.events, Event::to_json).ours(),
            Candidate::each(AG_UI, &parsed.ag_ui, serde_json::to_string),
        ],
        baselines: &[VALUE],
        aims: &[],
        whole: Selection::of(corpus, "all", readable),
        families: Selection::by_family(corpus, readable),
    }
}

/// Framing stored events for SSE.
#[must_use]
pub fn framing<'a>(corpus: &'a Corpus, id: &'a SseId) -> Plan<'a> {
    const COPY: &str = "copy";
    let samples = &corpus.samples;
    Plan {
        title: "SSE framing",
        note: "Each event's stored bytes become a frame in a new buffer. The baseline copies them, unframed."
            .to_owned(),
        candidates: vec![
            Candidate::each(COPY, samples, |sample| sample.json.as_bytes().to_vec()),
            Candidate::each("encode_frame", samples, |sample| frame(sample, None)).ours(),
            Candidate::each("encode_frame with an id", samples, |sample| frame(sample, Some(id))).ours(),
            Candidate::each(AG_UI, samples, |sample| ag_ui::encode::sse::frame(&sample.json)),
        ],
        baselines: &[COPY],
        aims: &[],
        whole: Selection::of(corpus, "all", |_| true),
        families: Vec::new(),
    }
}

/// Every event of the corpus as an SSE frame.
#[must_use]
pub fn frames(corpus: &Corpus) -> Vec<Vec<u8>> {
    corpus.samples.iter().map(|sample| frame(sample, None)).collect()
}

fn frame(sample: &Sample, id: Option<&SseId>) -> Vec<u8> {
    // The frame, an id and a little more: one allocation.
    let mut out = Vec::with_capacity(sample.json.len() + 64);
    encode_frame(&mut out, sample.json.as_bytes(), id);
    out
}

/// Taking apart an SSE stream that is read as it is written.
#[must_use]
pub fn unframing_live<'a>(corpus: &Corpus, frames: &'a [Vec<u8>]) -> Plan<'a> {
    let chunks = frames.iter().map(Vec::as_slice).collect();
    unframing(corpus, "SSE decoding, live", "Each frame comes as a chunk of its own.", chunks)
}

/// Taking apart an SSE stream that is behind.
#[must_use]
pub fn unframing_backlog<'a>(corpus: &Corpus, stream: &'a [u8]) -> Plan<'a> {
    let chunks = stream.chunks(CHUNK_BYTES).collect();
    unframing(corpus, "SSE decoding, backlog", "The stream comes in chunks of 16 KiB.", chunks)
}

fn unframing<'a>(
    corpus: &Corpus,
    title: &'static str,
    note: &'static str,
    chunks: Vec<&'a [u8]>,
) -> Plan<'a> {
    const SCAN: &str = "memchr for LF, chunk by chunk";
    let chunks = Rc::new(chunks);
    let (ours, theirs) = (Rc::clone(&chunks), Rc::clone(&chunks));
    let scan = move || chunks.iter().map(|chunk| memchr::memchr_iter(b'\n', chunk).count()).sum::<usize>();
    Plan {
        title,
        note: note.to_owned(),
        candidates: vec![
            Candidate::all(SCAN, scan),
            Candidate::all("SseDecoder", move || unframe(&ours)).ours(),
            Candidate::all(AG_UI, move || unframe_by_ag_ui(&theirs)),
        ],
        baselines: &[SCAN],
        aims: &[],
        whole: Selection::of(corpus, "all", |_| true),
        families: Vec::new(),
    }
}

/// The length of the data in all frames.
fn unframe(chunks: &[&[u8]]) -> usize {
    let mut decoder = SseDecoder::new(Limits::default());
    let mut bytes = 0;
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(frame) = decoder.next_event() {
            bytes += frame.expect("no frame is over the limit").data.len();
        }
    }
    bytes
}

/// The same by ag-ui's decoder.
fn unframe_by_ag_ui(chunks: &[&[u8]]) -> usize {
    let mut decoder = ag_ui::client::transport::SseDecoder::new();
    let mut bytes = 0;
    for chunk in chunks {
        decoder.push(chunk).expect("no frame is over the limit");
        while let Some(frame) = decoder.next_frame().expect("the stream is UTF-8") {
            bytes += frame.data.len();
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;

    #[test]
    fn both_decoders_find_every_byte_of_data() {
        let corpus = corpus::generate();
        let frames = frames(&corpus);
        let bytes: usize = corpus.samples.iter().map(|sample| sample.json.len()).sum();
        let stream = frames.concat();
        let chunks: Vec<&[u8]> = stream.chunks(CHUNK_BYTES).collect();
        assert_eq!(unframe(&chunks), bytes);
        assert_eq!(unframe_by_ag_ui(&chunks), bytes);
    }
}
