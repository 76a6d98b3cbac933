//! Which run descends from which.

use crate::event::{Event, RunStarted};
use crate::json::Text;
use crate::message::Message;
use crate::run::{RunAgentInput, RunOutcome};
use crate::stages::compact::{Compactor, Form};
use crate::stages::fold::Fold;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

/// A run of the stream, by its place.
pub(super) type RunAt = usize;

/// The runs of a stream, and what each of them said.
///
/// A run costs what it says, however long the conversation is: histories are hashes of ids, and a history that is needed
/// again is folded again.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    runs: Vec<Run>,
    by_name: HashMap<(Text<'static>, Text<'static>), RunAt>,
    /// The last run that ended with this history.
    by_history: HashMap<(Text<'static>, History), RunAt>,
    by_interrupt: HashMap<(Text<'static>, Text<'static>), RunAt>,
    heads: HashMap<Text<'static>, RunAt>,
    /// Every id of a message that some run held.
    seen: HashSet<Text<'static>>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Run {
    run_id: Text<'static>,
    parent: Option<RunAt>,
    /// Its events about messages, compacted.
    events: Vec<Event<'static>>,
    history: History,
}

/// The run that goes on.
#[derive(Debug)]
struct Current {
    thread_id: Text<'static>,
    compactor: Compactor<'static>,
    /// Where the fold was when it began, and how many messages it had.
    revision: u64,
    messages: usize,
}

/// The ids of what was said, in order: how many, and a hash of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct History {
    len: usize,
    hash: u64,
}

impl History {
    fn push(&mut self, id: &Text<'_>) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.hash);
        hasher.write(id.wtf8());
        *self = Self { len: self.len + 1, hash: hasher.finish() };
    }
}

impl Lineage {
    /// The last run that started.
    pub(super) const fn head(&self) -> Option<RunAt> {
        self.runs.len().checked_sub(1)
    }

    /// The run that a new one descends from. None if it is a root.
    pub(super) fn parent_of(&self, started: &RunStarted<'_>) -> Option<RunAt> {
        let input = started.input.as_deref();
        let thread = || started.thread_id.clone().into_owned();
        let named = started.parent_run_id.as_ref().or_else(|| input?.parent_run_id.as_ref());
        // One that this thread does not have is no parent, but who ordered the run.
        if let Some(run) = named.and_then(|named| self.by_name.get(&(thread(), named.clone().into_owned()))) {
            return Some(*run);
        }
        let answer = input.and_then(|input| input.resume.as_ref()?.first());
        let asked = answer.map(|answer| (thread(), answer.interrupt_id.clone().into_owned()));
        if let Some(run) = asked.and_then(|asked| self.by_interrupt.get(&asked)) {
            return Some(*run);
        }
        match input {
            Some(input) if self.has_seen_any(input) => self.longest_prefix(thread(), input),
            _ => self.heads.get(started.thread_id.wtf8()).copied(),
        }
    }

    fn has_seen_any(&self, input: &RunAgentInput<'_>) -> bool {
        input.messages.iter().filter_map(Message::id).any(|id| self.seen.contains(id.wtf8()))
    }

    /// The run whose messages the input continues: an input that leaves out or changes the last ones goes back to where
    /// they were not there yet. Clients say no more than that when a message is edited or an answer is made anew.
    fn longest_prefix(&self, thread_id: Text<'static>, input: &RunAgentInput<'_>) -> Option<RunAt> {
        let mut key = (thread_id, History::default());
        let mut longest = self.by_history.get(&key);
        for id in input.messages.iter().filter_map(said) {
            key.1.push(id);
            longest = self.by_history.get(&key).or(longest);
        }
        longest.copied()
    }

    /// What a run is named, if there is one at that place.
    pub(super) fn name_of(&self, run: RunAt) -> Option<Text<'static>> {
        self.runs.get(run).map(|run| run.run_id.clone())
    }

    /// What a run and its ancestors hold.
    pub(super) fn fold(&self, run: Option<RunAt>) -> Fold {
        let mut chain = Vec::new();
        let mut next = run;
        while let Some(run) = next {
            chain.push(run);
            next = self.runs[run].parent;
        }
        let mut fold = Fold::new();
        for event in chain.into_iter().rev().flat_map(|run| &self.runs[run].events) {
            // As it went the first time.
            let _ = fold.apply(event);
        }
        fold
    }

    pub(super) fn start_run(&mut self, started: &RunStarted<'_>, parent: Option<RunAt>, fold: &Fold) {
        let thread_id = started.thread_id.clone().into_owned();
        let at = self.runs.len();
        self.by_name.insert((thread_id.clone(), started.run_id.clone().into_owned()), at);
        self.heads.insert(thread_id.clone(), at);
        let history = parent.map(|parent| self.runs[parent].history).unwrap_or_default();
        let run_id = started.run_id.clone().into_owned();
        self.runs.push(Run { run_id, parent, events: Vec::new(), history });
        let compactor = Compactor::new(Form::Stream, None);
        let (revision, messages) = (fold.revision(), fold.messages().len());
        self.current = Some(Current { thread_id, compactor, revision, messages });
    }

    /// Keeps an event of the current run, which is no chunk.
    pub(super) fn keep(&mut self, event: &Event<'_>) {
        let (Some(at), Some(current)) = (self.head(), &mut self.current) else { return };
        if let Event::RunFinished(finished) = event
            && let Some(RunOutcome::Interrupt(outcome)) = &finished.outcome
        {
            for interrupt in outcome.interrupts.as_slice() {
                self.by_interrupt.insert((current.thread_id.clone(), interrupt.id.clone().into_owned()), at);
            }
        }
        if concerns_messages(event) {
            // Only chunks can be refused.
            self.runs[at].events.extend(current.compactor.push_borrowed(event).unwrap_or_default());
        }
    }

    /// The current run is over.
    pub(super) fn end_run(&mut self, fold: &Fold) {
        let (Some(at), Some(current)) = (self.head(), self.current.take()) else { return };
        let run = &mut self.runs[at];
        run.events.extend(current.compactor.finish());
        // Usually a run adds messages and changes none before them.
        let (mut history, known) = match fold.has_only_grown_since(current.revision) {
            true => (run.history, current.messages),
            false => (History::default(), 0),
        };
        for message in fold.messages().skip(known) {
            self.seen.extend(message.id().cloned());
            said(message).into_iter().for_each(|id| history.push(id));
        }
        run.history = history;
        self.by_history.insert((current.thread_id, history), at);
    }
}

/// Whether a fold of the messages misses the event.
const fn concerns_messages(event: &Event<'_>) -> bool {
    !matches!(
        event,
        Event::StateSnapshot(_)
            | Event::StateDelta(_)
            | Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::SubagentStarted(_)
            | Event::SubagentFinished(_)
            | Event::SubagentError(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningEnd(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::Unknown(_)
    )
}

/// The id of a message that is part of what was said: activities are never sent, and reasoning often is not.
fn said<'m, 'a>(message: &'m Message<'a>) -> Option<&'m Text<'a>> {
    message.id().filter(|_| !matches!(message, Message::Activity(_) | Message::Reasoning(_)))
}
