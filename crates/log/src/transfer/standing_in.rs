//! Whose the records were that are gone.
//!
//! A copy of a thread has the offsets of the original, and a store gives them to records only. So something has to stand in for those that
//! were trimmed or compacted, until they are trimmed or compacted there, too. Which run each of them belonged to is not known any more where
//! runs overlapped; but where each run began and ended is, and how many records it has.

use crate::names::RunNo;
use crate::record::Record;
use crate::run::RunInfo;
use std::collections::{BTreeMap, BTreeSet};

/// Finds a run for each offset without a record, so that all runs come to their records in the end.
#[derive(Debug)]
pub(super) struct StandingIn {
    /// Where a run has to have a record: where it began and where it ended.
    fixed: BTreeMap<u64, RunNo>,
    /// How many records of each run are missing elsewhere.
    missing: Vec<u64>,
    /// Before which offset they were.
    before: Vec<u64>,
    /// Runs that have not begun, by where they do.
    waiting: BTreeSet<(u64, RunNo)>,
    /// Runs that miss some, by where they have to have them.
    begun: BTreeSet<(u64, RunNo)>,
}

impl StandingIn {
    /// Nothing is known of the records yet. All that are there have to be [`seen`](Self::see) before anything is asked.
    pub(super) fn new(runs: &[RunInfo], first: u64) -> Self {
        let mut fixed = BTreeMap::new();
        for run in runs.iter().filter(|run| run.records > 0) {
            let last = run.offsets.end.saturating_sub(1);
            let ended = run.ended_at.filter(|ended| *ended > run.offsets.start).unwrap_or(run.offsets.end);
            fixed.extend([run.offsets.start, ended - 1, last].map(|place| (place, run.no)));
        }
        let before = |run: &RunInfo| if run.compacted { run.offsets.end } else { run.offsets.end.min(first) };
        Self {
            fixed,
            missing: runs.iter().map(|run| run.records).collect(),
            before: runs.iter().map(before).collect(),
            waiting: BTreeSet::new(),
            begun: BTreeSet::new(),
        }
    }

    /// Takes note of a record that is there.
    pub(super) fn see(&mut self, record: &Record) {
        let index = record.run.index();
        self.fixed.remove(&record.offset);
        if let (Some(missing), Some(before)) = (self.missing.get_mut(index), self.before.get_mut(index)) {
            *missing = missing.saturating_sub(1);
            // What was compacted or trimmed came before all that was not.
            *before = record.offset.min(*before);
        }
    }

    /// When all that are there were seen.
    pub(super) fn ready(mut self, runs: &[RunInfo]) -> Self {
        for run in self.fixed.values() {
            if let Some(missing) = self.missing.get_mut(run.index()) {
                *missing = missing.saturating_sub(1);
            }
        }
        self.waiting = runs.iter().map(|run| (run.offsets.start, run.no)).collect();
        self
    }

    /// The run that gets an offset without a record. They are asked for in order.
    pub(super) fn owner(&mut self, offset: u64) -> Option<RunNo> {
        if let Some(run) = self.fixed.get(&offset) {
            return Some(*run);
        }
        while let Some((start, run)) = self.waiting.first().copied()
            && start <= offset
        {
            self.waiting.pop_first();
            if self.missing.get(run.index()).is_some_and(|missing| *missing > 0) {
                self.begun.insert((self.before[run.index()], run));
            }
        }
        // Whoever has to have its records first gets one: so all do, if that is possible.
        let place = self.begun.first().copied()?;
        let (_, run) = place;
        let missing = &mut self.missing[run.index()];
        *missing -= 1;
        if *missing == 0 {
            self.begun.remove(&place);
        }
        Some(run)
    }
}
