//! From the pieces of an answer to frames.

use super::exchange::{Ending, Frame, Stream, ends_run, fails_run};
use std::time::Duration;
use threadline_protocol::Limits;
use threadline_protocol::codec::{Format, InputDecoder};
use threadline_protocol::proto::{self, Decoded};

/// How much of an answer is kept as text.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// How many frames are kept.
const FRAMES_MAX: usize = 20_000;

/// How much of an answer is read.
pub(crate) const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Takes the pieces of an answer as they come.
#[derive(Debug)]
pub(crate) struct Collector {
    decoder: InputDecoder,
    stream: Stream,
    beginning: Vec<u8>,
    bytes: usize,
    last_at: Duration,
    /// The last frame that came ended a run.
    has_ended: bool,
    is_too_much: bool,
}

impl Collector {
    /// For an answer that says of itself that it is this.
    pub(crate) fn new(essence: Option<&str>, at: Duration) -> Self {
        let limits = Limits::default();
        let decoder = match essence {
            Some("text/event-stream") => InputDecoder::with_format(Format::Sse, limits),
            Some("application/vnd.ag-ui.event+proto") => InputDecoder::with_format(Format::Proto, limits),
            _ => InputDecoder::new(limits),
        };
        Self {
            decoder,
            stream: Stream::default(),
            beginning: Vec::new(),
            bytes: 0,
            last_at: at,
            has_ended: false,
            is_too_much: false,
        }
    }

    pub(crate) fn push(&mut self, piece: &[u8], at: Duration) {
        self.heard(at);
        self.bytes += piece.len();
        let left = TEXT_BYTES_MAX.saturating_sub(self.beginning.len());
        self.beginning.extend_from_slice(piece.get(..left).unwrap_or(piece));
        self.decoder.push(piece);
        self.drain(at);
        self.is_too_much |= self.bytes > BODY_BYTES_MAX || self.stream.frames.len() >= FRAMES_MAX;
    }

    /// Takes a whole message of a WebSocket.
    pub(crate) fn message(&mut self, bytes: &[u8], at: Duration) {
        self.heard(at);
        self.bytes += bytes.len();
        self.frame(text_of(bytes), at);
        self.is_too_much |= self.bytes > BODY_BYTES_MAX || self.stream.frames.len() >= FRAMES_MAX;
    }

    /// Takes note that a message was sent over a WebSocket.
    pub(crate) fn said(&mut self) {
        self.stream.said.push(self.stream.frames.len());
    }

    /// Whether the run has ended, so that nothing more is to be expected.
    pub(crate) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether what ended the run is an error.
    pub(crate) fn has_failed(&self) -> bool {
        let last = self.stream.frames.last().and_then(|frame| frame.json.as_deref().ok());
        last.is_some_and(fails_run)
    }

    /// Whether enough has come.
    pub(crate) const fn is_too_much(&self) -> bool {
        self.is_too_much
    }

    pub(crate) fn finish(mut self, ending: Ending, at: Duration) -> Stream {
        self.heard(at);
        self.decoder.finish();
        self.drain(at);
        self.stream.format = self.decoder.format();
        self.stream.joined =
            self.decoder.joined().and_then(|place| usize::try_from(place.event.checked_sub(1)?).ok());
        self.stream.text = String::from_utf8_lossy(&self.beginning).into_owned();
        self.stream.ending = if self.is_too_much { Ending::TooMuch } else { ending };
        self.stream
    }

    fn heard(&mut self, at: Duration) {
        self.stream.silence_max = self.stream.silence_max.max(at.saturating_sub(self.last_at));
        self.last_at = at;
    }

    fn drain(&mut self, at: Duration) {
        let format = self.decoder.format();
        let mut found = Vec::new();
        while let Some(payload) = self.decoder.next_event() {
            found.push(match payload {
                Ok(payload) if format == Some(Format::Proto) => json_of_proto(payload.bytes),
                Ok(payload) => text_of(payload.bytes),
                Err(error) => Err(error.to_string()),
            });
        }
        for json in found {
            self.frame(json, at);
        }
    }

    fn frame(&mut self, json: Result<String, String>, at: Duration) {
        self.has_ended = json.as_deref().is_ok_and(ends_run);
        if self.stream.frames.len() < FRAMES_MAX {
            self.stream.frames.push(Frame { json, at });
        }
    }
}

fn text_of(bytes: &[u8]) -> Result<String, String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| error.to_string())
}

fn json_of_proto(bytes: &[u8]) -> Result<String, String> {
    match proto::decode(bytes) {
        Ok(Decoded::Event { event, .. }) => Ok(event.json().to_owned()),
        Ok(Decoded::UnknownArm) => Err("an event of a type that has no name in protobuf".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SSE: Option<&str> = Some("text/event-stream");

    #[test]
    fn frames_come_with_their_times() {
        let ms = Duration::from_millis;
        let mut collector = Collector::new(SSE, ms(5));
        collector.push(b"data: {\"type\":\"RUN_STARTED\"}\n\ndata: {\"ty", ms(10));
        assert!(!collector.has_ended());
        collector.push(b": ping\n\n", ms(200));
        collector.push(b"data: {\"type\":\"RUN_FINISHED\"}\n\n", ms(210));
        assert!(collector.has_ended());
        let stream = collector.finish(Ending::Ended, ms(220));
        let times: Vec<Duration> = stream.frames.iter().map(|frame| frame.at).collect();
        assert_eq!(times, [ms(10), ms(200), ms(210)]);
        assert_eq!((stream.silence_max, stream.format), (ms(190), Some(Format::Sse)));
    }

    #[test]
    fn what_is_mislabelled_is_found_out_and_what_is_not_utf8_is_no_event() {
        let mut collector = Collector::new(Some("application/json"), Duration::ZERO);
        collector.push(b"data: {}\n\ndata: \xff\n\n", Duration::ZERO);
        let stream = collector.finish(Ending::Ended, Duration::ZERO);
        assert_eq!(stream.format, Some(Format::Sse));
        assert_eq!(stream.events().count(), 1);
        assert!(stream.frames[1].json.is_err());
    }
}
