//! Writing events to standard output.

use crate::report::Failure;
use std::io::{self, BufWriter, StdoutLock, Write};
use threadline_protocol::codec::{encode_frame, encode_prefixed};

type Output = BufWriter<StdoutLock<'static>>;

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
    out: Output,
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

/// Writes events as length-prefixed protobuf.
#[derive(Debug)]
pub(crate) struct ProtoSink {
    out: Output,
}

impl ProtoSink {
    pub(crate) fn new() -> Self {
        Self { out: BufWriter::new(io::stdout().lock()) }
    }

    pub(crate) fn event(&mut self, message: &[u8]) -> Result<(), Failure> {
        let mut frame = Vec::with_capacity(message.len() + 4);
        encode_prefixed(&mut frame, message).map_err(|error| Failure::write(io::Error::other(error)))?;
        self.out.write_all(&frame).map_err(Failure::write)
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::write)
    }
}
