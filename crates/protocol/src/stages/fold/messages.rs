//! The messages of a fold: in order, found by id, cheap to append to.

use super::Warning;
use super::entry::Entry;
use crate::event::ActivityDelta;
use crate::json::Text;
use crate::message::{Message, ToolCall};
use std::collections::HashMap;

/// Where a message lives. It keeps its slot while others come and go around it.
type Slot = usize;

/// Messages in order, with an index by message id and by tool call id.
///
/// Appending to a message or a call costs the piece that is appended, however many messages there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    slots: Vec<Entry>,
    /// The slots in the order of the conversation.
    order: Vec<Slot>,
    /// The first message with this id.
    by_id: HashMap<Text<'static>, Slot>,
    /// The first call with this id: its message, and its place in there.
    by_call: HashMap<Text<'static>, (Slot, usize)>,
    /// When a message last came, went or changed its kind elsewhere than at the end.
    moved_at: u64,
}

impl Messages {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Message<'static>> {
        self.order.iter().map(|slot| self.slots[*slot].message())
    }

    /// The messages that changed after `revision`.
    pub(super) fn changed_since(&self, revision: u64) -> impl Iterator<Item = &Message<'static>> {
        let entries = self.order.iter().map(|slot| &self.slots[*slot]);
        entries.filter(move |entry| entry.changed_at > revision).map(Entry::message)
    }

    /// Whether nothing but new messages at the end came after `revision`.
    pub(super) const fn has_only_grown_since(&self, revision: u64) -> bool {
        self.moved_at <= revision
    }

    pub(super) fn contains(&self, id: &Text<'_>) -> bool {
        self.by_id.contains_key(id.wtf8())
    }

    /// The first message with this id.
    pub(super) fn get(&self, id: &Text<'_>) -> Option<&Message<'static>> {
        self.by_id.get(id.wtf8()).map(|slot| self.slots[*slot].message())
    }

    /// The first message with this id, to be changed. Neither its id nor its calls may be.
    pub(super) fn get_mut(&mut self, id: &Text<'_>, revision: u64) -> Option<&mut Message<'static>> {
        Some(self.slots[*self.by_id.get(id.wtf8())?].message_mut(revision))
    }

    /// The first message with this id, to be said more of, unless it is an activity.
    pub(super) fn said_mut(
        &mut self,
        id: &Text<'_>,
        revision: u64,
    ) -> Result<&mut Message<'static>, Warning> {
        let Some(slot) = self.by_id.get(id.wtf8()) else { return Err(Warning::NoMessage(id.to_string())) };
        let entry = &mut self.slots[*slot];
        if entry.is_activity() {
            return Err(Warning::IsActivity(id.to_string()));
        }
        Ok(entry.message_mut(revision))
    }

    /// Patches an activity.
    pub(super) fn patch(&mut self, event: &ActivityDelta<'_>, revision: u64) -> Result<(), Warning> {
        match self.by_id.get(event.message_id.wtf8()) {
            Some(slot) => self.slots[*slot].patch(event, revision),
            None => Err(Warning::NoMessage(event.message_id.to_string())),
        }
    }

    /// The first call with this id.
    pub(super) fn call(&self, id: &Text<'_>) -> Option<&ToolCall<'static>> {
        let (slot, place) = *self.by_call.get(id.wtf8())?;
        let Message::Assistant(message) = self.slots[slot].message() else { return None };
        message.tool_calls.as_ref()?.get(place)
    }

    /// The message of the first call with this id.
    pub(super) fn of_call(&self, id: &Text<'_>) -> Option<&Message<'static>> {
        self.by_call.get(id.wtf8()).map(|(slot, _)| self.slots[*slot].message())
    }

    /// The first call with this id, to be changed. Its id may not be.
    pub(super) fn call_mut(&mut self, id: &Text<'_>, revision: u64) -> Option<&mut ToolCall<'static>> {
        let (slot, place) = *self.by_call.get(id.wtf8())?;
        let Message::Assistant(message) = self.slots[slot].message_mut(revision) else { return None };
        message.tool_calls.as_mut()?.get_mut(place)
    }

    /// Adds a message at the end.
    pub(super) fn push(&mut self, message: Message<'static>, revision: u64) {
        let slot = self.add(message, revision);
        self.order.push(slot);
    }

    /// Adds a call to the assistant message with this id, which must exist.
    pub(super) fn push_call(&mut self, message_id: &Text<'_>, call: ToolCall<'static>, revision: u64) {
        let Some(&slot) = self.by_id.get(message_id.wtf8()) else { return };
        let Message::Assistant(message) = self.slots[slot].message_mut(revision) else { return };
        let calls = message.tool_calls.get_or_insert_default();
        self.by_call.entry(call.id.clone()).or_insert((slot, calls.len()));
        calls.push(call);
    }

    /// Adds a tool message after the message that holds its call, and after the results that are there already; at
    /// the end if no message holds the call.
    pub(super) fn push_result(&mut self, call_id: &Text<'_>, message: Message<'static>, revision: u64) {
        let owner = self.by_call.get(call_id.wtf8()).map(|(slot, _)| *slot);
        // Results follow their call closely, so the search from the end is short.
        let owner = owner.and_then(|owner| self.order.iter().rposition(|slot| *slot == owner));
        let Some(owner) = owner else { return self.push(message, revision) };
        let is_result = |slot: &&Slot| matches!(self.slots[**slot].message(), Message::Tool(_));
        let at = owner + 1 + self.order[owner + 1..].iter().take_while(is_result).count();
        let first_with_id = message.id().is_some_and(|id| {
            let earlier = self.by_id.get(id.wtf8());
            earlier.is_none_or(|earlier| self.order[..at].iter().all(|slot| slot != earlier))
        });
        let id = message.id().cloned();
        let slot = self.add(message, revision);
        if at < self.order.len() {
            self.moved_at = revision;
        }
        self.order.insert(at, slot);
        if let Some(id) = id.filter(|_| first_with_id) {
            self.by_id.insert(id, slot);
        }
    }

    /// Puts another message in the place of the first one with its id, or at the end.
    pub(super) fn replace(&mut self, message: Message<'static>, revision: u64) {
        let slot = message.id().and_then(|id| self.by_id.get(id.wtf8())).copied();
        match slot {
            Some(slot) => {
                let before = std::mem::replace(&mut self.slots[slot], Entry::new(message, revision));
                if !before.is_activity() {
                    self.moved_at = revision;
                }
                // The id is the same; only calls that are gone with their message are to be forgotten.
                if matches!(before.message(), Message::Assistant(_)) {
                    self.index();
                }
            }
            None => self.push(message, revision),
        }
    }

    /// Takes these messages, in this order, instead of all that were there. A message that is there already and did not
    /// change is not marked as changed.
    pub(super) fn set(&mut self, messages: impl Iterator<Item = Kept>, revision: u64) {
        let mut before: Vec<Option<Entry>> = std::mem::take(&mut self.slots).into_iter().map(Some).collect();
        let order = std::mem::take(&mut self.order);
        self.moved_at = revision;
        for kept in messages {
            let entry = match kept {
                Kept::At(position) => before[order[position]].take(),
                Kept::New(message) => Some(Entry::new(message, revision)),
            };
            if let Some(entry) = entry {
                self.order.push(self.slots.len());
                self.slots.push(entry);
            }
        }
        self.index();
    }

    fn add(&mut self, message: Message<'static>, revision: u64) -> Slot {
        let slot = self.slots.len();
        self.slots.push(Entry::new(message, revision));
        self.index_slot(slot);
        slot
    }

    fn index(&mut self) {
        self.by_id.clear();
        self.by_call.clear();
        for at in 0..self.order.len() {
            self.index_slot(self.order[at]);
        }
    }

    fn index_slot(&mut self, slot: Slot) {
        let message = self.slots[slot].message();
        if let Some(id) = message.id() {
            self.by_id.entry(id.clone()).or_insert(slot);
        }
        if let Message::Assistant(message) = message {
            for (place, call) in message.tool_calls.iter().flatten().enumerate() {
                self.by_call.entry(call.id.clone()).or_insert((slot, place));
            }
        }
    }
}

/// A message of a new list.
pub(super) enum Kept {
    /// The one that was at this position.
    At(usize),
    /// Another one.
    New(Message<'static>),
}
