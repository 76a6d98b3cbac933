//! Decoding of a JSON array of events.

use super::buffer::Buffer;
use super::scanner::{ValueScanner, is_json_whitespace};
use super::{DecodeError, Payload, Place};
use crate::limits::Limits;

/// Decodes one JSON array, and yields each element without the whitespace around it.
///
/// Elements are told apart, not parsed: whether one is valid JSON is for its reader to say. An element over
/// the limit is an error, and decoding goes on with the next one; an error of the array itself is final.
#[derive(Debug)]
pub struct ArrayDecoder {
    limits: Limits,
    buffer: Buffer,
    state: State,
    /// Looks for the end of the current element.
    scanner: ValueScanner,
    /// How many elements were yielded or refused.
    events: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    BeforeArray,
    AfterOpen,
    AfterComma,
    InElement,
    /// The rest of a refused element is dropped as it arrives.
    InRefusedElement,
    AfterElement,
    /// The array is closed, or beyond repair. Only whitespace may follow.
    Done,
}

impl ArrayDecoder {
    /// A decoder at the start of the input.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            buffer: Buffer::text(),
            state: State::BeforeArray,
            scanner: ValueScanner::default(),
            events: 0,
        }
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

    /// The next element, or `None` until more input is pushed.
    ///
    /// # Errors
    ///
    /// If an element exceeds the limit of an event, or, finally, if the input is not a JSON array.
    pub fn next_event(&mut self) -> Option<Result<Payload<'_>, DecodeError>> {
        loop {
            match self.state {
                State::InElement => {
                    let end = self.buffer.find(|bytes| self.scanner.scan(bytes));
                    let len = end.unwrap_or(self.buffer.pending().len());
                    let place = self.place();
                    let limit = self.limits.event_bytes_max;
                    if len > limit {
                        self.events += 1;
                        self.state = end.map_or(State::InRefusedElement, |_| State::AfterElement);
                        self.buffer.consume(len);
                        return Some(Err(DecodeError::EventTooLarge { limit, place }));
                    }
                    if end.is_none() {
                        return self.error_at_end().map(Err);
                    }
                    self.events += 1;
                    self.state = State::AfterElement;
                    return Some(Ok(Payload { bytes: self.buffer.take(len), place }));
                }
                State::InRefusedElement => {
                    let Some(len) = self.buffer.find(|bytes| self.scanner.scan(bytes)) else {
                        self.buffer.consume_all();
                        return self.error_at_end().map(Err);
                    };
                    self.buffer.consume(len);
                    self.state = State::AfterElement;
                }
                _ => {
                    let Some(byte) = self.peek_token() else {
                        return self.error_at_end().map(Err);
                    };
                    if let Err(error) = self.enter(byte) {
                        return Some(Err(self.fail(error)));
                    }
                }
            }
        }
    }

    /// The first byte that is not whitespace, once it is here.
    fn peek_token(&mut self) -> Option<u8> {
        let pending = self.buffer.pending();
        let whitespace_len = pending.iter().take_while(|&&byte| is_json_whitespace(byte)).count();
        self.buffer.consume(whitespace_len);
        self.buffer.pending().first().copied()
    }

    /// Moves on by one byte outside of elements, or into an element.
    fn enter(&mut self, byte: u8) -> Result<(), DecodeError> {
        let place = self.place();
        self.state = match (self.state, byte) {
            (State::BeforeArray, b'[') => State::AfterOpen,
            (State::BeforeArray, _) => return Err(DecodeError::NotAnArray { place }),
            (State::AfterOpen | State::AfterElement, b']') => State::Done,
            (State::AfterElement, b',') => State::AfterComma,
            (State::AfterElement, _) => return Err(DecodeError::MissingComma { place }),
            (State::AfterComma, b']') => return Err(DecodeError::TrailingComma { place }),
            (State::Done, _) => return Err(DecodeError::TrailingData { place }),
            (_, b',') => return Err(DecodeError::MissingElement { place }),
            _ => {
                // The scanner wants this byte too, so it is not consumed.
                self.scanner = ValueScanner::default();
                self.state = State::InElement;
                return Ok(());
            }
        };
        self.buffer.consume(1);
        Ok(())
    }

    /// What is wrong if the input ends here, once it is known to.
    fn error_at_end(&mut self) -> Option<DecodeError> {
        if !self.buffer.is_closed() {
            return None;
        }
        let place = self.place();
        let error = match self.state {
            State::Done => return None,
            State::BeforeArray => DecodeError::NotAnArray { place },
            _ => DecodeError::UnclosedArray { place },
        };
        Some(self.fail(error))
    }

    fn fail(&mut self, error: DecodeError) -> DecodeError {
        self.state = State::Done;
        self.buffer.consume_all();
        self.buffer.close();
        error
    }

    /// The start of the pending input.
    fn place(&self) -> Place {
        Place { line: None, event: self.events + 1, offset: self.buffer.offset() }
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

    fn array(input: &str) -> Vec<Item> {
        decode(ArrayDecoder::new(Limits { event_bytes_max: 12, ..Limits::default() }), [input])
    }

    fn at(event: u64, offset: u64) -> Place {
        Place { line: None, event, offset }
    }

    #[test]
    fn elements_are_exact() {
        assert_eq!(
            array("\u{FEFF} [ {\"a\": [1]} ,\n\"]\\\"\",-1 , null]\n"),
            [
                item("{\"a\": [1]}", at(1, 6)),
                item("\"]\\\"\"", at(2, 19)),
                item("-1", at(3, 25)),
                item("null", at(4, 30)),
            ]
        );
        assert_eq!(array("[]"), []);
        assert_eq!(array(" [ ] "), []);
    }

    #[test]
    fn an_element_is_yielded_before_its_comma() {
        let mut decoder = ArrayDecoder::new(Limits::default());
        decoder.push(b"[{}");
        assert_eq!(decoder.next_event(), Some(Ok(Payload { bytes: b"{}", place: at(1, 1) })));
        assert_eq!(decoder.next_event(), None);
    }

    #[test]
    fn errors_of_the_array_are_final() {
        for (input, error) in [
            ("", DecodeError::NotAnArray { place: at(1, 0) }),
            (" {}", DecodeError::NotAnArray { place: at(1, 1) }),
            ("[,", DecodeError::MissingElement { place: at(1, 1) }),
            ("[", DecodeError::UnclosedArray { place: at(1, 1) }),
            ("[ {", DecodeError::UnclosedArray { place: at(1, 2) }),
            ("[]]", DecodeError::TrailingData { place: at(1, 2) }),
        ] {
            assert_eq!(array(input), [Err(error)], "{input}");
        }
        for (input, error) in [
            ("[1 2, 3]", DecodeError::MissingComma { place: at(2, 3) }),
            ("[1}]", DecodeError::MissingComma { place: at(2, 2) }),
            ("[1,,2]", DecodeError::MissingElement { place: at(2, 3) }),
            ("[1, ]", DecodeError::TrailingComma { place: at(2, 4) }),
            ("[1", DecodeError::UnclosedArray { place: at(1, 1) }),
            ("[1,", DecodeError::UnclosedArray { place: at(2, 3) }),
            ("[1] x", DecodeError::TrailingData { place: at(2, 4) }),
        ] {
            assert!(error.is_final());
            assert_eq!(array(input).last(), Some(&Err(error)), "{input}");
        }
    }

    #[test]
    fn a_large_element_is_skipped() {
        let refused = |place| Err(DecodeError::EventTooLarge { limit: 12, place });
        assert_eq!(
            array("[1, \"0123456789\",[\"0123456789\"] ,2]"),
            [item("1", at(1, 1)), item("\"0123456789\"", at(2, 4)), refused(at(3, 17)), item("2", at(4, 33))]
        );
        assert_eq!(
            array("[\"012345678901"),
            [refused(at(1, 1)), Err(DecodeError::UnclosedArray { place: at(2, 14) })]
        );
    }
}
