//! What a store is, said as plainly as possible: every record that ever came in a list, everything else counted anew when it is
//! asked for. Written from what `Store` promises and not from how any store does it.

use super::view::{RunView, ThreadView, View};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use threadline_log::run::{RunEnd, RunInfo, RunStatus};
use threadline_log::store::{Ack, Append, Claim, KEYS_KEPT_MS, OpenRun, Opened, RunsSeen, ThreadSeen};
use threadline_log::thread::{Metadata, MetadataChange, ThreadInfo, ThreadOrder, ThreadQuery};
use threadline_log::{
    AppendKey, Checkpoint, Epoch, Error, Incarnation, Kind, NewRecord, Record, RunNo, ThreadKey, Timestamp,
};

/// The threads of a store.
#[derive(Debug, Default)]
pub struct Model {
    threads: BTreeMap<ThreadKey, Thread>,
}

#[derive(Debug)]
struct Thread {
    incarnation: Incarnation,
    metadata: Metadata,
    created: Timestamp,
    updated: Timestamp,
    first: u64,
    runs: Vec<Run>,
    log: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    compacted: bool,
}

#[derive(Debug)]
struct Run {
    opened: OpenRun,
    tail_at_start: u64,
    started: Timestamp,
    end: Option<(RunEnd, Timestamp)>,
    ended_at: Option<u64>,
    epoch: Epoch,
    lease_until: Timestamp,
    acks: BTreeMap<AppendKey, Ack>,
    checkpoint: Option<(Checkpoint, BTreeSet<String>)>,
    compacted: bool,
}

/// A refusal without a text that stores word as they like.
#[must_use]
pub fn plain(error: Error) -> Error {
    match error {
        Error::Invalid(_) => Error::Invalid(String::new()),
        Error::NoRun(_) => Error::NoRun(String::new()),
        Error::Unavailable(_) => Error::Unavailable(String::new()),
        Error::Indeterminate(_) => Error::Indeterminate(String::new()),
        error => error,
    }
}

fn no_run() -> Error {
    Error::NoRun(String::new())
}

fn invalid() -> Error {
    Error::Invalid(String::new())
}

/// The words of a text that has no letters but those of English.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

impl Model {
    fn get(&mut self, key: &ThreadKey) -> Result<&mut Thread, Error> {
        self.threads.get_mut(key).ok_or_else(|| Error::NoThread(key.clone()))
    }

    /// How many runs a thread has, and how many have ended.
    #[must_use]
    pub fn seen(&self, key: &ThreadKey) -> RunsSeen {
        let none = Vec::new();
        let runs = self.threads.get(key).map_or(&none, |thread| &thread.runs);
        let ended = runs.iter().filter(|run| run.end.is_some()).count();
        RunsSeen { opened: small(runs.len()), ended: small(ended) }
    }

    /// How a thread is known, if it is there.
    #[must_use]
    pub fn thread_seen(&self, key: &ThreadKey) -> Option<ThreadSeen> {
        let thread = self.threads.get(key)?;
        Some(ThreadSeen {
            incarnation: thread.incarnation,
            tail: self.tail(key),
            runs: small(thread.runs.len()),
            updated: thread.updated,
        })
    }

    /// A thread's tail.
    #[must_use]
    pub fn tail(&self, key: &ThreadKey) -> u64 {
        self.threads.get(key).map_or(0, |thread| thread.log.len() as u64)
    }

    /// The generation of a run's writer, 1 if there is no such run.
    #[must_use]
    pub fn epoch(&self, key: &ThreadKey, run: RunNo) -> Epoch {
        let run = self.threads.get(key).and_then(|thread| thread.runs.get(run.index()));
        run.map_or(Epoch(1), |run| run.epoch)
    }

    /// `Store::open_run`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn open_run(&mut self, open: OpenRun) -> Result<Opened, Error> {
        if open.seen != self.seen(&open.thread) {
            return Err(Error::RunsChanged);
        }
        if let Some(thread) = self.threads.get(&open.thread)
            && thread.runs.iter().any(|run| run.opened.id == open.id)
        {
            return Err(Error::RunIdReused(open.id));
        }
        if open.parent.is_some_and(|parent| parent.0 >= open.seen.opened) {
            return Err(no_run());
        }
        let tail = self.tail(&open.thread);
        if let Some(expected) = open.expected_tail
            && expected != tail
        {
            return Err(Error::TailMoved { expected, actual: tail });
        }
        let thread = self.threads.entry(open.thread.clone()).or_insert_with(|| {
            let mut metadata = Metadata::default();
            describe(&mut metadata, &open.metadata);
            Thread {
                incarnation: open.incarnation,
                metadata,
                created: open.time,
                updated: open.time,
                first: 0,
                runs: Vec::new(),
                log: Vec::new(),
            }
        });
        thread.updated = thread.updated.max(open.time);
        let run = RunNo(open.seen.opened);
        let until = thread.updated.0 - KEYS_KEPT_MS;
        for run in &mut thread.runs {
            if run.end.as_ref().is_some_and(|(_, ended)| ended.0 <= until) {
                run.acks.clear();
            }
        }
        thread.runs.push(Run {
            tail_at_start: thread.log.len() as u64,
            started: thread.updated,
            end: None,
            ended_at: None,
            epoch: Epoch(1),
            lease_until: open.lease_until,
            acks: BTreeMap::new(),
            checkpoint: None,
            compacted: false,
            opened: open.clone(),
        });
        let ack = thread.take(run, open.records);
        let opened = thread.run(run)?;
        opened.acks.extend(open.key.map(|key| (key, ack)));
        if let Some(end) = open.end {
            (opened.end, opened.ended_at) = (Some((end, ack.time)), Some(ack.offsets().end));
        }
        Ok(Opened { run, epoch: Epoch(1), incarnation: thread.incarnation, ack })
    }

    /// `Store::append`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn append(&mut self, append: Append) -> Result<Ack, Error> {
        let thread = self.get(&append.thread)?;
        let tail = thread.log.len() as u64;
        let run = thread.run(append.run)?;
        if let Some(ack) = append.key.as_ref().and_then(|key| run.acks.get(key)) {
            return Ok(Ack { repeated: true, ..*ack });
        }
        if append.records.is_empty() {
            return Err(invalid());
        }
        if append.epoch != run.epoch {
            return Err(Error::Fenced { given: append.epoch, current: run.epoch });
        }
        let harmless = append.end.is_none() && append.records.iter().all(|new| new.kind == Kind::Rejected);
        if run.end.is_some() && !harmless {
            return Err(Error::RunEnded(run.opened.id.clone()));
        }
        if let Some(expected) = append.expected_tail
            && expected != tail
        {
            return Err(Error::TailMoved { expected, actual: tail });
        }
        thread.updated = thread.updated.max(append.time);
        let ack = thread.take(append.run, append.records);
        let run = thread.run(append.run)?;
        if let Some(key) = append.key {
            run.acks.insert(key, ack);
        }
        if let Some(end) = append.end {
            (run.end, run.ended_at) = (Some((*end, ack.time)), Some(ack.offsets().end));
        }
        Ok(ack)
    }

    /// `Store::claim`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn claim(
        &mut self,
        key: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        let run = self.get(key)?.run(run)?;
        if run.end.is_some() {
            return Err(Error::RunEnded(run.opened.id.clone()));
        }
        if epoch != run.epoch {
            return Err(Error::Fenced { given: epoch, current: run.epoch });
        }
        match claim {
            Claim::Renew(until) => run.lease_until = until,
            Claim::TakeOver(until) => {
                if time < run.lease_until {
                    return Err(Error::RunActive(run.opened.id.clone()));
                }
                run.lease_until = until;
                run.epoch = Epoch(run.epoch.0 + 1);
            }
            Claim::Seize(until) => {
                run.lease_until = until;
                run.epoch = Epoch(run.epoch.0 + 1);
            }
        }
        Ok(run.epoch)
    }

    /// `Store::describe`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn describe(
        &mut self,
        key: &ThreadKey,
        change: &MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        let thread = self.get(key)?;
        describe(&mut thread.metadata, change);
        thread.updated = thread.updated.max(time);
        Ok(())
    }

    /// `Store::put_checkpoint`, of a run where this was said.
    ///
    /// # Errors
    /// Those of a store.
    pub fn put_checkpoint(
        &mut self,
        key: &ThreadKey,
        checkpoint: Checkpoint,
        said: &str,
    ) -> Result<(), Error> {
        let run = self.get(key)?.run(checkpoint.run)?;
        run.must_have_ended()?;
        run.checkpoint = Some((checkpoint, words(said)));
        Ok(())
    }

    /// `Store::trim`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn trim(&mut self, key: &ThreadKey, first: u64) -> Result<(), Error> {
        let tail = self.tail(key);
        let thread = self.get(key)?;
        if first > tail {
            return Err(Error::BeyondTail { offset: first, tail });
        }
        thread.first = thread.first.max(first);
        Ok(())
    }

    /// `Store::compact_run`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn compact_run(&mut self, key: &ThreadKey, no: RunNo) -> Result<(), Error> {
        let thread = self.get(key)?;
        let run = thread.run(no)?;
        run.must_have_ended()?;
        if run.checkpoint.is_none() {
            return Err(invalid());
        }
        run.compacted = true;
        for entry in &mut thread.log {
            entry.compacted |= entry.record.run == no;
        }
        Ok(())
    }

    /// `Store::delete`.
    ///
    /// # Errors
    /// Those of a store.
    pub fn delete(&mut self, key: &ThreadKey) -> Result<(), Error> {
        self.get(key)?;
        self.threads.remove(key);
        Ok(())
    }

    /// All records that `Store::read` gives, page by page.
    ///
    /// # Errors
    /// Those of a store.
    pub fn read(
        &mut self,
        key: &ThreadKey,
        offsets: &Range<u64>,
        run: Option<RunNo>,
    ) -> Result<Vec<Record>, Error> {
        let mut records = self.get(key)?.records();
        records.retain(|record| offsets.contains(&record.offset) && run.is_none_or(|run| run == record.run));
        Ok(records)
    }

    /// `Store::threads`.
    #[must_use]
    pub fn threads(&self, query: &ThreadQuery) -> Vec<ThreadInfo> {
        let place = |updated: Timestamp, key: &ThreadKey| match query.order {
            ThreadOrder::Updated => (Reverse(updated), key.clone()),
            ThreadOrder::Name => (Reverse(Timestamp(0)), key.clone()),
        };
        let order = |thread: &ThreadInfo| place(thread.updated, &thread.key);
        let mut found = Vec::new();
        for (key, thread) in &self.threads {
            let info = thread.info(key);
            let metadata = &info.metadata;
            let label = |(label, value)| metadata.labels.get(label) == Some(value);
            let fits = query.scope.as_ref().is_none_or(|scope| *scope == key.scope)
                && query.archived.is_none_or(|archived| archived == metadata.archived)
                && (query.agent.is_none() || query.agent == metadata.agent)
                && query.labels.iter().all(label)
                && query.words.as_ref().is_none_or(|wanted| words(wanted).is_subset(&thread.words()));
            let after = query.after.as_ref();
            if fits && after.is_none_or(|after| place(after.updated, &after.key) < order(&info)) {
                found.push(info);
            }
        }
        found.sort_by_key(order);
        found.truncate(query.limit);
        found
    }

    /// All that can be seen.
    #[must_use]
    pub fn view(&self, keys: &[ThreadKey], time: Timestamp) -> View {
        let view = |key: &ThreadKey| self.threads.get(key).map(|thread| thread.view(key));
        let mut expired = BTreeSet::new();
        for (key, thread) in &self.threads {
            for (no, run) in (0..).zip(&thread.runs) {
                if run.end.is_none() && run.lease_until <= time {
                    expired.insert((key.clone(), RunNo(no)));
                }
            }
        }
        let all = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        View { threads: keys.iter().map(view).collect(), listed: self.threads(&all), expired }
    }
}

impl Thread {
    fn run(&mut self, run: RunNo) -> Result<&mut Run, Error> {
        self.runs.get_mut(run.index()).ok_or_else(no_run)
    }

    fn take(&mut self, run: RunNo, records: Vec<NewRecord>) -> Ack {
        let (first, count, time) = (self.log.len() as u64, records.len() as u64, self.updated);
        for NewRecord { kind, bytes } in records {
            let offset = self.log.len() as u64;
            self.log.push(Entry { record: Record { offset, time, run, kind, bytes }, compacted: false });
        }
        Ack { first, count, time, repeated: false }
    }

    fn records(&self) -> Vec<Record> {
        let left = self.log.iter().filter(|entry| !entry.compacted && entry.record.offset >= self.first);
        left.map(|entry| entry.record.clone()).collect()
    }

    fn words(&self) -> BTreeSet<String> {
        let mut all = words(self.metadata.name.as_deref().unwrap_or_default());
        all.extend(
            self.runs.iter().filter_map(|run| run.checkpoint.as_ref()).flat_map(|(_, said)| said.clone()),
        );
        all
    }

    fn info(&self, key: &ThreadKey) -> ThreadInfo {
        let status = |run: &Run| run.end.as_ref().map_or(RunStatus::Running, |(end, _)| end.status);
        let runs = small(self.runs.len());
        ThreadInfo {
            key: key.clone(),
            incarnation: self.incarnation,
            offsets: self.first..self.log.len() as u64,
            metadata: self.metadata.clone(),
            created: self.created,
            updated: self.updated,
            runs,
            last_run: self.runs.last().map(|run| (RunNo(runs - 1), status(run))),
            bytes: self.log.iter().map(|entry| entry.record.bytes.len() as u64).sum(),
        }
    }

    fn view(&self, key: &ThreadKey) -> ThreadView {
        let records = self.records();
        let run_view = |(no, run): (u32, &Run)| {
            let of_run = records.iter().filter(|record| record.run == RunNo(no));
            RunView {
                info: self.run_info(RunNo(no), run),
                request: run.opened.request.clone(),
                checkpoint: run.checkpoint.as_ref().map(|(checkpoint, _)| checkpoint.clone()),
                records: of_run.cloned().collect(),
            }
        };
        let runs = (0..).zip(&self.runs).map(run_view).collect();
        ThreadView { info: self.info(key), runs, records }
    }

    fn run_info(&self, no: RunNo, run: &Run) -> RunInfo {
        let ever = self.log.iter().map(|entry| &entry.record).filter(|record| record.run == no);
        let ever: Vec<u64> = ever.map(|record| record.offset).collect();
        let first = ever.first().copied().unwrap_or(run.tail_at_start);
        RunInfo {
            no,
            id: run.opened.id.clone(),
            parent: run.opened.parent,
            spawned_by: run.opened.spawned_by.clone(),
            base_state: run.opened.base_state,
            request_digest: run.opened.request_digest.clone(),
            offsets: first..ever.last().map_or(first, |last| last + 1),
            records: ever.len() as u64,
            started: run.started,
            ended: run.end.as_ref().map(|(_, time)| *time),
            ended_at: run.ended_at,
            end: run.end.as_ref().map(|(end, _)| end.clone()),
            epoch: run.epoch,
            lease_until: run.lease_until,
            lineage: run.checkpoint.as_ref().map(|(checkpoint, _)| checkpoint.lineage.clone()),
            compacted: run.compacted,
        }
    }
}

impl Run {
    fn must_have_ended(&self) -> Result<(), Error> {
        if self.end.is_none() { Err(Error::RunActive(self.opened.id.clone())) } else { Ok(()) }
    }
}

fn describe(metadata: &mut Metadata, change: &MetadataChange) {
    metadata.name = change.name.clone().or(metadata.name.take());
    metadata.agent = change.agent.clone().or(metadata.agent.take());
    metadata.archived = change.archived.unwrap_or(metadata.archived);
    for (label, value) in &change.labels {
        metadata.labels.remove(label);
        metadata.labels.extend(value.iter().map(|value| (label.clone(), value.clone())));
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).expect("few runs")
}
