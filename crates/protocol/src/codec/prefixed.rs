//! The framing of the protobuf binding: a 4-byte big-endian length before each message.

use super::buffer::Buffer;
use super::{DecodeError, EncodeError, Payload, Place};
use crate::limits::Limits;

const PREFIX_LEN: usize = 4;

/// Decodes length-prefixed frames.
///
/// Only what arrived is held, whatever a prefix announces. Every error is final, since nothing marks the
/// start of the next frame.
#[derive(Debug)]
pub struct PrefixedDecoder {
    limits: Limits,
    buffer: Buffer,
    /// How many frames were yielded.
    events: u64,
}

impl PrefixedDecoder {
    /// A decoder at the start of the input.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, buffer: Buffer::binary(), events: 0 }
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

    /// The message of the next frame, which may be empty, or `None` until more input is pushed.
    ///
    /// # Errors
    ///
    /// If a prefix announces more than the limit of an event, or the input ends inside a frame. Both are final.
    pub fn next_event(&mut self) -> Option<Result<Payload<'_>, DecodeError>> {
        let pending = self.buffer.pending();
        let received = pending.len();
        let place = Place { line: None, event: self.events + 1, offset: self.buffer.offset() };
        if let Some(prefix) = pending.first_chunk::<PREFIX_LEN>() {
            let size = u64::from(u32::from_be_bytes(*prefix)) + PREFIX_LEN as u64;
            let limit = self.limits.event_bytes_max;
            let Some(len) = usize::try_from(size).ok().filter(|&len| len <= limit) else {
                return Some(Err(self.fail(DecodeError::FrameTooLarge { size, limit, place })));
            };
            if len <= received {
                self.events += 1;
                let bytes = self.buffer.take(len).get(PREFIX_LEN..).unwrap_or_default();
                return Some(Ok(Payload { bytes, place }));
            }
        }
        if self.buffer.is_closed() && received > 0 {
            return Some(Err(self.fail(DecodeError::TruncatedFrame { received, place })));
        }
        None
    }

    fn fail(&mut self, error: DecodeError) -> DecodeError {
        self.buffer.consume_all();
        self.buffer.close();
        error
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.buffer.held_bytes()
    }
}

/// Appends `message` to `out` as one frame.
///
/// # Errors
///
/// If the frame would exceed the limit of an event; the default one is what the reference client reads. Nothing is
/// appended then.
pub fn encode_prefixed(out: &mut Vec<u8>, message: &[u8], limits: &Limits) -> Result<(), EncodeError> {
    let size = message.len().saturating_add(PREFIX_LEN);
    let limit = limits.event_bytes_max;
    let len = u32::try_from(message.len()).ok().filter(|_| size <= limit);
    let len = len.ok_or(EncodeError::FrameTooLarge { size, limit })?;
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(message);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Item, decode, item};
    use super::*;

    fn prefixed<const N: usize>(chunks: [&[u8]; N]) -> Vec<Item> {
        decode(PrefixedDecoder::new(Limits { event_bytes_max: 8, ..Limits::default() }), chunks)
    }

    fn at(event: u64, offset: u64) -> Place {
        Place { line: None, event, offset }
    }

    #[test]
    fn frames_abut() {
        assert_eq!(
            prefixed([b"\0\0\0\x02ab\0\0\0", b"\0\0\0\0\x01", b"c"]),
            [item("ab", at(1, 0)), item("", at(2, 6)), item("c", at(3, 10))]
        );
        assert_eq!(prefixed([]), []);
    }

    #[test]
    fn a_large_frame_is_refused_on_sight_of_its_prefix() {
        let mut decoder = PrefixedDecoder::new(Limits { event_bytes_max: 8, ..Limits::default() });
        decoder.push(b"\0\0\0\x04abcd\0\0\0\x05");
        assert_eq!(decoder.next_event(), Some(Ok(Payload { bytes: b"abcd", place: at(1, 0) })));
        let error = DecodeError::FrameTooLarge { size: 9, limit: 8, place: at(2, 8) };
        assert!(error.is_final());
        assert_eq!(decoder.next_event(), Some(Err(error)));
        decoder.push(b"\0\0\0\0");
        assert_eq!(decoder.next_event(), None);

        let error = DecodeError::FrameTooLarge { size: 0x1_0000_0003, limit: 8, place: at(1, 0) };
        assert_eq!(prefixed([&[0xFF; 10]]), [Err(error)]);
    }

    #[test]
    fn a_cut_frame_is_an_error() {
        let error = |received| Err(DecodeError::TruncatedFrame { received, place: at(1, 0) });
        assert_eq!(prefixed([b"\0\0"]), [error(2)]);
        assert_eq!(prefixed([b"\0\0\0\x02", b"a"]), [error(5)]);
    }

    #[test]
    fn encoder_keeps_to_the_limit_of_the_reference_client() {
        let mut out = Vec::new();
        encode_prefixed(&mut out, b"ab", &Limits::default()).unwrap();
        assert_eq!(out, b"\0\0\0\x02ab");

        let limit = 10 * 1024 * 1024;
        assert_eq!(encode_prefixed(&mut out, &vec![0; limit - PREFIX_LEN], &Limits::default()), Ok(()));
        out.clear();
        let error = EncodeError::FrameTooLarge { size: limit + 1, limit };
        assert_eq!(
            encode_prefixed(&mut out, &vec![0; limit - PREFIX_LEN + 1], &Limits::default()),
            Err(error)
        );
        assert!(out.is_empty());
    }
}
