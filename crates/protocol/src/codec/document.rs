//! Decoding of a single JSON document.

use memchr::memchr_iter;

use super::buffer::Buffer;
use super::{DecodeError, Payload, Place};
use crate::limits::Limits;

/// Takes the whole input, over however many lines, for one event. Whitespace around it is removed; if nothing
/// else is there, there is no event.
#[derive(Debug)]
pub struct DocumentDecoder {
    limits: Limits,
    buffer: Buffer,
    /// The number of the line that the pending input continues.
    line: u64,
}

impl DocumentDecoder {
    /// A decoder at the start of the input.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, buffer: Buffer::text(), line: 1 }
    }

    /// Adds input, cut anywhere. Drain [`next_event`](Self::next_event) before the next push: memory is
    /// bounded by the limits and what was pushed since.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
    }

    /// Ends the input; whatever is pushed later is ignored. Drain [`next_event`](Self::next_event) once more.
    pub fn finish(&mut self) {
        self.buffer.close();
    }

    /// The document, once the input is finished.
    ///
    /// # Errors
    ///
    /// If the document exceeds the limit of an event. This is final.
    pub fn next_event(&mut self) -> Option<Result<Payload<'_>, DecodeError>> {
        self.skip_leading_whitespace();
        let place = Place { line: Some(self.line), event: 1, offset: self.buffer.offset() };
        let limit = self.limits.event_bytes_max;
        let excess = self.buffer.pending().get(limit..).unwrap_or_default();
        if !excess.iter().all(u8::is_ascii_whitespace) {
            self.buffer.consume_all();
            self.buffer.close();
            return Some(Err(DecodeError::DocumentTooLarge { limit, place }));
        }
        // Trailing whitespace beyond the limit can go: if anything else follows it, that is too much anyway.
        self.buffer.truncate(limit);
        if !self.buffer.is_closed() || self.buffer.pending().is_empty() {
            return None;
        }
        let bytes = self.buffer.take(self.buffer.pending().len()).trim_ascii_end();
        Some(Ok(Payload { bytes, place }))
    }

    fn skip_leading_whitespace(&mut self) {
        let pending = self.buffer.pending();
        let len = pending.len() - pending.trim_ascii_start().len();
        let lines = memchr_iter(b'\n', self.buffer.take(len)).count();
        self.line += lines as u64;
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.buffer.held_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Item, decode, item};
    use super::*;

    fn document<const N: usize>(chunks: [&str; N]) -> Vec<Item> {
        decode(DocumentDecoder::new(Limits { event_bytes_max: 8, ..Limits::default() }), chunks)
    }

    fn at(line: u64, offset: u64) -> Place {
        Place { line: Some(line), event: 1, offset }
    }

    #[test]
    fn the_whole_input_is_one_event() {
        assert_eq!(document(["\u{FEFF}\r\n\n {\n1\n", "}\n \n"]), [item("{\n1\n}", at(3, 7))]);
        assert_eq!(document(["{\n", " ", "}"]), [item("{\n }", at(1, 0))]);
    }

    #[test]
    fn no_input_is_no_event() {
        assert_eq!(document([]), []);
        assert_eq!(document(["\u{FEFF}", " \n", "\n"]), []);
    }

    #[test]
    fn only_the_document_counts_against_the_limit() {
        let blank = " ".repeat(20);
        assert_eq!(document([&blank, "12345678", &blank, &blank]), [item("12345678", at(1, 20))]);
        let error = DecodeError::DocumentTooLarge { limit: 8, place: at(1, 0) };
        assert!(error.is_final());
        assert_eq!(document(["12345678", "9", "0"]), [Err(error.clone())]);
        assert_eq!(document(["1", &blank, "2"]), [Err(error)]);
    }

    #[test]
    fn whitespace_is_not_held() {
        let mut decoder = DocumentDecoder::new(Limits { event_bytes_max: 8, ..Limits::default() });
        for chunk in ["    ", "1", "    "] {
            for _ in 0..if chunk == "1" { 1 } else { 100 } {
                decoder.push(chunk.as_bytes());
                assert_eq!(decoder.next_event(), None);
            }
        }
        assert!(decoder.held_bytes() < 64);
    }
}
