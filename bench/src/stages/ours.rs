//! What Threadline does, from a file to a result.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use threadline_protocol::codec::LineDecoder;
use threadline_protocol::stages::compact::{Compactor, Form};
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::verify::{Options, Verifier};
use threadline_protocol::{Event, Limits, Received};

/// How much is read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// Reads a file piece by piece and hands out its events.
fn each_event(file: &Path, mut each: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::open(file)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut decoder = LineDecoder::new(Limits::default());
    loop {
        let len = file.read(&mut chunk)?;
        if len == 0 {
            decoder.finish();
        } else {
            decoder.push(&chunk[..len]);
        }
        while let Some(payload) = decoder.next_event() {
            let bytes = payload.map_err(io::Error::other)?.bytes;
            each(std::str::from_utf8(bytes).map_err(io::Error::other)?)?;
        }
        if len == 0 {
            return Ok(());
        }
    }
}

/// Reads, decodes, translates, enforces, expands, verifies and folds.
pub(super) fn consume(file: &Path) -> io::Result<Consumer> {
    let mut consumer = Consumer::new(Fold::new());
    each_event(file, |json| consumer.push(json, |_| {}).map_err(io::Error::other))?;
    Ok(consumer)
}

/// What a client holds, in the form that the reference gives it.
pub(super) fn held(fold: &Fold) -> serde_json::Result<Value> {
    let messages = fold.messages().map(|message| serde_json::from_str(&message.to_json()));
    let messages = messages.collect::<serde_json::Result<Vec<Value>>>()?;
    Ok(json!({"messages": messages, "state": serde_json::from_str::<Value>(fold.state().as_str())?}))
}

/// Events that were read.
pub(super) fn parse(text: &str) -> io::Result<Vec<Event<'_>>> {
    let read = |json| Received::read(json).map(Received::into_event).map_err(io::Error::other);
    text.lines().map(read).collect()
}

/// How many violations there are.
pub(super) fn verify(events: &[Event<'_>]) -> usize {
    let mut verifier = Verifier::new(Options::new());
    events.iter().map(|event| verifier.check(event).len()).sum()
}

/// What a client holds.
pub(super) fn fold(events: &[Event<'_>]) -> Fold {
    let mut fold = Fold::new();
    for event in events {
        fold.apply(event).expect("the conversation is legal");
    }
    fold
}

/// Reads, decodes, compacts and writes.
pub(super) fn compact_file(file: &Path) -> io::Result<String> {
    let mut out = String::new();
    let mut write = |events: Vec<Event<'_>>| {
        for event in events {
            event.write_json(&mut out);
            out.push('\n');
        }
    };
    let mut compactor = Compactor::new(Form::Stream, None);
    each_event(file, |json| {
        let received = Received::read(json).map_err(io::Error::other)?;
        write(compactor.push_borrowed(received.event()).map_err(io::Error::other)?);
        Ok(())
    })?;
    write(compactor.finish());
    Ok(out)
}
