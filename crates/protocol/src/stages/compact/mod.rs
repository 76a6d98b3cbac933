//! The compact stage: an equivalent, shorter stream, in one of two forms.
//!
//! A fold of the result holds the same messages, state, interrupts, pending calls, usage and runs; verification accepts it
//! wherever it accepted the stream; nothing changes order; and compacting again changes nothing.
//!
//! # Stream form
//!
//! Pieces of a message or of a call's arguments become one piece, at the place of the first; changes of an activity go into
//! its snapshot; the state events of a run become one. Everything else stays as it is and where it is. So a message is a
//! start, one content and an end, and a call a start, one piece of arguments and an end, except where a second piece says
//! something else than the first:
//!
//! - a message or call that is opened again after its end has a piece for each time,
//! - a snapshot of the messages, an activity or a tool's result under the same id, or a call that makes the message,
//!   stands between pieces that mean something else before and after it,
//! - text and reasoning under one id take turns.
//!
//! A merged piece keeps the owner and the unknown members of the first one, the last timestamp and the metadata of all;
//! what the provider sent for each (`rawEvent`) is gone.
//!
//! # Snapshot form
//!
//! Of each run the start and the end stay, and what is neither message nor state: steps, subagents, RAW, CUSTOM and unknown
//! events. Everything else is restated in the last run, before it ends, by one MESSAGES_SNAPSHOT and one STATE_SNAPSHOT. A
//! client that holds the messages already can read it, and nothing is doubled; one that holds others loses them, because
//! the snapshot covers this stream and nothing before it.
//!
//! - The `input` of a run has no messages: the snapshot has them, in the order in which they are held.
//! - The outcome of a run that succeeded lists its pending calls, since their own events are gone. A run that was cut off
//!   has no outcome; there only the messages show which calls have no result. Verification warns of such a list in any run
//!   but the last, because it does not see the calls.
//! - The snapshots have the latest timestamp of the messages' events and the last state event's timestamp, owner and
//!   metadata. The metadata of the last MESSAGES_SNAPSHOT is kept, and with it which activities it claims to own: that
//!   matters neither to a reader who begins with nothing nor to one who holds it all.
//! - Two messages with one id, such as a repeated result makes, are two for a reader who begins with nothing. One who holds
//!   them already takes the later for both, as with every snapshot.

mod activity;
mod content;
mod snapshot;
mod state;
mod stream;
#[cfg(test)]
mod tests;

use super::expand::{ExpandError, Expander};
use crate::event::Event;
use crate::json::Json;
use snapshot::SnapshotForm;
use stream::StreamForm;

/// What a compacted stream looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// Messages as starts, one content each, and ends.
    #[default]
    Stream,
    /// Messages and state as one snapshot each, in the last run.
    Snapshot,
}

/// Compacts a stream, whose chunks are expanded on the way.
///
/// `base` is the state that the reader holds before. Without one it is that of the first run's `input`, where an absent
/// state is `{}`; if the stream does not have that either, changes of the state stay what they are until there is a
/// snapshot of it.
///
/// ```
/// use threadline_protocol::stages::compact::{Form, compact};
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
///
/// let compacted = compact(&events, Form::Stream, None)?;
/// assert_eq!(compacted.len(), 3);
/// assert_eq!(compacted[1].to_json(), r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}"#);
///
/// let compacted = compact(&events, Form::Snapshot, None)?;
/// assert_eq!(
///     compacted[0].to_json(),
///     r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"m","content":"Hello"}]}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a chunk cannot be expanded.
pub fn compact<'a>(
    events: &[Event<'a>],
    form: Form,
    base: Option<&Json<'_>>,
) -> Result<Vec<Event<'a>>, ExpandError> {
    let mut compactor = Compactor::new(form, base);
    let mut compacted = Vec::new();
    for event in events {
        compacted.append(&mut compactor.push(event)?);
    }
    compacted.append(&mut compactor.finish());
    Ok(compacted)
}

/// Compacts a stream event by event, as [`compact`] does.
///
/// Memory: in the stream form what is not settled, at most one run; in the snapshot form the messages and the state.
///
/// ```
/// use threadline_protocol::Event;
/// use threadline_protocol::event::{RunError, RunStarted, TextMessageContent, TextMessageStart};
/// use threadline_protocol::stages::compact::{Compactor, Form};
///
/// let mut compactor = Compactor::new(Form::Stream, None);
/// let mut lengths = Vec::new();
/// for event in [
///     Event::from(RunStarted::new("t", "r")),
///     TextMessageStart::new("m").into(),
///     TextMessageContent::new("m", "Hel").into(),
///     TextMessageContent::new("m", "lo").into(),
///     RunError::new("cut off").into(),
/// ] {
///     lengths.push(compactor.push(&event)?.len());
/// }
/// assert_eq!(lengths, [1, 1, 0, 0, 2]);
/// assert!(compactor.finish().is_empty());
/// # Ok::<(), threadline_protocol::stages::expand::ExpandError>(())
/// ```
#[derive(Debug)]
pub struct Compactor<'a> {
    expander: Expander,
    work: Work<'a>,
}

#[derive(Debug)]
enum Work<'a> {
    Stream(Box<StreamForm<'a>>),
    Snapshot(Box<SnapshotForm<'a>>),
}

impl<'a> Work<'a> {
    /// Takes in the next event, which is no chunk.
    fn push<'e>(&mut self, event: &Event<'e>, keep: impl Fn(&Event<'e>) -> Event<'a>) {
        match self {
            Self::Stream(form) => form.push(event, keep),
            Self::Snapshot(form) => form.push(event, keep),
        }
    }

    fn settled(&mut self) -> Vec<Event<'a>> {
        match self {
            Self::Stream(form) => form.settled(),
            Self::Snapshot(form) => form.settled(),
        }
    }
}

/// The stream so far, as far as it is not settled. An event that went into another one leaves a gap.
type Output<'a> = Vec<Option<Event<'a>>>;

impl<'a> Compactor<'a> {
    /// At the start of a stream, with the state before it, as far as the stream does not say.
    #[must_use]
    pub fn new(form: Form, base: Option<&Json<'_>>) -> Self {
        let work = match form {
            Form::Stream => Work::Stream(Box::new(StreamForm::new(base))),
            Form::Snapshot => Work::Snapshot(Box::new(SnapshotForm::new(base))),
        };
        Self { expander: Expander::new(), work }
    }

    /// Takes in the next event and gives what is settled now: usually nothing, which costs no allocation.
    ///
    /// # Errors
    /// If it is a chunk that cannot be expanded. It is then as if it had not been there.
    pub fn push(&mut self, event: &Event<'a>) -> Result<Vec<Event<'a>>, ExpandError> {
        self.take(event, Event::clone)
    }

    /// The stream has ended. Gives all that is left.
    #[must_use]
    pub fn finish(self) -> Vec<Event<'a>> {
        match self.work {
            Work::Stream(form) => form.finish(),
            Work::Snapshot(form) => form.finish(),
        }
    }

    fn take<'e>(
        &mut self,
        event: &Event<'e>,
        keep: impl Fn(&Event<'e>) -> Event<'a>,
    ) -> Result<Vec<Event<'a>>, ExpandError> {
        if self.expander.passes(event) {
            self.work.push(event, &keep);
        } else {
            self.expander.expand(event)?.iter().for_each(|event| self.work.push(event, &keep));
        }
        Ok(self.work.settled())
    }
}

impl Compactor<'static> {
    /// As [`push`](Self::push), for an event whose text does not outlive the call. Only what stays of it is copied.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_borrowed(&mut self, event: &Event<'_>) -> Result<Vec<Event<'static>>, ExpandError> {
        self.take(event, |event| event.clone().into_owned())
    }
}
