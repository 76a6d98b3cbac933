//! Decoding of server-sent event streams.

use std::mem;

use memchr::{memchr, memchr2};

use super::buffer::Buffer;
use super::{DecodeError, Payload, Place};
use crate::limits::Limits;

/// One frame of an SSE stream that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseFrame<'a> {
    /// The values of its `data` lines, joined by LF.
    pub data: &'a [u8],
    /// The value of its last `id` line without NUL, if any.
    pub id: Option<&'a [u8]>,
    /// The value of its last `event` line, if any.
    pub event: Option<&'a [u8]>,
    /// Where its first `data` line began.
    pub place: Place,
}

impl<'a> From<SseFrame<'a>> for Payload<'a> {
    fn from(frame: SseFrame<'a>) -> Self {
        Self { bytes: frame.data, place: frame.place }
    }
}

/// Decodes an SSE stream by the rules of WHATWG, with one difference: a frame that the end of the input cuts
/// off is delivered, as the reference client does.
///
/// A line or frame over its limit is an error, and decoding goes on with the next frame.
#[derive(Debug)]
pub struct SseDecoder {
    limits: Limits,
    buffer: Buffer,
    /// The number of the line that the pending input continues.
    line: u64,
    /// How many frames were yielded or refused.
    events: u64,
    /// The last line ended in CR, so an LF here is the rest of its terminator. Remembering this, rather than
    /// waiting to see the LF, delivers a frame as soon as its blank line ends.
    after_cr: bool,
    /// The current line follows a CR without LF, so that the reference client takes both lines for one.
    after_lone_cr: bool,
    /// A frame with data ended in CR, and no LF LF came since, so that it goes on for the reference client.
    is_continued: bool,
    /// The first frame that the reference client cannot tell from what comes before it.
    joined: Option<Place>,
    mode: Mode,
    frame: PartialFrame,
    /// The partial frame was lent out whole and is to be cleared.
    delivered: bool,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    Decode,
    /// The rest of a refused frame is dropped as it arrives.
    Discard {
        /// A part of the current line is gone already, so it is not blank.
        line_begun: bool,
    },
}

impl SseDecoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            buffer: Buffer::text(),
            line: 1,
            events: 0,
            after_cr: false,
            after_lone_cr: false,
            is_continued: false,
            joined: None,
            mode: Mode::Decode,
            frame: PartialFrame::default(),
            delivered: false,
        }
    }

    /// Adds input, cut anywhere. Drain [`next_event`](Self::next_event) before the next push: memory is
    /// bounded by the limits and what was pushed since.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
    }

    /// Ends the input; whatever is pushed later is ignored. Drain [`next_event`](Self::next_event) once more.
    pub fn finish(&mut self) {
        // One LF ends a line that was cut off, the other one its frame. After whole frames they mean nothing.
        self.buffer.push(b"\n\n");
        self.buffer.close();
    }

    /// The first frame so far that the reference client cannot tell from what comes before it, because lines end in CR: it
    /// splits the stream at LF LF, and joins what stands between.
    #[must_use]
    pub const fn joined(&self) -> Option<Place> {
        self.joined
    }

    /// The next frame that has data, or `None` until more input is pushed.
    ///
    /// # Errors
    ///
    /// If a line or frame exceeds its limit. No such error is final.
    pub fn next_event(&mut self) -> Option<Result<SseFrame<'_>, DecodeError>> {
        if mem::take(&mut self.delivered) {
            self.frame.clear();
        }
        if let Mode::Discard { line_begun } = self.mode {
            self.discard(line_begun)?;
        }
        loop {
            let end = self.find_line_end();
            let place = self.place();
            let limit = self.limits.line_bytes_max;
            if end.unwrap_or(self.buffer.pending().len()) > limit {
                return Some(Err(self.refuse(DecodeError::LineTooLong { limit, place })));
            }
            let len = end?;
            if len == 0 {
                self.end_line(len);
                // A blank line that ends in LF follows an LF.
                self.is_continued = self.after_cr && (self.is_continued || self.frame.place.is_some());
                if let Some(place) = self.frame.place {
                    self.events += 1;
                    self.delivered = true;
                    return Some(Ok(self.frame.lend(&self.frame.data, place)));
                }
                self.frame.clear();
                continue;
            }
            if self.after_lone_cr {
                self.joined.get_or_insert(place);
            }
            let pending = self.buffer.pending();
            match Field::parse(pending.get(..len).unwrap_or_default()) {
                Field::Data(value) => {
                    if self.is_continued {
                        self.joined.get_or_insert(place);
                    }
                    let limit = self.limits.event_bytes_max;
                    if self.frame.data_len_with(value) > limit {
                        let place = self.frame.place.unwrap_or(place);
                        self.end_line(len);
                        return Some(Err(self.refuse(DecodeError::EventTooLarge { limit, place })));
                    }
                    // Nearly every frame is a single data line, whole in the buffer: lend it from there.
                    if self.frame.place.is_none() && pending.get(len..len + 2) == Some(b"\n\n") {
                        self.line += 2;
                        self.events += 1;
                        self.delivered = true;
                        let value_start = len - value.len();
                        let data = self.buffer.take(len + 2).get(value_start..len).unwrap_or_default();
                        return Some(Ok(self.frame.lend(data, place)));
                    }
                    self.frame.append_data(value, place);
                }
                Field::Id(value) => self.frame.id.set(value),
                Field::Event(value) => self.frame.event.set(value),
                Field::Other => {}
            }
            self.end_line(len);
        }
    }

    /// The length of the current line, terminator excluded, once its terminator is here.
    fn find_line_end(&mut self) -> Option<usize> {
        if self.after_cr
            && let Some(&first) = self.buffer.pending().first()
        {
            self.after_cr = false;
            self.after_lone_cr = first != b'\n';
            if !self.after_lone_cr {
                self.buffer.consume(1);
            }
        }
        self.buffer.find(|bytes| memchr2(b'\n', b'\r', bytes))
    }

    /// Consumes a line of `len` bytes and its terminator.
    fn end_line(&mut self, len: usize) {
        self.after_cr = self.buffer.pending().get(len) == Some(&b'\r');
        self.after_lone_cr = false;
        self.buffer.consume(len + 1);
        self.line += 1;
    }

    /// Drops input up to the end of the refused frame, or gives `None` if that has not arrived.
    fn discard(&mut self, mut line_begun: bool) -> Option<()> {
        while let Some(len) = self.find_line_end() {
            let is_blank = len == 0 && !line_begun;
            self.end_line(len);
            line_begun = false;
            if is_blank {
                self.mode = Mode::Decode;
                return Some(());
            }
        }
        line_begun |= !self.buffer.pending().is_empty();
        self.buffer.consume_all();
        self.mode = Mode::Discard { line_begun };
        None
    }

    /// Gives up the current frame.
    fn refuse(&mut self, error: DecodeError) -> DecodeError {
        self.events += 1;
        self.frame.clear();
        self.mode = Mode::Discard { line_begun: false };
        error
    }

    /// The start of the current line.
    fn place(&self) -> Place {
        Place { line: Some(self.line), event: self.events + 1, offset: self.buffer.offset() }
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        let PartialFrame { data, id, event, .. } = &self.frame;
        self.buffer.held_bytes() + data.capacity() + id.bytes.capacity() + event.bytes.capacity()
    }
}

/// A line of a frame.
enum Field<'a> {
    Data(&'a [u8]),
    Id(&'a [u8]),
    Event(&'a [u8]),
    /// A comment, `retry`, or a field that WHATWG ignores.
    Other,
}

impl<'a> Field<'a> {
    fn parse(line: &'a [u8]) -> Self {
        let mut parts = line.splitn(2, |&byte| byte == b':');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => Self::Data(value),
            b"id" if memchr(0, value).is_none() => Self::Id(value),
            b"event" => Self::Event(value),
            _ => Self::Other,
        }
    }
}

/// The lines of the current frame that are already consumed. Copied out of the buffer, so that a frame
/// padded with comments cannot make it grow; cleared rather than dropped, to keep the allocations.
#[derive(Debug, Default)]
struct PartialFrame {
    data: Vec<u8>,
    /// Where the first data line began, if there was one.
    place: Option<Place>,
    id: Slot,
    event: Slot,
}

impl PartialFrame {
    fn clear(&mut self) {
        self.data.clear();
        self.place = None;
        self.id.is_set = false;
        self.event.is_set = false;
    }

    /// The length of the data if one more line were joined to it.
    fn data_len_with(&self, value: &[u8]) -> usize {
        self.data.len() + usize::from(self.place.is_some()) + value.len()
    }

    /// Joins a data line, which began at `place`.
    fn append_data(&mut self, value: &[u8], place: Place) {
        if self.place.is_some() {
            self.data.push(b'\n');
        } else {
            self.place = Some(place);
        }
        self.data.extend_from_slice(value);
    }

    fn lend<'a>(&'a self, data: &'a [u8], place: Place) -> SseFrame<'a> {
        SseFrame { data, id: self.id.get(), event: self.event.get(), place }
    }
}

/// An `Option<Vec<u8>>` that keeps its allocation.
#[derive(Debug, Default)]
struct Slot {
    bytes: Vec<u8>,
    is_set: bool,
}

impl Slot {
    fn set(&mut self, value: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(value);
        self.is_set = true;
    }

    fn get(&self) -> Option<&[u8]> {
        self.is_set.then_some(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Item, OwnedFrame, decode, item};
    use super::*;

    const LIMITS: Limits = Limits { event_bytes_max: 8, line_bytes_max: 16 };

    fn sse<const N: usize>(chunks: [&str; N]) -> Vec<Item> {
        decode(SseDecoder::new(LIMITS), chunks)
    }

    fn at(line: u64, event: u64, offset: u64) -> Place {
        Place { line: Some(line), event, offset }
    }

    #[test]
    fn frames_end_at_blank_lines() {
        assert_eq!(
            sse(["data: a\n\ndata:b\n\n\ndata:  c\n\n"]),
            [item("a", at(1, 1, 0)), item("b", at(3, 2, 9)), item(" c", at(6, 3, 18))]
        );
    }

    #[test]
    fn data_lines_are_joined() {
        assert_eq!(sse(["data: a\ndata\ndata:\ndata:b\n\n"]), [item("a\n\n\nb", at(1, 1, 0))]);
        assert_eq!(sse(["data\n\n"]), [item("", at(1, 1, 0))]);
    }

    #[test]
    fn any_line_end_will_do() {
        let expected = [item("a\nb", at(1, 1, 0)), item("c", at(4, 2, 16))];
        assert_eq!(sse(["data:a\ndata: b\n\ndata:c\n\n"]), expected);
        assert_eq!(sse(["data:a\rdata: b\r\rdata:c\r\r"]), expected);
        let expected = [item("a\nb", at(1, 1, 0)), item("c", at(4, 2, 19))];
        assert_eq!(sse(["data:a\r\ndata: b\r\n\r\ndata:c\r\n\r\n"]), expected);
    }

    #[test]
    fn what_the_reference_cannot_tell_apart_is_remembered() {
        let joined = |input: &str| {
            let mut decoder = SseDecoder::new(Limits::default());
            // However it is cut.
            for byte in input.bytes() {
                decoder.push(&[byte]);
                while decoder.next_event().is_some() {}
            }
            decoder.finish();
            while decoder.next_event().is_some() {}
            let mut whole = SseDecoder::new(Limits::default());
            whole.push(input.as_bytes());
            whole.finish();
            while whole.next_event().is_some() {}
            assert_eq!(whole.joined(), decoder.joined(), "{input:?}");
            whole.joined()
        };
        assert_eq!(joined("data: a\r\n\r\ndata: b\r\n\r\n"), Some(at(3, 2, 11)));
        assert_eq!(joined("data: a\r\rdata: b\r\r"), Some(at(3, 2, 9)));
        assert_eq!(joined("data: a\rdata: b\n\n"), Some(at(2, 1, 8)));
        assert_eq!(joined("data: a\r\n\r\n: ping\r\n\r\ndata: b\n\n"), Some(at(5, 2, 21)));
        // One event is read at the end, and wherever LF LF is, a frame ends.
        for input in [
            "data: a\r\n\r\n",
            "data: a\r\r",
            "data: a\r\n\ndata: b\r\n\n",
            "data: a\r\n\r\n\ndata: b\n\n",
            ": ping\r\n\r\ndata: a\n\ndata: b\n\n",
            "data: a\r\ndata: b\n\n",
        ] {
            assert_eq!(joined(input), None, "{input:?}");
        }
    }

    #[test]
    fn a_cr_at_the_end_of_a_chunk_delays_nothing() {
        let mut decoder = SseDecoder::new(LIMITS);
        for chunk in ["data:a\r", "\n\r"] {
            assert_eq!(decoder.next_event(), None);
            decoder.push(chunk.as_bytes());
        }
        assert_eq!(decoder.next_event().unwrap().unwrap().data, b"a");
        // Its LF is not a blank line that would end the next frame early, nor a line of its own.
        decoder.push(b"\ndata:b\n");
        assert_eq!(decoder.next_event(), None);
        decoder.push(b"\n");
        assert_eq!(decoder.next_event().unwrap().unwrap().place, at(3, 2, 10));
    }

    #[test]
    fn other_lines_are_no_data() {
        assert_eq!(sse([": data\nretry: 1\n data: a\ndata : b\nData: c\n\n"]), []);
        assert_eq!(sse([": ping\ndata: a\n: pong\n\n"]), [item("a", at(2, 1, 7))]);
    }

    #[test]
    fn id_and_event_belong_to_their_frame() {
        let frame = |data: &str, id: Option<&str>, event: Option<&str>, place| {
            let owned = |text: &str| text.as_bytes().to_vec();
            Ok(OwnedFrame { data: owned(data), id: id.map(owned), event: event.map(owned), place })
        };
        assert_eq!(
            sse([
                "id: 1\nevent:x\ndata:a\n\ndata:b\nid\n\n",
                "event:y\nid:2\n\nid:3\nid:4\0\ndata:c\n\ndata:d"
            ]),
            [
                frame("a", Some("1"), Some("x"), at(3, 1, 14)),
                frame("b", Some(""), None, at(5, 2, 22)),
                frame("c", Some("3"), None, at(13, 3, 58)),
                frame("d", None, None, at(15, 4, 66)),
            ]
        );
    }

    #[test]
    fn the_end_of_the_input_ends_a_frame() {
        for input in ["data: a", "data: a\n", "data: a\r", "data: a\r\n", "data: a\n: b", "data: a\n\n"] {
            assert_eq!(sse([input]), [item("a", at(1, 1, 0))], "{input:?}");
        }
    }

    #[test]
    fn a_long_line_costs_its_frame() {
        let fits = format!("data:a\n:{}\n\n", "x".repeat(15));
        assert_eq!(sse([&fits]), [item("a", at(1, 1, 0))]);
        let expected = [
            item("a", at(1, 1, 0)),
            Err(DecodeError::LineTooLong { limit: 16, place: at(4, 2, 15) }),
            item("d", at(7, 3, 43)),
        ];
        let long = "x".repeat(17);
        assert_eq!(sse(["data:a\n\ndata:b\n", &long, "\ndata:c\r\n\r\ndata:d\n\n"]), expected);
        assert_eq!(sse([&format!("data:a\n\ndata:b\n{long}"), "\ndata:c\r\n\r\n", "data:d\n\n"]), expected);
    }

    #[test]
    fn too_much_data_costs_its_frame() {
        let error = DecodeError::EventTooLarge { limit: 8, place: at(3, 2, 15) };
        assert!(!error.is_final());
        assert_eq!(
            sse(["data:12345678\n\ndata:1234\ndata:5678\n\ndata:b\n\n"]),
            [item("12345678", at(1, 1, 0)), Err(error), item("b", at(6, 3, 36))]
        );
    }
}
