//! What is not kept for ever: raw records, old offsets, old threads.

use crate::checkpoint::Checkpoint;
use crate::engine::{Engine, ThreadChange};
use crate::error::Error;
use crate::lineage::chain;
use crate::names::{RunNo, ThreadKey};
use crate::opening::{ATTEMPTS_MAX, seen};
use crate::restating::is_held;
use crate::run::RunInfo;
use crate::run_fold::write_lines;
use crate::thread::{ThreadCursor, ThreadInfo, ThreadQuery};
use crate::transfer::IMPORTING;
use bytes::Bytes;
use std::collections::{BTreeSet, HashMap};
use threadline_protocol::stages::fold::FOLD_VERSION;
use tokio::sync::MutexGuard;

/// How many threads are looked at together.
const PAGE: usize = 256;

/// How long the records of a run that has ended are kept as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepRaw {
    /// For ever.
    #[default]
    Forever,
    /// For so many milliseconds after its end; then its compaction takes their place.
    For(i64),
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The records of runs that have ended.
    pub keep_raw: KeepRaw,
    /// Threads that nothing happened to for so many milliseconds are deleted.
    pub thread_age_ms_max: Option<i64>,
    /// Of more threads than these in a scope, those that were updated first are deleted.
    pub threads_max: Option<usize>,
}

/// What retention has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Runs whose records were replaced by their compaction.
    pub compacted: u64,
    /// Threads that were deleted.
    pub deleted: Vec<ThreadKey>,
    /// Threads that were left as they are, and why: one that is damaged is no reason to keep the others.
    pub failed: Vec<(ThreadKey, Error)>,
}

impl Engine {
    /// Lets go of what need not be kept. No thread is deleted while a run of it goes on, and no records of a run that goes on are. Where the store
    /// takes no writes any more, it ends, and what it could not do is the last that has failed.
    ///
    /// # Errors
    /// If threads cannot be listed.
    pub async fn retain(&self, retention: &Retention) -> Result<Retained, Error> {
        let mut retained = Retained::default();
        let mut query = ThreadQuery { limit: PAGE, ..ThreadQuery::default() };
        let mut kept_in_scope = HashMap::new();
        loop {
            let page = self.threads(&query).await?;
            let Some(last) = page.last() else { return Ok(retained) };
            query.after = Some(ThreadCursor::of(last));
            for thread in page {
                let kept: &mut usize = kept_in_scope.entry(thread.key.scope.clone()).or_default();
                match self.retain_thread(retention, &thread, *kept).await {
                    Ok(None) => retained.deleted.push(thread.key),
                    Ok(Some(compacted)) => {
                        *kept += 1;
                        retained.compacted += compacted;
                    }
                    // Somebody else has deleted it.
                    Err(Error::NoThread(_)) => {}
                    Err(error) => {
                        *kept += 1;
                        let goes_on = !matches!(error, Error::Unavailable(_) | Error::Indeterminate(_));
                        retained.failed.push((thread.key, error));
                        if !goes_on {
                            return Ok(retained);
                        }
                    }
                }
            }
        }
    }

    /// How many runs of a thread were compacted; none if it was deleted. So many of its scope are kept already.
    async fn retain_thread(
        &self,
        retention: &Retention,
        thread: &ThreadInfo,
        kept: usize,
    ) -> Result<Option<u64>, Error> {
        // It has the times of what it is copied from, and is somebody else's until all of it is there.
        if thread.metadata.labels.contains_key(IMPORTING) {
            return Ok(Some(0));
        }
        let age = self.now().0.saturating_sub(thread.updated.0);
        let is_old = retention.thread_age_ms_max.is_some_and(|max| age >= max);
        let is_one_too_many = retention.threads_max.is_some_and(|max| kept >= max);
        if (is_old || is_one_too_many) && self.delete_idle(thread).await? {
            return Ok(None);
        }
        match retention.keep_raw {
            KeepRaw::For(ms) => self.compact_runs(&thread.key, ms).await.map(Some),
            KeepRaw::Forever => Ok(Some(0)),
        }
    }

    /// Deletes a thread, unless a run of it goes on, or something has happened to it since it was listed.
    async fn delete_idle(&self, listed: &ThreadInfo) -> Result<bool, Error> {
        match self.delete_as_seen(listed).await {
            Ok(()) => Ok(true),
            Err(Error::RunActive(_) | Error::ThreadChanged(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn compact_runs(&self, thread: &ThreadKey, keep_ms: i64) -> Result<u64, Error> {
        let first = self.store().thread(thread).await?.offsets.start;
        let mut compacted = 0;
        for run in self.runs_with_lineage(thread).await? {
            let is_due = run.ended.is_some_and(|ended| self.now().0.saturating_sub(ended.0) >= keep_ms);
            let is_there = !run.compacted && run.offsets.start >= first;
            if is_due && is_there && self.has_delta(thread, run.no).await? {
                self.store().compact_run(thread, run.no, self.now()).await?;
                compacted += 1;
            }
        }
        Ok(compacted)
    }

    /// Whether there is what takes the place of a run's records. What was too large to be kept beside them is not: then they are all there is.
    async fn has_delta(&self, thread: &ThreadKey, run: RunNo) -> Result<bool, Error> {
        let checkpoint = self.store().checkpoint(thread, run).await?;
        Ok(checkpoint.is_some_and(|checkpoint| !checkpoint.delta.is_empty()))
    }

    /// Forgets the records before an offset, and gives the first that is kept: an earlier one, if a run that goes on needs it, or one of which
    /// nothing else is kept. What branches that go on from there hold stays.
    ///
    /// # Errors
    /// If that is beyond the tail.
    pub async fn trim(&self, thread: &ThreadKey, first: u64) -> Result<u64, Error> {
        let (runs, _upkeep) = self.settled_runs(thread).await?;
        let offsets = self.store().thread(thread).await?.offsets;
        if first > offsets.end {
            return Err(Error::BeyondTail { offset: first, tail: offsets.end });
        }
        let first = self.first_needed(thread, &runs, first).await?.max(offsets.start);
        let is_gone = |run: &RunInfo| !run.is_running() && run.offsets.end <= first;
        // Runs that a run which stays continues, and the tips of branches that nobody has continued.
        let mut bases: BTreeSet<RunNo> = BTreeSet::new();
        for run in &runs {
            let parent = run.parent.filter(|_| !is_gone(run));
            bases.extend(parent.filter(|parent| is_gone(&runs[parent.index()])));
            let is_tip = !runs.iter().any(|other| other.parent == Some(run.no));
            bases.extend((is_gone(run) && is_tip).then_some(run.no));
        }
        // Before anything is forgotten.
        for base in &bases {
            let mut restated = self.restated(thread, &runs, &chain(&runs, *base)).await?;
            restated.retain(is_held);
            let mut delta = Vec::new();
            write_lines(&mut delta, &restated);
            let lineage = runs[base.index()].lineage.clone().unwrap_or_default();
            let (run, delta, full) = (*base, delta.into(), None);
            let chained = self.store().checkpoint(thread, run).await?.and_then(|kept| kept.chained);
            let alone =
                Checkpoint { run, version: FOLD_VERSION, delta, stands_alone: true, full, lineage, chained };
            self.store().put_checkpoint(thread, None, alone, self.now()).await?;
        }
        self.store().trim(thread, first, self.now()).await?;
        for run in runs.iter().filter(|run| is_gone(run) && !bases.contains(&run.no)) {
            if let Some(checkpoint) = self.store().checkpoint(thread, run.no).await? {
                let emptied = Checkpoint { delta: Bytes::new(), full: None, ..checkpoint };
                self.store().put_checkpoint(thread, None, emptied, self.now()).await?;
            }
        }
        self.changed(ThreadChange::Changed(thread.clone()));
        Ok(first)
    }

    /// The first offset that must be kept if those before this one are to go.
    async fn first_needed(&self, thread: &ThreadKey, runs: &[RunInfo], first: u64) -> Result<u64, Error> {
        let (mut needed, mut wanted) = (first, None);
        // Each one that stays may begin within others.
        while wanted.replace(needed) != Some(needed) {
            for run in runs {
                let is_cut = (run.offsets.start + 1..run.offsets.end).contains(&needed) && !run.compacted;
                if run.is_running() || (is_cut && !self.has_delta(thread, run.no).await?) {
                    needed = needed.min(run.offsets.start);
                }
            }
        }
        Ok(needed)
    }

    /// The runs with their lineage, to which no other is added as long as the guard is held.
    async fn settled_runs(&self, thread: &ThreadKey) -> Result<(Vec<RunInfo>, MutexGuard<'_, ()>), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let runs = self.runs_with_lineage(thread).await?;
            let upkeep = self.upkeep().of(thread).await;
            if seen(&self.store().runs(thread).await?) == seen(&runs) {
                return Ok((runs, upkeep));
            }
        }
        Err(Error::RunsChanged)
    }
}
