//! Pieces of messages and of arguments.

use super::Output;
use crate::event::{Event, MessagesSnapshot};
use crate::json::Text;
use crate::message::Message;
use crate::metadata::Metadata;
use std::collections::{HashMap, HashSet};

/// Where the piece of each open message and call is that the next one goes into.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Text and reasoning append to the same message if they name the same id, so that only pieces of one kind in a row
    /// belong together.
    messages: HashMap<Text<'static>, (Kind, usize)>,
    calls: HashMap<Text<'static>, usize>,
    /// The messages that are certainly there: those that were started in this run, or that the last snapshot has.
    there: HashSet<Text<'static>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

/// Puts a piece into an earlier one. The start has the first time, so that the piece has the last one. What the provider
/// sent for one piece does not tell of several. An owner that only a later piece names is theirs.
macro_rules! absorb {
    ($earlier:ident, $later:ident) => {{
        $earlier.delta.push(&$later.delta);
        merge(&mut $earlier.metadata, $later.metadata.as_ref());
        $earlier.timestamp = $later.timestamp.or($earlier.timestamp);
        $earlier.raw_event = None;
        if $earlier.subagent_run_id.is_none() {
            $earlier.subagent_run_id = $later.subagent_run_id.clone().map(Text::into_owned);
        }
        true
    }};
}

impl Contents {
    /// Whether no piece waits for another one.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.calls.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.calls.clear();
        self.there.clear();
    }

    /// A snapshot says what all messages are, so that pieces before it and after it do not belong together.
    pub(super) fn take_snapshot(&mut self, snapshot: &MessagesSnapshot<'_>) {
        self.clear();
        self.there.extend(snapshot.messages.iter().filter_map(Message::id).map(|id| id.clone().into_owned()));
    }

    pub(super) fn forget_message(&mut self, id: &Text<'_>) {
        self.messages.remove(id.wtf8());
    }

    /// Takes in an event that would stand at `at`. True if it went into an earlier one.
    pub(super) fn take(&mut self, event: &Event<'_>, at: usize, out: &mut Output<'_>) -> bool {
        match event {
            Event::TextMessageContent(content) => {
                let earlier = self.piece(&content.message_id, Kind::Text, at).and_then(|at| out[at].as_mut());
                let Some(Event::TextMessageContent(earlier)) = earlier else { return false };
                absorb!(earlier, content)
            }
            Event::ReasoningMessageContent(content) => {
                let earlier =
                    self.piece(&content.message_id, Kind::Reasoning, at).and_then(|at| out[at].as_mut());
                let Some(Event::ReasoningMessageContent(earlier)) = earlier else { return false };
                absorb!(earlier, content)
            }
            Event::ToolCallArgs(args) => {
                let Some(&earlier) = self.calls.get(args.tool_call_id.wtf8()) else {
                    self.calls.insert(args.tool_call_id.clone().into_owned(), at);
                    return false;
                };
                let Some(Event::ToolCallArgs(earlier)) = out[earlier].as_mut() else { return false };
                absorb!(earlier, args)
            }
            // A message or call that is closed, or opened again, begins a new piece.
            Event::TextMessageStart(event) => self.start_message(&event.message_id),
            Event::TextMessageEnd(event) => self.end_message(&event.message_id),
            Event::ReasoningMessageStart(event) => self.start_message(&event.message_id),
            Event::ReasoningMessageEnd(event) => self.end_message(&event.message_id),
            Event::ToolCallStart(event) => {
                // It makes the message of a call if there is none, so that pieces that went nowhere before go somewhere.
                for id in event.parent_message_id.iter().chain([&event.tool_call_id]) {
                    if !self.there.contains(id.wtf8()) {
                        self.forget_message(id);
                    }
                }
                self.end_call(&event.tool_call_id)
            }
            Event::ToolCallEnd(event) => self.end_call(&event.tool_call_id),
            // It may put a message of the same id before the one that is open.
            Event::ToolCallResult(event) => self.end_message(&event.message_id),
            _ => false,
        }
    }

    /// Where the piece is that one of this kind goes into. If there is none, the one at `at` will be it.
    fn piece(&mut self, id: &Text<'_>, kind: Kind, at: usize) -> Option<usize> {
        match self.messages.get(id.wtf8()) {
            Some(&(earlier, piece)) if earlier == kind => Some(piece),
            _ => {
                self.messages.insert(id.clone().into_owned(), (kind, at));
                None
            }
        }
    }

    fn start_message(&mut self, id: &Text<'_>) -> bool {
        self.there.insert(id.clone().into_owned());
        self.end_message(id)
    }

    fn end_message(&mut self, id: &Text<'_>) -> bool {
        self.forget_message(id);
        false
    }

    fn end_call(&mut self, id: &Text<'_>) -> bool {
        self.calls.remove(id.wtf8());
        false
    }
}

pub(super) fn merge(metadata: &mut Option<Metadata<'_>>, later: Option<&Metadata<'_>>) {
    if later.is_some() {
        *metadata = Metadata::merge(metadata.as_ref(), later);
    }
}
