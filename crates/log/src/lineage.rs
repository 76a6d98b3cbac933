//! The runs of a thread, among which a parent is found. The rules are the protocol crate's.

use crate::names::RunNo;
use crate::run::{RunInfo, RunLineage};
use std::collections::{HashMap, HashSet};
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::lineage::{History, Runs, id_hash, parent_of};
use threadline_protocol::{RunAgentInput, Text};

/// The run that a new one continues; none if it is a root.
#[must_use]
pub fn parent(
    runs: &[RunInfo],
    parent_run_id: Option<&Text<'_>>,
    input: Option<&RunAgentInput<'_>>,
) -> Option<RunNo> {
    parent_of(&KnownRuns::new(runs), parent_run_id, input)
}

/// Who ordered a run: a `parentRunId` that names no run of the thread.
pub(crate) fn spawned_by(runs: &[RunInfo], parent_run_id: Option<&Text<'_>>) -> Option<String> {
    parent_run_id.filter(|id| KnownRuns::new(runs).named(id).is_none()).map(ToString::to_string)
}

/// A run and those before it on its branch, the oldest first.
#[must_use]
pub fn chain(runs: &[RunInfo], run: RunNo) -> Vec<RunNo> {
    let mut chain = Vec::new();
    let mut next = Some(run);
    while let Some(info) = next.and_then(|run| runs.get(run.index())) {
        chain.push(info.no);
        // A parent was opened before its children, so that this ends whatever the store says.
        next = info.parent.filter(|parent| *parent < info.no);
    }
    chain.reverse();
    chain
}

/// What a branch holds after a run, of which `before` is what it held when the run began.
#[must_use]
pub fn lineage_of(fold: &Fold, before: &Fold) -> RunLineage {
    let mut history = History::default();
    let mut ids = Vec::new();
    for message in fold.messages() {
        history.push(message);
        let new = message.id().filter(|id| before.message(id).is_none());
        ids.extend(new.map(id_hash));
    }
    RunLineage { said: history.said, hash: history.hash, ids }
}

struct KnownRuns<'r> {
    runs: &'r [RunInfo],
    by_history: HashMap<(u64, u64), RunNo>,
    seen: HashSet<u64>,
}

impl<'r> KnownRuns<'r> {
    fn new(runs: &'r [RunInfo]) -> Self {
        let known = || runs.iter().filter_map(|run| Some((run.no, run.lineage.as_ref()?)));
        Self {
            runs,
            // The latest of those with the same.
            by_history: known().map(|(no, lineage)| ((lineage.said, lineage.hash), no)).collect(),
            seen: known().flat_map(|(_, lineage)| lineage.ids.iter().copied()).collect(),
        }
    }
}

impl Runs for KnownRuns<'_> {
    type Run = RunNo;

    fn named(&self, run_id: &Text<'_>) -> Option<RunNo> {
        self.runs.iter().find(|run| *run_id == *run.id.as_str()).map(|run| run.no)
    }

    fn that_asked(&self, interrupt_id: &Text<'_>) -> Option<RunNo> {
        let asked = |run: &&RunInfo| {
            run.end.as_ref().is_some_and(|end| end.interrupts.iter().any(|id| *interrupt_id == **id))
        };
        self.runs.iter().rev().find(asked).map(|run| run.no)
    }

    fn head(&self) -> Option<RunNo> {
        self.runs.last().map(|run| run.no)
    }

    fn head_is_running(&self) -> bool {
        self.runs.last().is_some_and(RunInfo::is_running)
    }

    fn has_seen(&self, message_id: &Text<'_>) -> bool {
        self.seen.contains(&id_hash(message_id))
    }

    fn with_history(&self, history: History) -> Option<RunNo> {
        self.by_history.get(&(history.said, history.hash)).copied()
    }
}
