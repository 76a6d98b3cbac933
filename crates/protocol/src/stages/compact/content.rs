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
    /// Where the last piece went, if nothing else came after it: mostly the next one goes there, too.
    last: Option<usize>,
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
        self.last = None;
    }

    /// A snapshot says what all messages are, so that pieces before it and after it do not belong together.
    pub(super) fn take_snapshot(&mut self, snapshot: &MessagesSnapshot<'_>) {
        self.clear();
        self.there.extend(snapshot.messages.iter().filter_map(Message::id).map(|id| id.clone().into_owned()));
    }

    pub(super) fn forget_message(&mut self, id: &Text<'_>) {
        self.messages.remove(id.wtf8());
        self.last = None;
    }

    /// Takes in an event that would stand at `at`. True if it went into an earlier one.
    pub(super) fn take(&mut self, event: &Event<'_>, at: usize, out: &mut Output<'_>) -> bool {
        if self.last.is_some_and(|last| absorb(last, event, out)) {
            return true;
        }
        self.last = None;
        let earlier = match event {
            Event::TextMessageContent(content) => self.piece(&content.message_id, Kind::Text, at),
            Event::ReasoningMessageContent(content) => self.piece(&content.message_id, Kind::Reasoning, at),
            Event::ToolCallArgs(args) => match self.calls.get(args.tool_call_id.wtf8()) {
                Some(earlier) => *earlier,
                None => {
                    self.calls.insert(args.tool_call_id.clone().into_owned(), at);
                    at
                }
            },
            other => {
                self.take_other(other);
                return false;
            }
        };
        self.last = Some(earlier);
        earlier != at && absorb(earlier, event, out)
    }

    /// Takes in an event that is no piece.
    fn take_other(&mut self, event: &Event<'_>) {
        match event {
            // A message or call that is closed, or opened again, begins a new piece.
            Event::TextMessageStart(event) => self.start_message(&event.message_id),
            Event::TextMessageEnd(event) => self.forget_message(&event.message_id),
            Event::ReasoningMessageStart(event) => self.start_message(&event.message_id),
            Event::ReasoningMessageEnd(event) => self.forget_message(&event.message_id),
            Event::ToolCallStart(event) => {
                // It makes the message of a call if there is none, so that pieces that went nowhere before go somewhere.
                for id in event.parent_message_id.iter().chain([&event.tool_call_id]) {
                    if !self.there.contains(id.wtf8()) {
                        self.forget_message(id);
                    }
                }
                self.end_call(&event.tool_call_id);
            }
            Event::ToolCallEnd(event) => self.end_call(&event.tool_call_id),
            // It may put a message of the same id before the one that is open.
            Event::ToolCallResult(event) => self.forget_message(&event.message_id),
            _ => {}
        }
    }

    /// Where the piece is that one of this kind goes into. If there is none, the one at `at` is it.
    fn piece(&mut self, id: &Text<'_>, kind: Kind, at: usize) -> usize {
        match self.messages.get(id.wtf8()) {
            Some(&(earlier, piece)) if earlier == kind => piece,
            _ => {
                self.messages.insert(id.clone().into_owned(), (kind, at));
                at
            }
        }
    }

    fn start_message(&mut self, id: &Text<'_>) {
        self.there.insert(id.clone().into_owned());
        self.forget_message(id);
    }

    fn end_call(&mut self, id: &Text<'_>) {
        self.calls.remove(id.wtf8());
    }
}

/// Puts a piece into the one at `at`, if that is of the same message or call.
fn absorb(at: usize, event: &Event<'_>, out: &mut Output<'_>) -> bool {
    match (out.get_mut(at).and_then(Option::as_mut), event) {
        (Some(Event::TextMessageContent(earlier)), Event::TextMessageContent(later))
            if earlier.message_id == later.message_id =>
        {
            absorb!(earlier, later);
        }
        (Some(Event::ReasoningMessageContent(earlier)), Event::ReasoningMessageContent(later))
            if earlier.message_id == later.message_id =>
        {
            absorb!(earlier, later);
        }
        (Some(Event::ToolCallArgs(earlier)), Event::ToolCallArgs(later))
            if earlier.tool_call_id == later.tool_call_id =>
        {
            absorb!(earlier, later);
        }
        _ => return false,
    }
    true
}

pub(super) fn merge(metadata: &mut Option<Metadata<'_>>, later: Option<&Metadata<'_>>) {
    if later.is_some() {
        *metadata = Metadata::merge(metadata.as_ref(), later);
    }
}
