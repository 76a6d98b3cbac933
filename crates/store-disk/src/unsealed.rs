//! Where the data is that is in the journal and not yet in history.

use crate::entry::{DELETED, FORGOTTEN, fact_kind};
use crate::history::Mark;
use crate::numbered::ByNumber;
use crate::overlay::Item;
use std::ops::Range;
use threadline_log::sealed::batch::BatchHead;
use threadline_log::{RunNo, Timestamp};

/// A batch of records in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnsealedBatch {
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) run: RunNo,
    pub(crate) mark: Mark,
}

impl UnsealedBatch {
    /// Its place among the records, without its time, which is in the journal.
    pub(crate) fn head(&self) -> BatchHead {
        BatchHead { first: self.first, count: self.count, run: self.run, time: Timestamp(0) }
    }

    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }
}

/// A fact in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnsealedFact {
    pub(crate) kind: u8,
    pub(crate) run: RunNo,
    pub(crate) mark: Mark,
}

/// What a thread has in the journal, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnsealedThread {
    pub(crate) batches: Vec<UnsealedBatch>,
    pub(crate) facts: Vec<UnsealedFact>,
}

/// What is in the journal and not in history, by thread.
#[derive(Debug, Default)]
pub(crate) struct Unsealed {
    threads: ByNumber<UnsealedThread>,
}

impl Unsealed {
    /// Notes where an item is.
    pub(crate) fn push(&mut self, thread: u64, item: &Item, mark: Mark) {
        match item {
            Item::Records { head, .. } => {
                self.push_batch(
                    thread,
                    UnsealedBatch { first: head.first, count: head.count, run: head.run, mark },
                );
            }
            Item::Fact { fact, .. } => {
                let (kind, run) = fact_kind(fact);
                self.push_fact(thread, UnsealedFact { kind, run, mark });
            }
        }
    }

    pub(crate) fn push_batch(&mut self, thread: u64, batch: UnsealedBatch) {
        self.threads.entry(thread).or_default().batches.push(batch);
    }

    /// Notes where a fact is. Of a deleted thread nothing else is kept.
    pub(crate) fn push_fact(&mut self, thread: u64, fact: UnsealedFact) {
        let found = self.threads.entry(thread).or_default();
        if fact.kind == DELETED {
            *found = UnsealedThread::default();
        }
        found.facts.push(fact);
    }

    /// The batches of a thread in a range of offsets.
    pub(crate) fn batches(&self, thread: u64, offsets: &Range<u64>) -> &[UnsealedBatch] {
        let Some(found) = self.threads.get(&thread) else { return &[] };
        let start = found.batches.partition_point(|batch| batch.end() <= offsets.start);
        let end = found.batches.partition_point(|batch| batch.first < offsets.end);
        found.batches.get(start..end).unwrap_or_default()
    }

    /// What a thread has there.
    pub(crate) fn of(&self, thread: u64) -> UnsealedThread {
        self.threads.get(&thread).cloned().unwrap_or_default()
    }

    /// Where the last fact of a kind about a run is.
    pub(crate) fn fact(&self, thread: u64, kind: u8, run: RunNo) -> Option<Mark> {
        let facts = &self.threads.get(&thread)?.facts;
        facts.iter().rev().find(|fact| fact.kind == kind && fact.run == run).map(|fact| fact.mark)
    }

    pub(crate) fn has_records_of(&self, thread: u64, run: RunNo, segment_end: u64) -> bool {
        let batches = self.threads.get(&thread).map(|found| &found.batches[..]).unwrap_or_default();
        let before = batches.partition_point(|batch| batch.mark.segment < segment_end);
        batches[..before].iter().any(|batch| batch.run == run)
    }

    /// Whether there is a fact by which something is to be erased.
    pub(crate) fn has_forgotten(&self) -> bool {
        let mut facts = self.threads.values().flat_map(|thread| &thread.facts);
        facts.any(|fact| [DELETED, FORGOTTEN].contains(&fact.kind))
    }

    /// Whether a thread was deleted.
    pub(crate) fn is_deleted(&self, thread: u64) -> bool {
        // Whatever came before was forgotten, and nothing comes after it.
        let last = self.threads.get(&thread).and_then(|found| found.facts.last());
        last.is_some_and(|fact| fact.kind == DELETED)
    }

    /// The numbers of all threads that have something there.
    pub(crate) fn threads(&self) -> impl Iterator<Item = u64> {
        self.threads.keys().copied()
    }

    /// What a thread has in the segments before this one.
    pub(crate) fn before(&self, thread: u64, segment_end: u64) -> UnsealedThread {
        let Some(found) = self.threads.get(&thread) else { return UnsealedThread::default() };
        let (batches, facts) = found.count_before(segment_end);
        UnsealedThread { batches: found.batches[..batches].to_vec(), facts: found.facts[..facts].to_vec() }
    }

    /// Forgets what a thread has in the segments before this one.
    pub(crate) fn forget_before(&mut self, thread: u64, segment_end: u64) {
        let Some(found) = self.threads.get_mut(&thread) else { return };
        let (batches, facts) = found.count_before(segment_end);
        found.batches.drain(..batches);
        found.facts.drain(..facts);
        if found.is_empty() {
            self.threads.remove(&thread);
        }
    }
}

impl UnsealedThread {
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.facts.is_empty()
    }

    fn count_before(&self, segment_end: u64) -> (usize, usize) {
        let batches = self.batches.partition_point(|batch| batch.mark.segment < segment_end);
        (batches, self.facts.partition_point(|fact| fact.mark.segment < segment_end))
    }
}
