//! Decoding of JSONL: one event a line.

use memchr::memchr;

use super::buffer::Buffer;
use super::{DecodeError, Payload, Place};
use crate::limits::Limits;

/// Decodes lines that end in LF or CRLF, the last one also without. Blank lines are skipped.
///
/// A line over the limit is an error, and decoding goes on with the next line.
#[derive(Debug)]
pub struct LineDecoder {
    limits: Limits,
    buffer: Buffer,
    /// The number of the line that the pending input continues.
    line: u64,
    /// How many lines were yielded or refused.
    events: u64,
    /// The rest of a refused line is dropped as it arrives.
    discarding: bool,
}

impl LineDecoder {
    /// A decoder at the start of the input.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, buffer: Buffer::text(), line: 1, events: 0, discarding: false }
    }

    /// Adds input, cut anywhere. Drain [`next_event`](Self::next_event) before the next push: memory is
    /// bounded by the limits and what was pushed since.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
    }

    /// Ends the input; whatever is pushed later is ignored. Drain [`next_event`](Self::next_event) once more.
    pub fn finish(&mut self) {
        // Ends a line that was cut off. After a whole line it is one more blank line.
        self.buffer.push(b"\n");
        self.buffer.close();
    }

    /// The next line that is not blank, or `None` until more input is pushed.
    ///
    /// # Errors
    ///
    /// If a line exceeds the limit of an event. No such error is final.
    pub fn next_event(&mut self) -> Option<Result<Payload<'_>, DecodeError>> {
        if self.discarding {
            self.discard()?;
        }
        loop {
            let end = self.buffer.find(|bytes| memchr(b'\n', bytes));
            let place = Place { line: Some(self.line), event: self.events + 1, offset: self.buffer.offset() };
            let pending = self.buffer.pending();
            let line = end.and_then(|end| pending.get(..end)).unwrap_or(pending);
            // Also in a line that is still open, where a CR may turn out to belong to the terminator.
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let limit = self.limits.event_bytes_max;
            if line.len() > limit {
                self.events += 1;
                self.discarding = true;
                return Some(Err(DecodeError::EventTooLarge { limit, place }));
            }
            let end = end?;
            let len = line.len();
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            self.line += 1;
            if is_blank {
                self.buffer.consume(end + 1);
                continue;
            }
            self.events += 1;
            let bytes = self.buffer.take(end + 1).get(..len).unwrap_or_default();
            return Some(Ok(Payload { bytes, place }));
        }
    }

    /// Drops input up to the end of the refused line, or gives `None` if that has not arrived.
    fn discard(&mut self) -> Option<()> {
        let Some(end) = self.buffer.find(|bytes| memchr(b'\n', bytes)) else {
            self.buffer.consume_all();
            return None;
        };
        self.buffer.consume(end + 1);
        self.line += 1;
        self.discarding = false;
        Some(())
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

    fn lines<const N: usize>(chunks: [&str; N]) -> Vec<Item> {
        decode(LineDecoder::new(Limits { event_bytes_max: 8, ..Limits::default() }), chunks)
    }

    fn at(line: u64, event: u64, offset: u64) -> Place {
        Place { line: Some(line), event, offset }
    }

    #[test]
    fn blank_lines_are_skipped() {
        assert_eq!(
            lines(["\u{FEFF}{}\n\r\n \t\n [1] \r\n2"]),
            [item("{}", at(1, 1, 3)), item(" [1] ", at(4, 2, 11)), item("2", at(5, 3, 18))]
        );
        assert_eq!(lines(["\n \n"]), []);
    }

    #[test]
    fn a_lone_cr_ends_no_line() {
        assert_eq!(lines(["1\r2\r\n"]), [item("1\r2", at(1, 1, 0))]);
    }

    #[test]
    fn a_long_line_is_skipped() {
        let error = DecodeError::EventTooLarge { limit: 8, place: at(2, 2, 10) };
        assert!(!error.is_final());
        let expected = [item("12345678", at(1, 1, 0)), Err(error), item("3", at(3, 3, 21))];
        assert_eq!(lines(["12345678\r\n1234567890\n3\n"]), expected);
        assert_eq!(lines(["12345678\r", "\n123456789", "0", "\n3"]), expected);
    }

    #[test]
    fn a_cr_counts_unless_an_lf_follows() {
        let error = DecodeError::EventTooLarge { limit: 8, place: at(1, 1, 0) };
        assert_eq!(lines(["12345678\r", "x"]), [Err(error)]);
        assert_eq!(lines(["12345678\r"]), [item("12345678", at(1, 1, 0))]);
    }
}
