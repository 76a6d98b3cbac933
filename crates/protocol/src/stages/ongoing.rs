//! What goes on in a stream: the view of a reader who expands chunks and keeps to the sequence rules.

use super::expand::{ExpandError, Expander, Kind, Stream};
use super::verify::{OpenThings, Owner, Verifier, Violation};
use crate::event::Event;
use crate::json::Text;
use crate::message::Message;
use std::fmt;

/// What goes on in a stream, whose chunks are left as they are: who has begun what and not ended it. From this
/// [`close`](super::close), [`repair`](super::repair) and [`join`](super::join) go on.
///
/// It takes an event in whole or not at all, so that one can try what a reader would make of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ongoing {
    expander: Expander,
    verifier: Verifier,
}

/// Why a reader refuses an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is a chunk that cannot be expanded.
    Chunk(ExpandError),
    /// It breaks a sequence rule.
    Rule(Violation),
    /// It brings about an end that breaks a rule: of something that chunks have opened, and something else has ended.
    End {
        /// The end.
        end: Box<Event<'static>>,
        /// The rule that it breaks.
        violation: Violation,
    },
}

impl Refusal {
    /// A stable word for the rule that was broken.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Chunk(error) => error.rule.name(),
            Self::Rule(violation) | Self::End { violation, .. } => violation.rule.name(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk(error) => error.fmt(f),
            Self::Rule(violation) | Self::End { violation, .. } => violation.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl Ongoing {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event in.
    ///
    /// # Errors
    /// If a reader would refuse it. It is then as if it had not been there.
    pub fn take(&mut self, event: &Event<'_>) -> Result<(), Refusal> {
        self.take_each(event, |_| {})
    }

    /// The same, and shows `each` what a reader makes of the event: chunks become several, or none.
    ///
    /// # Errors
    /// As [`take`](Self::take), and then `each` sees nothing.
    pub fn take_each<'a>(&mut self, event: &Event<'a>, each: impl FnMut(&Event<'a>)) -> Result<(), Refusal> {
        // A reader drops what it does not know before it looks at the order of things.
        if let Event::Unknown(_) = event {
            std::iter::once(event).for_each(each);
            return Ok(());
        }
        // A run within another would end all that chunks assemble, only to be refused.
        if matches!(event, Event::RunStarted(_)) && self.current_run().is_some() {
            let refused = self.verifier.check(event).into_iter().find(Violation::is_error);
            return refused.map_or(Ok(()), |violation| Err(Refusal::Rule(violation)));
        }
        let before = self.expander.saved(event);
        let expanded = self.expander.expand(event).map_err(Refusal::Chunk)?;
        let mut taken: Vec<&Event<'_>> = Vec::new();
        let mut refusal = None;
        let mut rest = expanded.iter().peekable();
        while let Some(one) = rest.next() {
            let Some(violation) = self.verifier.check(one).into_iter().find(Violation::is_error) else {
                taken.push(one);
                continue;
            };
            let is_end = rest.peek().is_some() && is_end(one);
            refusal = Some(match is_end {
                true => Refusal::End { end: Box::new(one.clone().into_owned()), violation },
                false => Refusal::Rule(violation),
            });
            break;
        }
        let Some(refusal) = refusal else {
            expanded.iter().for_each(each);
            return Ok(());
        };
        for end in taken {
            self.verifier.take_back(end);
        }
        self.expander.restore(before);
        Err(refusal)
    }

    /// The thread and the run that goes on, if one has begun and not ended.
    #[must_use]
    pub fn current_run(&self) -> Option<&(Text<'static>, Text<'static>)> {
        self.verifier.current_run()
    }

    /// What is open, that which chunks have opened included.
    pub(super) fn open_things(&self) -> OpenThings {
        self.verifier.open_things()
    }

    /// Whether messages that are sent whole say the same about owners as the stream.
    pub(super) fn agrees_with<'m>(&'m self, messages: impl Iterator<Item = &'m Message<'static>>) -> bool {
        self.verifier.agrees_with(messages, self.open_chunks())
    }

    /// Whose a message is, by the record.
    pub(super) fn message_owner(&self, id: &Text<'_>) -> Option<Owner<'static>> {
        self.verifier.message_owner(id)
    }

    /// Whose the thing is that an event is about, by the record.
    pub(super) fn recorded_owner(&self, event: &Event<'_>) -> Option<Owner<'static>> {
        self.verifier.recorded_owner(event)
    }

    /// Somebody who has a step of that name open.
    pub(super) fn step_owner(&self, name: &Text<'_>) -> Option<Owner<'static>> {
        self.verifier.step_owner(name)
    }

    /// What chunks have opened, in that order.
    pub(super) fn open_chunks(&self) -> impl Iterator<Item = &Stream> {
        self.expander.open_chunks()
    }

    /// Whether something that chunks have opened is still open.
    pub(super) fn is_open(&self, stream: &Stream) -> bool {
        self.verifier.is_open(stream)
    }

    /// What chunks have opened and something else has ended.
    pub(super) fn orphaned_chunks(&self) -> impl Iterator<Item = &Stream> {
        self.open_chunks().filter(|stream| !self.is_open(stream))
    }

    /// Whose a thing is that chunks have opened, by the record.
    pub(super) fn owner_of(&self, stream: &Stream) -> Option<Text<'static>> {
        self.verifier.owner_of(stream)
    }

    /// What chunks have opened under an id.
    pub(super) fn open_chunk(&self, kind: Kind, id: &Text<'_>) -> Option<&Stream> {
        self.expander.open_chunk(kind, id)
    }
}

const fn is_end(event: &Event<'_>) -> bool {
    matches!(event, Event::TextMessageEnd(_) | Event::ReasoningMessageEnd(_) | Event::ToolCallEnd(_))
}
