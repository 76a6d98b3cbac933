//! Whole streams as one text, to be kept and taken up again.

use crate::codec::{DecodeError, InputDecoder};
use crate::event::{Event, Received};
use crate::limits::Limits;
use crate::schema::ReadError;
use thiserror::Error;

/// Writes a stream as one JSON array, as `JSON.stringify(events)` does.
///
/// Save, load, compact:
///
/// ```
/// use threadline_protocol::event::{RunError, RunStarted, TextMessageContent, TextMessageStart};
/// use threadline_protocol::stages::compact::{Form, compact};
/// use threadline_protocol::{Event, Received, restore, serialize};
///
/// let events = [
///     Event::from(RunStarted::new("t", "r")),
///     TextMessageStart::new("m").into(),
///     TextMessageContent::new("m", "Hel").into(),
///     TextMessageContent::new("m", "lo").into(),
///     RunError::new("cut off").into(),
/// ];
/// let saved = serialize(&events);
///
/// let loaded: Vec<Event> = restore(&saved)?.into_iter().map(Received::into_event).collect();
/// assert_eq!(loaded, events);
/// let compacted = compact(&loaded, Form::Snapshot, None)?;
/// assert_eq!(
///     serialize(&compacted),
///     concat!(
///         r#"[{"type":"RUN_STARTED","threadId":"t","runId":"r"},"#,
///         r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"m","content":"Hello"}]},"#,
///         r#"{"type":"RUN_ERROR","message":"cut off"}]"#,
///     )
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn serialize<'e, 'a: 'e>(events: impl IntoIterator<Item = &'e Event<'a>>) -> String {
    let mut out = String::from("[");
    for event in events {
        if out.len() > 1 {
            out.push(',');
        }
        event.write(&mut out);
    }
    out.push(']');
    out
}

/// Reads a stream that [`serialize`] wrote, or one that was kept as JSONL, as a single event or as server-sent events.
/// The exact text of each event is kept.
///
/// # Errors
/// If the text is no stream, or an event of it is malformed.
pub fn restore(text: &str) -> Result<Vec<Received<'_>>, RestoreError> {
    let mut decoder = InputDecoder::new(Limits::default());
    decoder.push(text.as_bytes());
    decoder.finish();
    let mut events = Vec::new();
    while let Some(payload) = decoder.next_event() {
        let index = events.len();
        let error = |reason: RestoreReason| RestoreError { index, reason };
        let payload = payload.map_err(|source| error(source.into()))?;
        let start = usize::try_from(payload.place.offset).ok();
        // Nearly always the decoder hands out a piece of the text, which outlives the decoder.
        let piece = start.and_then(|start| text.get(start..start.checked_add(payload.bytes.len())?));
        let received = match piece.filter(|piece| piece.as_bytes() == payload.bytes) {
            Some(piece) => Received::read(piece),
            None => Received::read_bytes(payload.bytes).map(Received::into_owned),
        };
        events.push(received.map_err(|source| error(source.into()))?);
    }
    Ok(events)
}

/// A stream that cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the stream cannot be restored. event={index}")]
pub struct RestoreError {
    /// Which event, from 0.
    pub index: usize,
    /// Why.
    #[source]
    pub reason: RestoreReason,
}

/// Why a stream cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreReason {
    /// The text around the events makes no sense, or an event is too large.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The text is no event, or a known field of it is malformed.
    #[error(transparent)]
    Read(#[from] ReadError),
}
