//! Which run a run descends from.
//!
//! The parent is, in this order: the run that `parentRunId` names, if the thread has it; the run that asked what the new one
//! answers; the last run that started, while it goes on; and if the input's messages contain an id that the thread has seen, the
//! run whose messages are the longest prefix of the input's, which may be none at all. This is how clients that name no
//! parent edit a message or ask for another answer. Else it is the last run that started.

use super::mint::digest;
use crate::json::Text;
use crate::message::Message;
use crate::run::RunAgentInput;

/// The ids of what was said, in order: how many, and a hash of them that is the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// How many.
    pub said: u64,
    /// Over their ids.
    pub hash: u64,
}

impl History {
    /// Goes on by a message, if it is part of what was said: activities are never sent to agents, and reasoning often is
    /// not.
    pub fn push(&mut self, message: &Message<'_>) {
        if matches!(message, Message::Activity(_) | Message::Reasoning(_)) {
            return;
        }
        if let Some(id) = message.id() {
            let hash = digest(&[&self.hash.to_le_bytes(), id.wtf8()].concat());
            *self = Self { said: self.said + 1, hash };
        }
    }
}

/// A hash of a message's id that is the same everywhere.
#[must_use]
pub fn id_hash(id: &Text<'_>) -> u64 {
    digest(id.wtf8())
}

/// The runs of a thread, as far as a parent has to be found among them.
pub trait Runs {
    /// What a run is known by.
    type Run: Copy;

    /// The run with this id.
    fn named(&self, run_id: &Text<'_>) -> Option<Self::Run>;
    /// The last run that asked this.
    fn that_asked(&self, interrupt_id: &Text<'_>) -> Option<Self::Run>;
    /// The last run that started.
    fn head(&self) -> Option<Self::Run>;
    /// Whether it goes on.
    fn head_is_running(&self) -> bool;
    /// Whether any run held a message with this id.
    fn has_seen(&self, message_id: &Text<'_>) -> bool;
    /// The last run that ended with this history.
    fn with_history(&self, history: History) -> Option<Self::Run>;
}

/// The run that a new one descends from; none if it is a root. A `parentRunId` that the thread does not have is no parent,
/// but who ordered the run.
pub fn parent_of<R: Runs>(
    runs: &R,
    parent_run_id: Option<&Text<'_>>,
    input: Option<&RunAgentInput<'_>>,
) -> Option<R::Run> {
    let named = parent_run_id.or_else(|| input?.parent_run_id.as_ref());
    if let Some(run) = named.and_then(|id| runs.named(id)) {
        return Some(run);
    }
    let answers = input.and_then(|input| input.resume.as_ref());
    if let Some(run) = answers.into_iter().flatten().find_map(|answer| runs.that_asked(&answer.interrupt_id))
    {
        return Some(run);
    }
    let head = runs.head();
    if runs.head_is_running() {
        return head;
    }
    match input {
        Some(input) if input.messages.iter().filter_map(Message::id).any(|id| runs.has_seen(id)) => {
            longest_prefix(runs, &input.messages)
        }
        _ => head,
    }
}

/// The run whose messages these continue: an input that leaves out or changes the last ones goes back to where they were
/// not there yet.
fn longest_prefix<R: Runs>(runs: &R, messages: &[Message<'_>]) -> Option<R::Run> {
    let mut history = History::default();
    let mut longest = runs.with_history(history);
    for message in messages {
        history.push(message);
        longest = runs.with_history(history).or(longest);
    }
    longest
}

#[cfg(test)]
mod tests;
