//! Whoever wants to know what becomes of a run.

use crate::ClientError;
use std::time::Duration;
use threadline_protocol::stages::consumer::Notice;
use threadline_protocol::stages::fold::{Changes, Fold};
use threadline_protocol::{Event, Text};

/// Is told what happens, as it happens. Nothing is copied for it: events and messages are lent.
pub trait Subscriber {
    /// An event as it came, before anything is made of it.
    fn received(&mut self, _json: &str) {}

    /// An event, translated, expanded and found legal, before it is applied.
    fn event(&mut self, _event: &Event<'_>) {}

    /// What is held was changed by an event of the server's: these messages are new or different, those are gone, and so on.
    fn changed(&mut self, _changes: &Changes<'_>, _held: &Fold) {}

    /// Something was left out of what the server sent, or could not be applied.
    fn notice(&mut self, _notice: &Notice) {}

    /// The connection is gone, and will be tried again after a while.
    fn lost(&mut self, _error: &ClientError, _after: Duration) {}

    /// The server could not go on where it was: the run begins again with snapshots of what it has said.
    fn restarted(&mut self) {}
}

/// Wants to know nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Subscriber for Quiet {}

/// What events have touched, so that nobody has to look through all messages for it.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Messages, and messages of calls, whose text grows.
    said: Vec<(Kind, Text<'static>)>,
    state: bool,
    /// Too much to be listed: the messages must be looked through.
    many: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Call,
}

impl Touched {
    pub(crate) fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::TextMessageStart(event) => self.say(Kind::Message, &event.message_id),
            Event::TextMessageContent(event) => self.say(Kind::Message, &event.message_id),
            Event::TextMessageEnd(event) => self.say(Kind::Message, &event.message_id),
            Event::ReasoningMessageStart(event) => self.say(Kind::Message, &event.message_id),
            Event::ReasoningMessageContent(event) => self.say(Kind::Message, &event.message_id),
            Event::ReasoningMessageEnd(event) => self.say(Kind::Message, &event.message_id),
            Event::ToolCallStart(event) => self.say(Kind::Call, &event.tool_call_id),
            Event::ToolCallArgs(event) => self.say(Kind::Call, &event.tool_call_id),
            Event::ToolCallEnd(event) => self.say(Kind::Call, &event.tool_call_id),
            Event::StateSnapshot(_) | Event::StateDelta(_) => self.state = true,
            Event::MessagesSnapshot(_)
            | Event::ActivitySnapshot(_)
            | Event::ActivityDelta(_)
            | Event::ToolCallResult(_)
            | Event::ReasoningEncryptedValue(_)
            | Event::RunStarted(_) => self.many = true,
            _ => {}
        }
    }

    fn say(&mut self, kind: Kind, id: &Text<'_>) {
        if !self.said.iter().any(|(said, known)| *said == kind && known == id) {
            self.said.push((kind, id.clone().into_owned()));
        }
    }

    /// What is different, and forgets it. `revision` is that of the fold before.
    pub(crate) fn take<'f>(&mut self, held: &'f Fold, revision: u64) -> Option<Changes<'f>> {
        let Self { said, state, many } = std::mem::take(self);
        let changes = if many {
            held.changes_since(revision)
        } else {
            let messages = said.iter().filter_map(|(kind, id)| match kind {
                Kind::Message => held.message(id),
                Kind::Call => held.message_of_call(id),
            });
            Changes { messages: messages.collect(), removed: Vec::new(), state }
        };
        let is_any = !changes.messages.is_empty() || !changes.removed.is_empty() || changes.state;
        is_any.then_some(changes)
    }
}
