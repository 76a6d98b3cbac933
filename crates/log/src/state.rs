//! What decides about writes to a thread, without I/O: the same for every store that keeps it in memory.
//!
//! A write is first admitted, which changes nothing and gives the facts to be written, and then applied. A state that
//! facts and records are applied to in the order in which they were written is the one that admitted them.

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::fact::Fact;
use crate::kin::{Kin, KinIndex, Sought};
use crate::names::{AppendKey, Epoch, Incarnation, RunId, RunNo, ThreadKey, Timestamp};
use crate::record::Kind;
use crate::run::{RunEnd, RunInfo};
use crate::store::{Ack, Append, Claim, KEYS_KEPT_MS, OpenRun, RunsSeen, ThreadSeen};
use crate::thread::{Metadata, ThreadInfo};
use std::collections::{BTreeMap, HashMap};

/// A damaged log must not make us believe in more runs than this that nothing else speaks of.
const LOST_RUNS_MAX: usize = 1 << 16;

/// What is known about a thread.
#[derive(Clone, Debug)]
pub struct ThreadState {
    key: ThreadKey,
    incarnation: Incarnation,
    first: u64,
    tail: u64,
    metadata: Metadata,
    created: Timestamp,
    updated: Timestamp,
    bytes: u64,
    runs: Vec<RunInfo>,
    ended: u32,
    by_id: HashMap<RunId, RunNo>,
    kin: KinIndex,
    keys: BTreeMap<RunNo, HashMap<AppendKey, Ack>>,
}

/// A write that may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The run that the records belong to.
    pub run: RunNo,
    /// The offset that the first record gets.
    pub first: u64,
    /// When. Never before what was written earlier.
    pub time: Timestamp,
    /// What becomes true with it, in order. The records come after what opens a run, and before what ends one.
    pub before: Vec<Fact>,
    /// The rest of it.
    pub after: Vec<Fact>,
}

/// What becomes of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is to be written.
    New(Admitted),
    /// It was written before, though it may not be durable yet.
    Repeated(Ack),
}

impl ThreadState {
    /// A thread that nothing was written to.
    #[must_use]
    pub fn new(key: ThreadKey, incarnation: Incarnation, time: Timestamp) -> Self {
        Self {
            key,
            incarnation,
            first: 0,
            tail: 0,
            metadata: Metadata::default(),
            created: time,
            updated: time,
            bytes: 0,
            runs: Vec::new(),
            ended: 0,
            by_id: HashMap::new(),
            kin: KinIndex::default(),
            keys: BTreeMap::new(),
        }
    }

    /// The state that a store has kept elsewhere than in facts.
    #[must_use]
    pub fn restore(info: &ThreadInfo, runs: Vec<RunInfo>, keys: Vec<(RunNo, AppendKey, Ack)>) -> Self {
        let mut state = Self::new(info.key.clone(), info.incarnation, info.created);
        state.first = info.offsets.start;
        state.tail = info.offsets.end;
        state.metadata = info.metadata.clone();
        state.updated = info.updated;
        state.bytes = info.bytes;
        state.ended = u32::try_from(runs.iter().filter(|run| !run.is_running()).count()).unwrap_or(u32::MAX);
        state.by_id = runs.iter().map(|run| (run.id.clone(), run.no)).collect();
        state.kin = KinIndex::of(&runs);
        state.runs = runs;
        for (run, key, ack) in keys {
            state.keys.entry(run).or_default().insert(key, ack);
        }
        state
    }

    /// The next offset.
    #[must_use]
    pub const fn tail(&self) -> u64 {
        self.tail
    }

    /// The first offset that can be read.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Tells the thread from deleted ones of the same name.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The runs, in the order they were opened.
    #[must_use]
    pub fn runs(&self) -> &[RunInfo] {
        &self.runs
    }

    /// A run.
    ///
    /// # Errors
    /// If there is none at that place.
    pub fn run(&self, run: RunNo) -> Result<&RunInfo, Error> {
        self.runs.get(run.index()).ok_or_else(|| Error::NoRun(run.0.to_string()))
    }

    /// What a run that is to be opened has to know.
    #[must_use]
    pub fn kin(&self, sought: &Sought) -> Kin {
        let head = self.runs.last();
        let named = sought.runs.iter().filter_map(|id| self.by_id.get_key_value(id));
        Kin {
            seen: self.seen(),
            head: head.map(|run| run.no),
            head_is_running: head.is_some_and(RunInfo::is_running),
            runs: named.map(|(id, run)| (id.clone(), *run)).collect(),
            ..self.kin.find(sought)
        }
    }

    /// The keys that were appended under, as far as they are kept.
    pub fn keys(&self) -> impl Iterator<Item = (RunNo, &AppendKey, &Ack)> {
        self.keys.iter().flat_map(|(run, keys)| keys.iter().map(|(key, ack)| (*run, key, ack)))
    }

    /// The runs whose keys are kept.
    pub fn keyed_runs(&self) -> impl Iterator<Item = RunNo> {
        self.keys.keys().copied()
    }

    /// How far the runs have come.
    #[must_use]
    pub fn seen(&self) -> RunsSeen {
        RunsSeen { opened: self.opened(), ended: self.ended }
    }

    fn opened(&self) -> u32 {
        u32::try_from(self.runs.len()).expect("run numbers are admitted as u32")
    }

    /// What is known about the thread.
    #[must_use]
    pub fn info(&self) -> ThreadInfo {
        ThreadInfo {
            key: self.key.clone(),
            incarnation: self.incarnation,
            offsets: self.first..self.tail,
            metadata: self.metadata.clone(),
            created: self.created,
            updated: self.updated,
            runs: self.opened(),
            last_run: self.runs.last().map(|run| (run.no, run.status())),
            bytes: self.bytes,
        }
    }

    /// How many bytes its records have, as they came.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a run may be opened, and what becomes true with it.
    ///
    /// # Errors
    /// If the runs have changed since the caller looked, the id is taken, or the tail is elsewhere.
    pub fn admit_open(&self, open: &OpenRun) -> Result<Admitted, Error> {
        if self.seen() != open.seen {
            return Err(Error::RunsChanged);
        }
        if self.by_id.contains_key(&open.id) {
            return Err(Error::RunIdReused(open.id.clone()));
        }
        if let Some(parent) = open.parent {
            self.run(parent)?;
        }
        self.check_tail(open.expected_tail)?;
        let run = RunNo(self.opened());
        let opened = Fact::Opened {
            run,
            id: open.id.clone(),
            parent: open.parent,
            spawned_by: open.spawned_by.clone(),
            base_state: open.base_state,
            request_digest: open.request_digest.clone(),
            first: self.tail,
            epoch: Epoch(1),
            lease_until: open.lease_until,
        };
        let time = self.not_before(open.time);
        let after = self.after(run, open.records.len(), open.key.as_ref(), open.end.as_ref());
        Ok(Admitted { run, first: self.tail, time, before: vec![opened], after })
    }

    fn check_tail(&self, expected: Option<u64>) -> Result<(), Error> {
        match expected.filter(|expected| *expected != self.tail) {
            Some(expected) => Err(Error::TailMoved { expected, actual: self.tail }),
            None => Ok(()),
        }
    }

    /// What becomes true after so many records.
    fn after(&self, run: RunNo, count: usize, key: Option<&AppendKey>, end: Option<&RunEnd>) -> Vec<Fact> {
        let count = count as u64;
        // Facts are large, and most appends have none: nothing is moved for those.
        let mut facts = Vec::new();
        if let Some(key) = key {
            facts.push(Fact::Keyed { run, key: key.clone(), first: self.tail, count });
        }
        if let Some(end) = end {
            let at = Some(self.tail + count);
            facts.push(Fact::Ended { run, end: end.clone(), at });
        }
        facts
    }

    /// Whether records may be appended, and what becomes true with them.
    ///
    /// # Errors
    /// If it is another thread, there is no such run, it has ended, another writes it, or the tail is elsewhere.
    pub fn admit_append(&self, append: &Append) -> Result<Admission, Error> {
        if append.incarnation.is_some_and(|incarnation| incarnation != self.incarnation) {
            return Err(Error::OtherIncarnation(self.key.clone()));
        }
        let run = self.run(append.run)?;
        // A repetition is answered whatever has become of the run in the meantime.
        if let Some(key) = &append.key
            && let Some(ack) = self.keys.get(&append.run).and_then(|keys| keys.get(key))
        {
            return Ok(Admission::Repeated(Ack { repeated: true, ..*ack }));
        }
        if append.records.is_empty() {
            return Err(Error::Invalid("nothing to append".to_owned()));
        }
        if append.epoch != run.epoch {
            return Err(Error::Fenced { given: append.epoch, current: run.epoch });
        }
        let only_rejected = append.records.iter().all(|record| record.kind == Kind::Rejected);
        if !run.is_running() && (append.end.is_some() || !only_rejected) {
            return Err(Error::RunEnded(run.id.clone()));
        }
        self.check_tail(append.expected_tail)?;
        let after = self.after(append.run, append.records.len(), append.key.as_ref(), append.end.as_deref());
        let time = self.not_before(append.time);
        Ok(Admission::New(Admitted { run: append.run, first: self.tail, time, before: Vec::new(), after }))
    }

    /// Whether a lease may be renewed, taken over or seized, and what becomes true with it.
    ///
    /// # Errors
    /// If the run has ended, another has it, or its lease is not over.
    pub fn admit_claim(
        &self,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Fact, Error> {
        let info = self.run(run)?;
        if !info.is_running() {
            return Err(Error::RunEnded(info.id.clone()));
        }
        if epoch != info.epoch {
            return Err(Error::Fenced { given: epoch, current: info.epoch });
        }
        let lease_until = match claim {
            Claim::TakeOver(_) if info.lease_until > time => return Err(Error::RunActive(info.id.clone())),
            Claim::Renew(until) | Claim::TakeOver(until) | Claim::Seize(until) => until,
        };
        Ok(Fact::Claimed { run, epoch: claim.epoch_after(epoch), lease_until })
    }

    /// Whether a checkpoint may be kept.
    ///
    /// # Errors
    /// If its run goes on; or if it is to be the first one of a run of another thread, or there is one.
    pub fn admit_checkpoint(
        &self,
        first_of: Option<Incarnation>,
        checkpoint: &Checkpoint,
    ) -> Result<Fact, Error> {
        if first_of.is_some_and(|incarnation| incarnation != self.incarnation) {
            return Err(Error::OtherIncarnation(self.key.clone()));
        }
        let info = self.run(checkpoint.run)?;
        if info.is_running() {
            return Err(Error::RunActive(info.id.clone()));
        }
        if first_of.is_some() && info.lineage.is_some() {
            return Err(Error::RunsChanged);
        }
        Ok(Fact::Checkpointed {
            run: checkpoint.run,
            version: checkpoint.version,
            delta_bytes: checkpoint.delta.len() as u64,
            stands_alone: checkpoint.stands_alone,
            lineage: checkpoint.lineage.clone(),
            chained: checkpoint.chained,
        })
    }

    /// Whether a run may give up its records.
    ///
    /// # Errors
    /// If it goes on, or nothing would take their place.
    pub fn admit_compact(&self, run: RunNo) -> Result<Fact, Error> {
        let info = self.run(run)?;
        if info.is_running() {
            return Err(Error::RunActive(info.id.clone()));
        }
        if info.lineage.is_none() {
            return Err(Error::Invalid(format!("the run has no checkpoint. run={}", info.id)));
        }
        Ok(Fact::Compacted { run })
    }

    /// Whether the records before an offset may go.
    ///
    /// # Errors
    /// If that is beyond the tail.
    pub fn admit_trim(&self, first: u64) -> Result<Fact, Error> {
        if first > self.tail {
            return Err(Error::BeyondTail { offset: first, tail: self.tail });
        }
        Ok(Fact::Trimmed { first: first.max(self.first) })
    }

    /// What becomes true if the thread is deleted as somebody has seen it.
    ///
    /// # Errors
    /// If something has happened to it since.
    pub fn admit_delete(&self, seen: Option<ThreadSeen>) -> Result<Fact, Error> {
        if seen.is_some_and(|seen| seen != ThreadSeen::from(&self.info())) {
            return Err(Error::ThreadChanged(self.key.clone()));
        }
        Ok(Fact::Deleted)
    }

    /// A time that is not before what was written earlier.
    #[must_use]
    pub fn not_before(&self, time: Timestamp) -> Timestamp {
        time.max(self.updated)
    }

    /// Takes in a fact that was written.
    pub fn apply(&mut self, time: Timestamp, fact: &Fact) {
        // What is done for the thread's upkeep does not bring it to the front of lists.
        if matches!(fact, Fact::Opened { .. } | Fact::Described { .. }) {
            self.updated = self.updated.max(time);
        }
        // Whatever is said of a run, there was one: its number must not be given to another.
        if let Fact::Claimed { run, .. }
        | Fact::Keyed { run, .. }
        | Fact::Ended { run, .. }
        | Fact::Checkpointed { run, .. }
        | Fact::Compacted { run } = fact
        {
            self.stand_in(run.index() + 1, self.tail, time);
        }
        match fact {
            Fact::Opened { .. } => self.open(time, fact),
            Fact::Claimed { run, epoch, lease_until } => {
                if let Some(run) = self.runs.get_mut(run.index()) {
                    (run.epoch, run.lease_until) = (*epoch, *lease_until);
                }
            }
            Fact::Keyed { run, key, first, count } => {
                let ack = Ack { first: *first, count: *count, time, repeated: false };
                self.keys.entry(*run).or_default().insert(key.clone(), ack);
            }
            Fact::Ended { run, end, at, .. } => {
                if let Some(run) = self.runs.get_mut(run.index()) {
                    // Stores may state a fact again whose first statement is lost.
                    self.ended += u32::from(run.is_running());
                    (run.end, run.ended, run.ended_at) = (Some(end.clone()), Some(time), *at);
                    self.kin.end(run);
                }
            }
            Fact::Checkpointed { run, lineage, .. } => {
                let run = self.runs.get_mut(run.index());
                if let Some(run) = run.filter(|run| run.lineage.as_ref() != Some(lineage)) {
                    let is_first = run.lineage.replace(lineage.clone()).is_none();
                    match is_first {
                        true => self.kin.fold(run.no, lineage),
                        false => self.kin = KinIndex::of(&self.runs),
                    }
                }
            }
            Fact::Described { change } => self.metadata.apply(change),
            Fact::Trimmed { first } => self.first = self.first.max(*first),
            Fact::Compacted { run } => {
                if let Some(run) = self.runs.get_mut(run.index()) {
                    run.compacted = true;
                }
            }
            Fact::Created { .. } | Fact::Deleted => {}
        }
    }

    /// Forgets the keys of runs that ended too long ago. They take no more events, so that nothing lands twice.
    fn forget_keys(&mut self, time: Timestamp) {
        let until = time.0.saturating_sub(KEYS_KEPT_MS);
        let runs = &self.runs;
        self.keys.retain(|run, _| {
            runs.get(run.index()).and_then(|run| run.ended).is_none_or(|ended| ended.0 > until)
        });
    }

    fn open(&mut self, time: Timestamp, fact: &Fact) {
        self.forget_keys(time);
        let Fact::Opened {
            run,
            id,
            parent,
            spawned_by,
            base_state,
            request_digest,
            first,
            epoch,
            lease_until,
        } = fact
        else {
            return;
        };
        self.stand_in(run.index(), *first, time);
        let opened = RunInfo {
            parent: *parent,
            spawned_by: spawned_by.clone(),
            base_state: *base_state,
            request_digest: request_digest.clone(),
            epoch: *epoch,
            lease_until: *lease_until,
            ..RunInfo::unknown(*run, id.clone(), *first, time)
        };
        match self.runs.get(run.index()) {
            None if run.index() == self.runs.len() => self.push_run(opened),
            Some(known) if known.is_stand_in() => self.put_in_place(opened),
            _ => {}
        }
    }

    /// Puts a run where something stood in for it: stores may state again what was lost, after what came behind it.
    fn put_in_place(&mut self, opened: RunInfo) {
        let place = &mut self.runs[opened.no.index()];
        self.by_id.remove(&place.id);
        self.by_id.entry(opened.id.clone()).or_insert(opened.no);
        let RunInfo { records, ended, ended_at, end, lineage, compacted, .. } = place.clone();
        let offsets = opened.offsets.start..place.offsets.end;
        *place = RunInfo { offsets, records, ended, ended_at, end, lineage, compacted, ..opened };
        self.kin = KinIndex::of(&self.runs);
    }

    fn push_run(&mut self, run: RunInfo) {
        self.by_id.entry(run.id.clone()).or_insert(run.no);
        self.runs.push(run);
    }

    /// Puts something in the place of runs whose opening was lost, as only damage can do: those after them keep their numbers,
    /// and what is left of them can be read.
    fn stand_in(&mut self, end: usize, first: u64, time: Timestamp) {
        if end.saturating_sub(self.runs.len()) > LOST_RUNS_MAX {
            return;
        }
        while self.runs.len() < end {
            let no = RunNo(self.opened());
            self.push_run(RunInfo::stand_in(no, first, time));
        }
    }

    /// Takes in records that were written.
    pub fn apply_records(&mut self, run: RunNo, first: u64, count: u64, bytes: u64, time: Timestamp) {
        self.tail = self.tail.max(first + count);
        self.bytes += bytes;
        self.updated = self.updated.max(time);
        self.stand_in(run.index() + 1, first, time);
        if let Some(run) = self.runs.get_mut(run.index()) {
            // A run may be opened without records, and others come between.
            if run.records == 0 {
                run.offsets.start = first;
            }
            run.offsets.end = first + count;
            run.records += count;
        }
    }
}
