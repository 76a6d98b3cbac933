//! The runs of a stream, among which parents are found.

use crate::event::{Event, RunStarted};
use crate::json::Text;
use crate::run::RunOutcome;
use crate::stages::compact::{Compactor, Form};
use crate::stages::fold::Fold;
use crate::stages::lineage::{self, History};
use std::collections::{HashMap, HashSet};

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

/// The runs of one thread of the stream.
struct InThread<'l> {
    lineage: &'l Lineage,
    thread_id: Text<'static>,
}

impl lineage::Runs for InThread<'_> {
    type Run = RunAt;

    fn named(&self, run_id: &Text<'_>) -> Option<RunAt> {
        self.lineage.by_name.get(&(self.thread_id.clone(), run_id.clone().into_owned())).copied()
    }

    fn that_asked(&self, interrupt_id: &Text<'_>) -> Option<RunAt> {
        self.lineage.by_interrupt.get(&(self.thread_id.clone(), interrupt_id.clone().into_owned())).copied()
    }

    fn head(&self) -> Option<RunAt> {
        self.lineage.heads.get(&self.thread_id).copied()
    }

    /// In a stream, a run that starts ends the one before.
    fn head_is_running(&self) -> bool {
        false
    }

    fn has_seen(&self, message_id: &Text<'_>) -> bool {
        self.lineage.seen.contains(message_id.wtf8())
    }

    fn with_history(&self, history: History) -> Option<RunAt> {
        self.lineage.by_history.get(&(self.thread_id.clone(), history)).copied()
    }
}

impl Lineage {
    /// The last run that started.
    pub(super) const fn head(&self) -> Option<RunAt> {
        self.runs.len().checked_sub(1)
    }

    /// The run that a new one descends from. None if it is a root.
    pub(super) fn parent_of(&self, started: &RunStarted<'_>) -> Option<RunAt> {
        let runs = InThread { lineage: self, thread_id: started.thread_id.clone().into_owned() };
        lineage::parent_of(&runs, started.parent_run_id.as_ref(), started.input.as_deref())
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
            history.push(message);
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
