//! Writing events to standard output.

use crate::report::Failure;
use std::io::{self, BufWriter, StdoutLock, Write};
use threadline_protocol::codec::encode_frame;
use threadline_protocol::stages::Output;

type Stdout = BufWriter<StdoutLock<'static>>;

/// How events that are JSON are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Lines,
    Array,
    Sse,
}

/// Writes events as JSON.
#[derive(Debug)]
pub(crate) struct JsonSink {
    out: Stdout,
    layout: Layout,
    first: bool,
    frame: Vec<u8>,
}

impl JsonSink {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { out: BufWriter::new(io::stdout().lock()), layout, first: true, frame: Vec::new() }
    }

    pub(crate) fn event(&mut self, json: &str) -> Result<(), Failure> {
        self.frame.clear();
        match self.layout {
            Layout::Sse => encode_frame(&mut self.frame, json.as_bytes(), None),
            Layout::Lines => {
                // Line breaks stand only between tokens, where a space means the same.
                let spaced = |byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
                self.frame.extend(json.trim().bytes().map(spaced));
                self.frame.push(b'\n');
            }
            Layout::Array => {
                self.frame.extend_from_slice(if self.first { b"[\n" } else { b",\n" });
                self.frame.extend_from_slice(json.trim().as_bytes());
            }
        }
        self.first = false;
        self.out.write_all(&self.frame).map_err(Failure::write)
    }

    /// Writes what a stage made of an event, which is written as it came if it passed.
    pub(crate) fn output(&mut self, output: &Output<'_, '_>, json: &str) -> Result<(), Failure> {
        let mut events = output.iter().peekable();
        while let Some(event) = events.next() {
            if output.is_passed() && events.peek().is_none() {
                self.event(json)?;
            } else {
                self.event(&event.to_json())?;
            }
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::write)
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let end: &[u8] = match (self.layout, self.first) {
            (Layout::Array, true) => b"[]\n",
            (Layout::Array, false) => b"\n]\n",
            (Layout::Lines | Layout::Sse, _) => b"",
        };
        self.out.write_all(end).map_err(Failure::write)?;
        self.flush()
    }
}

/// Writes frames as they are.
#[derive(Debug)]
pub(crate) struct FrameSink {
    out: Stdout,
}

impl FrameSink {
    pub(crate) fn new() -> Self {
        Self { out: BufWriter::new(io::stdout().lock()) }
    }

    pub(crate) fn frame(&mut self, frame: &[u8]) -> Result<(), Failure> {
        self.out.write_all(frame).map_err(Failure::write)
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::write)
    }
}
