//! Decoding of input whose format may be unknown.

use super::detect::Detector;
use super::{
    ArrayDecoder, DecodeError, DocumentDecoder, Format, LineDecoder, Payload, Place, PrefixedDecoder,
    SseDecoder,
};
use crate::limits::{HEAD_BYTES_MAX, Limits};

/// Decodes any [`Format`], which it is told or finds out.
#[derive(Debug)]
pub struct InputDecoder {
    state: State,
}

#[derive(Debug)]
enum State {
    Detect { limits: Limits, detector: Detector, head: Vec<u8> },
    Jsonl(LineDecoder),
    JsonArray(ArrayDecoder),
    JsonDocument(DocumentDecoder),
    Sse(SseDecoder),
    Proto(PrefixedDecoder),
}

impl InputDecoder {
    /// A decoder that finds out the format, as [`detect`](super::detect()) does, from at most 64 KiB of input.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { state: State::Detect { limits, detector: Detector::default(), head: Vec::new() } }
    }

    /// A decoder of a known format.
    #[must_use]
    pub fn with_format(format: Format, limits: Limits) -> Self {
        let state = match format {
            Format::Jsonl => State::Jsonl(LineDecoder::new(limits)),
            Format::JsonArray => State::JsonArray(ArrayDecoder::new(limits)),
            Format::JsonDocument => State::JsonDocument(DocumentDecoder::new(limits)),
            Format::Sse => State::Sse(SseDecoder::new(limits)),
            Format::Proto => State::Proto(PrefixedDecoder::new(limits)),
        };
        Self { state }
    }

    /// The format, once it is known.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        match self.state {
            State::Detect { .. } => None,
            State::Jsonl(_) => Some(Format::Jsonl),
            State::JsonArray(_) => Some(Format::JsonArray),
            State::JsonDocument(_) => Some(Format::JsonDocument),
            State::Sse(_) => Some(Format::Sse),
            State::Proto(_) => Some(Format::Proto),
        }
    }

    /// As [`SseDecoder::joined`]; no other format has events that the reference client cannot tell apart.
    #[must_use]
    pub const fn joined(&self) -> Option<Place> {
        match &self.state {
            State::Sse(decoder) => decoder.joined(),
            _ => None,
        }
    }

    /// Adds input, cut anywhere. Drain [`next_event`](Self::next_event) before the next push: memory is
    /// bounded by the limits and what was pushed since.
    pub fn push(&mut self, chunk: &[u8]) {
        match &mut self.state {
            State::Detect { head, .. } => {
                head.extend_from_slice(chunk);
                self.try_detect(false);
            }
            State::Jsonl(decoder) => decoder.push(chunk),
            State::JsonArray(decoder) => decoder.push(chunk),
            State::JsonDocument(decoder) => decoder.push(chunk),
            State::Sse(decoder) => decoder.push(chunk),
            State::Proto(decoder) => decoder.push(chunk),
        }
    }

    /// Ends the input; whatever is pushed later is ignored. Drain [`next_event`](Self::next_event) once more.
    pub fn finish(&mut self) {
        self.try_detect(true);
        match &mut self.state {
            State::Detect { .. } => {}
            State::Jsonl(decoder) => decoder.finish(),
            State::JsonArray(decoder) => decoder.finish(),
            State::JsonDocument(decoder) => decoder.finish(),
            State::Sse(decoder) => decoder.finish(),
            State::Proto(decoder) => decoder.finish(),
        }
    }

    /// The next event, or `None` until more input is pushed.
    ///
    /// # Errors
    ///
    /// As the decoder of the format; [`DecodeError::is_final`] says whether more can follow.
    pub fn next_event(&mut self) -> Option<Result<Payload<'_>, DecodeError>> {
        match &mut self.state {
            State::Detect { .. } => None,
            State::Jsonl(decoder) => decoder.next_event(),
            State::JsonArray(decoder) => decoder.next_event(),
            State::JsonDocument(decoder) => decoder.next_event(),
            State::Sse(decoder) => decoder.next_event().map(|frame| frame.map(Payload::from)),
            State::Proto(decoder) => decoder.next_event(),
        }
    }

    /// Passes the head on to the right decoder as soon as that is known. Always if the head is `complete`.
    fn try_detect(&mut self, complete: bool) {
        let State::Detect { limits, detector, head } = &mut self.state else { return };
        // Never looking further makes the answer independent of how the input is cut.
        let looked_at = head.get(..HEAD_BYTES_MAX);
        let complete = complete || looked_at.is_some();
        if let Some(format) = detector.detect(looked_at.unwrap_or(head), complete) {
            let mut decoder = Self::with_format(format, *limits);
            decoder.push(head);
            *self = decoder;
        }
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        match &self.state {
            State::Detect { head, .. } => head.capacity(),
            State::Jsonl(decoder) => decoder.held_bytes(),
            State::JsonArray(decoder) => decoder.held_bytes(),
            State::JsonDocument(decoder) => decoder.held_bytes(),
            State::Sse(decoder) => decoder.held_bytes(),
            State::Proto(decoder) => decoder.held_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{decode, decode_texts};
    use super::*;

    #[test]
    fn every_format_is_found_and_decoded() {
        for (input, format) in [
            ("{\"a\":1}\n2", Format::Jsonl),
            ("[{\"a\":1},2]", Format::JsonArray),
            ("data: {\"a\":1}\n\n: ping\n\ndata: 2\n\n", Format::Sse),
            ("\0\0\0\x07{\"a\":1}\0\0\0\x012", Format::Proto),
        ] {
            for mut decoder in
                [InputDecoder::new(Limits::default()), InputDecoder::with_format(format, Limits::default())]
            {
                assert_eq!(decode_texts(&mut decoder, [input]), ["{\"a\":1}", "2"], "{format}");
                assert_eq!(decoder.format(), Some(format));
            }
        }
        let mut decoder = InputDecoder::new(Limits::default());
        assert_eq!(decode_texts(&mut decoder, ["{\n", "}\n"]), ["{\n}"]);
        assert_eq!(decoder.format(), Some(Format::JsonDocument));
    }

    #[test]
    fn input_like_no_format_is_reported_by_line() {
        let limits = Limits { event_bytes_max: 4, ..Limits::default() };
        let items = decode(InputDecoder::new(limits), ["\n<html>"]);
        let message = items.first().and_then(|item| item.as_ref().err()).map(ToString::to_string);
        assert_eq!(message.as_deref(), Some("event too large. limit=4, at line 2"));
    }

    #[test]
    fn no_input_is_no_event() {
        let mut decoder = InputDecoder::new(Limits::default());
        assert_eq!(decoder.format(), None);
        assert_eq!(decode_texts(&mut decoder, [""; 0]), [""; 0]);
        assert_eq!(decoder.format(), Some(Format::Jsonl));
    }

    #[test]
    fn a_large_head_is_decided_where_it_is_full() {
        let object = format!("{{\"a\":\"{}\"", "x".repeat(HEAD_BYTES_MAX));
        let mut decoder = InputDecoder::new(Limits::default());
        decoder.push(object.as_bytes());
        assert_eq!(decoder.format(), Some(Format::Jsonl));

        // The line end comes too late to make this a document, whether or not it is in the first chunk.
        let mut decoder = InputDecoder::new(Limits::default());
        decoder.push(format!("{object}\n}}").as_bytes());
        assert_eq!(decoder.format(), Some(Format::Jsonl));
    }
}
