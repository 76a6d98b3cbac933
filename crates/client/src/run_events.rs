//! A run's events, read and typed.

use crate::wire::{Item, Wire};
use crate::{ClientError, Form, ThreadError};
use std::time::Duration;
use threadline_protocol::Event;
use threadline_protocol::event::Received;
use threadline_protocol::proto::{self, Decoded};
use threadline_protocol::stages::consumer::Stop;

/// The events of a run, in order, each once, over as many connections as it takes. Nothing is sent before the first is asked for.
///
/// Dropping it closes the connection. On a server that keeps runs the run goes on; others take it for cancelled.
#[derive(Debug)]
pub struct RunEvents {
    wire: Wire,
    position: u64,
}

/// What comes of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Heard {
    /// An event, with its exact text.
    Event(Box<Received<'static>>),
    /// The server could not go on where it was: what follows begins with RUN_STARTED and snapshots of state and messages, and stands for what was
    /// heard of the run so far.
    Restarted,
    /// The connection is gone, and will be tried again.
    Lost {
        /// What happened.
        error: ClientError,
        /// How long to wait first.
        after: Duration,
    },
}

impl RunEvents {
    pub(crate) const fn new(wire: Wire) -> Self {
        Self { wire, position: 0 }
    }

    /// What comes next, or `None` when the run has ended and the server has no more to say.
    ///
    /// # Errors
    /// If the server refuses, sends something that is no event, or cannot be heard any more. After an error there is nothing more.
    ///
    /// # Cancel safety
    /// No event is lost and nothing is sent twice if the future is dropped.
    pub async fn next(&mut self) -> Option<Result<Heard, ThreadError>> {
        loop {
            return match self.wire.next().await {
                Err(error) => Some(Err(error)),
                Ok(Item::Over) => None,
                Ok(Item::Restarted) => Some(Ok(Heard::Restarted)),
                Ok(Item::Lost { error, after }) => Some(Ok(Heard::Lost { error, after })),
                Ok(Item::Event(event)) => {
                    let position = self.position;
                    self.position += 1;
                    match read(event.form, &event.bytes, position) {
                        Ok(Some(event)) => {
                            note_ends(&mut self.wire, event.event());
                            Some(Ok(Heard::Event(Box::new(event))))
                        }
                        Ok(None) => continue,
                        Err(stop) => {
                            self.wire.close();
                            Some(Err(stop.into()))
                        }
                    }
                }
            };
        }
    }
}

/// Tells the wire whether the run has ended.
pub(crate) fn note_ends(wire: &mut Wire, event: &Event<'_>) {
    match event {
        Event::RunStarted(_) => wire.settle(false),
        Event::RunFinished(_) | Event::RunError(_) => wire.settle(true),
        _ => {}
    }
}

fn read(form: Form, bytes: &[u8], position: u64) -> Result<Option<Received<'static>>, Stop> {
    if is_of_another_time(form, bytes) {
        return Ok(None);
    }
    let event = Received::read_bytes(bytes).map(Received::into_owned);
    event.map(Some).map_err(|error| Stop { rule: "unreadable", message: error.to_string(), position })
}

/// Whether a protobuf frame is an event of a type that AG-UI 1.0 does not have, which is passed over as one in JSON is.
pub(crate) fn is_of_another_time(form: Form, bytes: &[u8]) -> bool {
    form == Form::Undecodable && matches!(proto::decode(bytes), Ok(Decoded::UnknownArm))
}
