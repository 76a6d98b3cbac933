//! The compact stage: an equivalent, shorter stream.
//!
//! Pieces of a message or of a call's arguments become one piece, at the place of the first; changes of an activity go into
//! its snapshot; the state events of a run become one. Everything else stays as it is and where it is, so that what
//! verification accepts stays accepted, nothing changes order, and a fold ends with the same messages and state. What was
//! compacted once is not changed by compacting it again.
//!
//! A merged piece keeps the timestamp, the owner and the unknown members of the first one and the metadata of all; what the
//! provider sent for each (`rawEvent`) is gone.

mod activity;
mod content;
mod state;
#[cfg(test)]
mod tests;

use super::expand::{ExpandError, Expander};
use crate::event::Event;
use crate::json::Json;
use activity::Activities;
use content::Contents;
use state::StateWindow;

/// Compacts a stream, whose chunks are expanded on the way.
///
/// `base` is the state that the reader holds before. Without one it is that of the first run's `input`, where an absent
/// state is `{}`; if the stream does not have that either, changes of the state are only merged after a snapshot of it.
///
/// ```
/// use threadline_protocol::stages::compact::compact;
/// use threadline_protocol::{Event, Received};
///
/// let stream = [
///     r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel"}"#,
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"lo"}"#,
///     r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
/// ];
/// let received = stream.iter().map(|json| Received::read(json)).collect::<Result<Vec<_>, _>>()?;
/// let events: Vec<Event> = received.into_iter().map(Received::into_event).collect();
/// let compacted = compact(&events, None)?;
/// assert_eq!(compacted.len(), 3);
/// assert_eq!(compacted[1].to_json(), r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a chunk cannot be expanded.
pub fn compact<'a>(events: &[Event<'a>], base: Option<&Json<'_>>) -> Result<Vec<Event<'a>>, ExpandError> {
    let mut expander = Expander::new();
    let mut compactor = Compactor { state: StateWindow::new(base), ..Compactor::default() };
    for event in events {
        for event in expander.expand(event)?.iter() {
            compactor.push(event.clone());
        }
    }
    compactor.state.close(&mut compactor.out);
    Ok(compactor.out.into_iter().flatten().collect())
}

/// The stream so far. An event that was merged into another one leaves a gap.
type Output<'a> = Vec<Option<Event<'a>>>;

#[derive(Default)]
struct Compactor<'a> {
    out: Output<'a>,
    contents: Contents,
    activities: Activities,
    state: StateWindow,
}

impl<'a> Compactor<'a> {
    fn push(&mut self, event: Event<'a>) {
        let at = self.out.len();
        match &event {
            Event::RunStarted(started) => {
                self.end_run();
                self.state.start(started);
            }
            Event::RunFinished(_) | Event::RunError(_) => self.end_run(),
            Event::MessagesSnapshot(snapshot) => {
                self.contents.take_snapshot(snapshot);
                self.activities.clear();
            }
            Event::StateSnapshot(_) | Event::StateDelta(_) => self.state.add(&event, at),
            Event::ActivitySnapshot(snapshot) => {
                self.contents.forget_message(&snapshot.message_id);
                if self.activities.take_snapshot(snapshot, at, &mut self.out) {
                    return;
                }
            }
            Event::ActivityDelta(delta) => {
                if self.activities.take_delta(delta, &mut self.out) {
                    return;
                }
            }
            _ => {
                if self.contents.take(&event, at, &mut self.out) {
                    return;
                }
            }
        }
        self.out.push(Some(event));
    }

    fn end_run(&mut self) {
        self.contents.clear();
        self.activities.clear();
        self.state.close(&mut self.out);
    }
}
