//! What a run that is to be opened has to know of the others of its thread, without a copy of all of them.

use crate::names::{RunId, RunNo};
use crate::run::{RunInfo, RunLineage};
use crate::store::RunsSeen;
use std::collections::{BTreeSet, HashMap, HashSet};
use threadline_protocol::stages::lineage::{History, Runs, id_hash, parent_of};
use threadline_protocol::{Message, RunAgentInput, Text};

/// What is asked about the runs of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// Ids of runs.
    pub runs: Vec<RunId>,
    /// Ids of interrupts.
    pub interrupts: Vec<String>,
    /// Hashes of ids of messages.
    pub messages: Vec<u64>,
    /// What branches may hold: how many messages were said, and the hash over their ids.
    pub histories: Vec<(u64, u64)>,
}

/// The answer: of what was asked for, that which is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    /// How far the runs have come. Everything else is true as of then.
    pub seen: RunsSeen,
    /// The last run that was opened.
    pub head: Option<RunNo>,
    /// Whether it goes on.
    pub head_is_running: bool,
    /// The runs with these ids.
    pub runs: HashMap<RunId, RunNo>,
    /// The last runs that asked these.
    pub interrupts: HashMap<String, RunNo>,
    /// Messages that some run held.
    pub messages: HashSet<u64>,
    /// The last runs that ended with these histories.
    pub histories: HashMap<(u64, u64), RunNo>,
    /// Runs that have ended and have no checkpoint, so that what they held is not known.
    pub unfolded: Vec<RunNo>,
}

impl Sought {
    /// What has to be known to find the run that another continues.
    #[must_use]
    pub fn for_parent(parent_run_id: Option<&Text<'_>>, input: Option<&RunAgentInput<'_>>) -> Self {
        let mut sought = Self::default();
        let named = parent_run_id.into_iter().chain(input.and_then(|input| input.parent_run_id.as_ref()));
        // What cannot be the id of a run names none.
        sought.runs.extend(named.filter_map(|id| RunId::new(id.as_str()?).ok()));
        let Some(input) = input else { return sought };
        let answers = input.resume.iter().flatten();
        sought
            .interrupts
            .extend(answers.filter_map(|answer| answer.interrupt_id.as_str().map(str::to_owned)));
        sought.messages.extend(input.messages.iter().filter_map(Message::id).map(id_hash));
        let mut history = History::default();
        sought.histories.push((history.said, history.hash));
        for message in &input.messages {
            history.push(message);
            sought.histories.push((history.said, history.hash));
        }
        sought
    }

    /// Asks for a run as well.
    #[must_use]
    pub fn with_run(mut self, id: RunId) -> Self {
        self.runs.push(id);
        self
    }
}

impl Kin {
    /// The run that a new one continues; none if it is a root. The same must have been asked for.
    #[must_use]
    pub fn parent(
        &self,
        parent_run_id: Option<&Text<'_>>,
        input: Option<&RunAgentInput<'_>>,
    ) -> Option<RunNo> {
        parent_of(self, parent_run_id, input)
    }

    /// Who ordered a run: a `parentRunId` that names no run of the thread.
    pub(crate) fn spawned_by(&self, parent_run_id: Option<&Text<'_>>) -> Option<String> {
        parent_run_id.filter(|id| self.named(id).is_none()).map(ToString::to_string)
    }
}

impl Runs for Kin {
    type Run = RunNo;

    fn named(&self, run_id: &Text<'_>) -> Option<RunNo> {
        self.runs.get(&RunId::new(run_id.as_str()?).ok()?).copied()
    }

    fn that_asked(&self, interrupt_id: &Text<'_>) -> Option<RunNo> {
        self.interrupts.get(interrupt_id.as_str()?).copied()
    }

    fn head(&self) -> Option<RunNo> {
        self.head
    }

    fn head_is_running(&self) -> bool {
        self.head_is_running
    }

    fn has_seen(&self, message_id: &Text<'_>) -> bool {
        self.messages.contains(&id_hash(message_id))
    }

    fn with_history(&self, history: History) -> Option<RunNo> {
        self.histories.get(&(history.said, history.hash)).copied()
    }
}

/// Finds the answers, for stores that keep the state of a thread in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct KinIndex {
    interrupts: HashMap<String, RunNo>,
    messages: HashSet<u64>,
    histories: HashMap<(u64, u64), RunNo>,
    unfolded: BTreeSet<RunNo>,
}

impl KinIndex {
    pub(crate) fn of(runs: &[RunInfo]) -> Self {
        let mut index = Self::default();
        for run in runs {
            index.end(run);
            if let Some(lineage) = &run.lineage {
                index.fold(run.no, lineage);
            }
        }
        index
    }

    /// Takes in that a run has ended, if it has.
    pub(crate) fn end(&mut self, run: &RunInfo) {
        let Some(end) = &run.end else { return };
        for id in &end.interrupts {
            put_latest(&mut self.interrupts, id.clone(), run.no);
        }
        if run.lineage.is_none() {
            self.unfolded.insert(run.no);
        }
    }

    /// Takes in what a run held.
    pub(crate) fn fold(&mut self, run: RunNo, lineage: &RunLineage) {
        self.unfolded.remove(&run);
        self.messages.extend(&lineage.ids);
        put_latest(&mut self.histories, (lineage.said, lineage.hash), run);
    }

    /// What is there of what is asked for. The rest is for the caller to say.
    pub(crate) fn find(&self, sought: &Sought) -> Kin {
        let interrupts = sought.interrupts.iter().filter_map(|id| self.interrupts.get_key_value(id));
        let histories = sought.histories.iter().filter_map(|history| self.histories.get_key_value(history));
        Kin {
            interrupts: interrupts.map(|(id, run)| (id.clone(), *run)).collect(),
            messages: sought.messages.iter().filter(|id| self.messages.contains(id)).copied().collect(),
            histories: histories.map(|(history, run)| (*history, *run)).collect(),
            unfolded: self.unfolded.iter().copied().collect(),
            ..Kin::default()
        }
    }
}

fn put_latest<K: Eq + std::hash::Hash>(runs: &mut HashMap<K, RunNo>, key: K, run: RunNo) {
    let latest = runs.entry(key).or_insert(run);
    *latest = run.max(*latest);
}

#[cfg(test)]
mod tests;
