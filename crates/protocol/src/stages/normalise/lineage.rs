//! Which run descends from which.

use crate::event::RunStarted;
use crate::json::Text;
use crate::message::Message;
use crate::run::RunAgentInput;
use crate::stages::fold::Fold;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A run of the stream, by its place.
pub(super) type RunAt = usize;

/// The runs of a stream and what each of them left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Lineage {
    runs: Vec<Run>,
    by_name: HashMap<(Text<'static>, Text<'static>), RunAt>,
    /// Every id of a message that some run held.
    seen: HashSet<Text<'static>>,
}

#[derive(Clone, Debug)]
struct Run {
    thread_id: Text<'static>,
    /// What it and its ancestors hold. Runs share the messages that they did not change.
    messages: Vec<Arc<Message<'static>>>,
    interrupts: HashSet<Text<'static>>,
}

impl Lineage {
    /// The last run that started.
    pub(super) const fn head(&self) -> Option<RunAt> {
        self.runs.len().checked_sub(1)
    }

    pub(super) fn messages(&self, run: Option<RunAt>) -> impl Iterator<Item = &Arc<Message<'static>>> {
        run.into_iter().flat_map(|run| &self.runs[run].messages)
    }

    /// The run that a new one descends from. None if it is a root.
    pub(super) fn parent_of(&self, started: &RunStarted<'_>) -> Option<RunAt> {
        let input = started.input.as_deref();
        let named = started.parent_run_id.as_ref().or_else(|| input?.parent_run_id.as_ref());
        if let Some(named) = named {
            let name = (started.thread_id.clone().into_owned(), named.clone().into_owned());
            // One that this thread does not have is no parent, but who ordered the run.
            if let Some(run) = self.by_name.get(&name) {
                return Some(*run);
            }
        }
        let of_thread = |(_, run): &(RunAt, &Run)| run.thread_id == started.thread_id;
        if let Some(run) = input.and_then(|input| self.asked(input, of_thread)) {
            return Some(run);
        }
        match input {
            Some(input) if self.has_seen_any(input) => self.longest_prefix(input, of_thread),
            _ => self.runs.iter().enumerate().rfind(of_thread).map(|(at, _)| at),
        }
    }

    /// The run that asked what the input answers.
    fn asked(&self, input: &RunAgentInput<'_>, of_thread: impl Fn(&(RunAt, &Run)) -> bool) -> Option<RunAt> {
        let answer = input.resume.as_ref()?.first()?;
        let mut runs = self.runs.iter().enumerate().filter(of_thread);
        runs.rfind(|(_, run)| run.interrupts.contains(answer.interrupt_id.wtf8())).map(|(at, _)| at)
    }

    fn has_seen_any(&self, input: &RunAgentInput<'_>) -> bool {
        input.messages.iter().filter_map(Message::id).any(|id| self.seen.contains(id.wtf8()))
    }

    /// The run whose messages the input continues: an input that leaves out or changes the last ones goes back to where
    /// they were not there yet. Clients say no more than that when a message is edited or an answer is made anew.
    fn longest_prefix(
        &self,
        input: &RunAgentInput<'_>,
        of_thread: impl Fn(&(RunAt, &Run)) -> bool,
    ) -> Option<RunAt> {
        let ids: Vec<&Text<'_>> = input.messages.iter().filter_map(said).collect();
        let runs = self.runs.iter().enumerate().filter(of_thread);
        let prefixes = runs.filter_map(|(at, run)| {
            let held = run.messages.iter().filter_map(|message| said(message));
            let mut len = 0;
            for id in held {
                if ids.get(len) != Some(&id) {
                    return None;
                }
                len += 1;
            }
            Some((len, at))
        });
        prefixes.max().map(|(_, at)| at)
    }

    pub(super) fn start_run(&mut self, started: &RunStarted<'_>, parent: Option<RunAt>) {
        let thread_id = started.thread_id.clone().into_owned();
        let messages = self.messages(parent).cloned().collect();
        self.by_name.insert((thread_id.clone(), started.run_id.clone().into_owned()), self.runs.len());
        self.runs.push(Run { thread_id, messages, interrupts: HashSet::new() });
    }

    /// Keeps what the last run left behind.
    pub(super) fn end_run(&mut self, fold: &Fold) {
        let Some(run) = self.runs.last_mut() else { return };
        let before: HashMap<&[u8], &Arc<Message<'static>>> =
            run.messages.iter().filter_map(|message| Some((message.id()?.wtf8(), message))).collect();
        let kept = |message: &Message<'static>| {
            let before = message.id().and_then(|id| before.get(id.wtf8()));
            before.filter(|before| ****before == *message).map(|before| Arc::clone(before))
        };
        let messages: Vec<_> = fold
            .messages()
            .map(|message| kept(message).unwrap_or_else(|| Arc::new(message.clone())))
            .collect();
        self.seen.extend(messages.iter().filter_map(|message| message.id().cloned()));
        run.interrupts = fold.interrupts().iter().map(|interrupt| interrupt.id.clone()).collect();
        run.messages = messages;
    }
}

/// The id of a message that is part of what was said: activities are never sent, and reasoning often is not.
fn said<'m, 'a>(message: &'m Message<'a>) -> Option<&'m Text<'a>> {
    message.id().filter(|_| !matches!(message, Message::Activity(_) | Message::Reasoning(_)))
}
