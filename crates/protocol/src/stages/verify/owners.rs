//! Who owns what.

use crate::json::Text;
use crate::message::Message;
use std::collections::HashMap;

/// A subagent, or the agent itself. The empty id is a subagent's like any other.
pub(in crate::stages) type Owner<'a> = Option<Text<'a>>;

/// Owners of the things of one kind. They stay on record when the thing ends, until the run does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners(HashMap<Text<'static>, Owner<'static>>);

impl Owners {
    pub(super) fn get(&self, id: &Text<'_>) -> Option<&Owner<'static>> {
        self.0.get(id.wtf8())
    }

    /// Whether nothing is another's than the other says.
    fn agrees_with(&self, other: &Self) -> bool {
        self.0.iter().all(|(id, owner)| other.get(id).is_none_or(|told| told == owner))
    }

    /// Records the owner of a thing, whoever owned it before.
    pub(super) fn set(&mut self, id: &Text<'_>, owner: &Owner<'_>) {
        let owner = owner.clone().map(Text::into_owned);
        match self.0.get_mut(id.wtf8()) {
            Some(recorded) => *recorded = owner,
            None => {
                self.0.insert(id.clone().into_owned(), owner);
            }
        }
    }

    /// Records the owner of a thing that nobody owned before.
    pub(super) fn set_first(&mut self, id: &Text<'_>, owner: &Owner<'_>) {
        if self.get(id).is_none() {
            self.set(id, owner);
        }
    }
}

/// Owners by kind. One id may name things of different kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ownership {
    pub(super) messages: Owners,
    pub(super) calls: Owners,
    pub(super) activities: Owners,
    /// Of reasoning messages and of spans, which usually share their ids.
    pub(super) reasoning: Owners,
}

/// What messages that are sent whole say about owners that are on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authority {
    /// A snapshot says how things are.
    Overrules,
    /// The history in a run's input says how they were.
    Yields,
}

impl Ownership {
    /// Whether nothing is another's than the other says.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        self.messages.agrees_with(&other.messages)
            && self.calls.agrees_with(&other.calls)
            && self.activities.agrees_with(&other.activities)
            && self.reasoning.agrees_with(&other.reasoning)
    }

    /// Records the owners of messages that are sent whole. Calls belong to whom their message belongs to.
    pub(super) fn seed(&mut self, messages: &[Message<'_>], authority: Authority) {
        let record = match authority {
            Authority::Overrules => Owners::set,
            Authority::Yields => Owners::set_first,
        };
        for message in messages {
            match message {
                Message::Developer(message) => {
                    record(&mut self.messages, &message.id, &message.subagent_run_id)
                }
                Message::System(message) => record(&mut self.messages, &message.id, &message.subagent_run_id),
                Message::User(message) => record(&mut self.messages, &message.id, &message.subagent_run_id),
                Message::Tool(message) => record(&mut self.messages, &message.id, &message.subagent_run_id),
                Message::Activity(message) => {
                    record(&mut self.activities, &message.id, &message.subagent_run_id)
                }
                Message::Reasoning(message) => {
                    record(&mut self.reasoning, &message.id, &message.subagent_run_id)
                }
                Message::Assistant(message) => {
                    record(&mut self.messages, &message.id, &message.subagent_run_id);
                    for call in message.tool_calls.iter().flatten() {
                        record(&mut self.calls, &call.id, &message.subagent_run_id);
                    }
                }
                // Enforcement has removed these.
                Message::Unknown(_) => {}
            }
        }
    }
}
