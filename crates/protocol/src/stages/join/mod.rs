//! The join stage: what a reader needs who arrives in the middle of a stream.
//!
//! Such a reader is told how things are (RUN_STARTED, STATE_SNAPSHOT, MESSAGES_SNAPSHOT), and then whatever makes the rest
//! legal: the subagents of the run, the starts of everything that is open, and the calls that nobody answered. What follows
//! is the stream itself, from there on. It never doubles text, since a start of what a snapshot holds says nothing new.
//!
//! Three things cannot be told. That a call was answered, to a reader who sees it started again in the same run: it counts as
//! pending. That a message of an earlier run, which the snapshot shows as its owner's, may be another's in this one: a later
//! tag is then wrong to the reader, and [`repair`](super::repair) corrects it. And what chunks assemble under an id that an
//! activity has taken since: the reader holds an empty message beside it.

mod prelude;
#[cfg(test)]
mod tests;

use super::fold::Fold;
use super::ongoing::{Ongoing, Refusal};
use crate::event::{Event, RunStarted};

/// Follows a stream, and can tell at any time what a reader needs who arrives now.
///
/// ```
/// use threadline_protocol::Event;
/// use threadline_protocol::event::{RunStarted, TextMessageContent, TextMessageStart};
/// use threadline_protocol::stages::fold::Fold;
/// use threadline_protocol::stages::join::Joiner;
///
/// let mut joiner = Joiner::new(Fold::new());
/// for event in [
///     Event::from(RunStarted::new("t1", "r1")),
///     TextMessageStart::new("m1").into(),
///     TextMessageContent::new("m1", "Hel").into(),
/// ] {
///     joiner.take(&event).expect("the stream is good");
/// }
/// let prelude: Vec<String> = joiner.prelude().iter().map(Event::to_json).collect();
/// assert_eq!(
///     prelude,
///     [
///         r#"{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}"#,
///         r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#,
///         r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"m1","content":"Hel"}],"metadata":{"threadline":{"synthesised":true}}}"#,
///         r#"{"type":"TEXT_MESSAGE_START","messageId":"m1"}"#,
///     ]
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Joiner {
    ongoing: Ongoing,
    fold: Fold,
    /// The last run's start, without the messages of its input: the snapshot has them, and in their places.
    started: Option<RunStarted<'static>>,
    /// The lives of the run's subagents, as they were told. Those that ended may yet have children.
    subagents: Vec<Event<'static>>,
}

impl Joiner {
    /// At the start of a stream, whose reader holds this.
    #[must_use]
    pub fn new(fold: Fold) -> Self {
        Self { ongoing: Ongoing::new(), fold, started: None, subagents: Vec::new() }
    }

    /// What a reader holds who has read everything.
    #[must_use]
    pub const fn fold(&self) -> &Fold {
        &self.fold
    }

    /// What goes on in the stream.
    #[must_use]
    pub const fn ongoing(&self) -> &Ongoing {
        &self.ongoing
    }

    /// Takes the next event in.
    ///
    /// # Errors
    /// If a reader would refuse it. It is then as if it had not been there.
    pub fn take(&mut self, event: &Event<'_>) -> Result<(), Refusal> {
        self.ongoing.take_each(event, |event| {
            // What cannot be applied is for the readers to warn of.
            let _ = self.fold.apply(event);
        })?;
        match event {
            Event::RunStarted(started) => {
                self.started = Some(started.clone().into_owned().without_messages());
                self.subagents.clear();
            }
            Event::SubagentStarted(_) | Event::SubagentFinished(_) | Event::SubagentError(_) => {
                self.subagents.push(event.clone().into_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// What a reader needs who arrives now. The next event of the stream follows it.
    #[must_use]
    pub fn prelude(&self) -> Vec<Event<'static>> {
        prelude::prelude(self)
    }
}

/// What a reader needs who arrives before the event at `offset`; that event and those after it follow.
///
/// # Errors
/// If a reader would refuse an event before the offset, of which it says which.
pub fn join(events: &[Event<'_>], offset: usize) -> Result<Vec<Event<'static>>, (usize, Refusal)> {
    let mut joiner = Joiner::new(Fold::new());
    for (position, event) in events.iter().take(offset).enumerate() {
        joiner.take(event).map_err(|refusal| (position, refusal))?;
    }
    Ok(joiner.prelude())
}
