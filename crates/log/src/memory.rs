//! A store in memory: for tests, and for those who want nothing to last.

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::fact::Fact;
use crate::kin::{Kin, Sought};
use crate::names::{Epoch, Incarnation, RunNo, Scope, ThreadKey, Timestamp};
use crate::record::{NewRecord, Record};
use crate::run::RunInfo;
use crate::search;
use crate::state::{Admission, Admitted, ThreadState};
use crate::store::{Ack, Append, Appending, Claim, OpenRun, Opened, Page, Store, ThreadSeen};
use crate::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    threads: HashMap<ThreadKey, Thread>,
    closed: bool,
}

#[derive(Debug)]
struct Thread {
    state: ThreadState,
    records: BTreeMap<u64, Record>,
    requests: Vec<Bytes>,
    checkpoints: HashMap<RunNo, Checkpoint>,
    words: HashMap<RunNo, BTreeSet<String>>,
}

impl Thread {
    fn new(state: ThreadState) -> Self {
        Self {
            state,
            records: BTreeMap::new(),
            requests: Vec::new(),
            checkpoints: HashMap::new(),
            words: HashMap::new(),
        }
    }

    fn write(&mut self, admitted: &Admitted, records: Vec<NewRecord>) -> Ack {
        let Admitted { run, first, time, .. } = *admitted;
        for fact in &admitted.before {
            self.state.apply(time, fact);
        }
        let count = records.len() as u64;
        let bytes = records.iter().map(|record| record.bytes.len() as u64).sum();
        for (offset, NewRecord { kind, bytes }) in (first..).zip(records) {
            self.records.insert(offset, Record { offset, time, run, kind, bytes });
        }
        self.state.apply_records(run, first, count, bytes, time);
        for fact in &admitted.after {
            self.state.apply(time, fact);
        }
        Ack { first, count, time, repeated: false }
    }

    fn has_words(&self, wanted: &str) -> bool {
        let name = self.state.info().metadata.name.unwrap_or_default();
        let named: BTreeSet<String> = search::words(&name).collect();
        search::words(wanted)
            .all(|word| named.contains(&word) || self.words.values().any(|words| words.contains(&word)))
    }
}

impl MemoryStore {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing here panics half way.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs_that(&self, is_one: impl Fn(&RunInfo) -> bool) -> Vec<(ThreadKey, RunNo)> {
        let inner = self.lock();
        let mut found = Vec::new();
        for (key, thread) in &inner.threads {
            let runs = thread.state.runs().iter().filter(|run| is_one(run));
            found.extend(runs.map(|run| (key.clone(), run.no)));
        }
        found.sort();
        found
    }

    fn look<T>(&self, key: &ThreadKey, f: impl FnOnce(&Thread) -> Result<T, Error>) -> Result<T, Error> {
        let inner = self.lock();
        f(inner.threads.get(key).ok_or_else(|| Error::NoThread(key.clone()))?)
    }

    fn change<T>(
        &self,
        key: &ThreadKey,
        f: impl FnOnce(&mut Thread) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut inner = self.lock();
        inner.may_write()?;
        f(inner.threads.get_mut(key).ok_or_else(|| Error::NoThread(key.clone()))?)
    }
}

impl Inner {
    fn may_write(&self) -> Result<(), Error> {
        if self.closed { Err(Error::Unavailable("the store is closed".to_owned())) } else { Ok(()) }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        let mut inner = self.lock();
        inner.may_write()?;
        let made = ThreadState::new(open.thread.clone(), open.incarnation, open.time);
        let known = inner.threads.get(&open.thread).map_or(&made, |thread| &thread.state);
        let admitted = known.admit_open(&open)?;
        let thread = inner.threads.entry(open.thread.clone()).or_insert_with(|| {
            let mut thread = Thread::new(made);
            thread.state.apply(open.time, &Fact::Described { change: open.metadata.clone() });
            thread
        });
        thread.requests.push(open.request);
        let ack = thread.write(&admitted, open.records);
        let incarnation = thread.state.incarnation();
        Ok(Opened { run: admitted.run, epoch: Epoch(1), incarnation, ack })
    }

    fn append(&self, append: Append) -> Appending {
        let appended =
            self.change(&append.thread.clone(), |thread| match thread.state.admit_append(&append)? {
                Admission::Repeated(ack) => Ok(ack),
                Admission::New(admitted) => Ok(thread.write(&admitted, append.records)),
            });
        Box::pin(ready(appended))
    }

    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        self.change(thread, |thread| {
            let fact = thread.state.admit_claim(run, epoch, claim, time)?;
            thread.state.apply(time, &fact);
            Ok(claim.epoch_after(epoch))
        })
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.change(thread, |thread| {
            thread.state.apply(thread.state.not_before(time), &Fact::Described { change });
            Ok(())
        })
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.change(thread, |thread| {
            let fact = thread.state.admit_checkpoint(first_of, &checkpoint)?;
            thread.state.apply(time, &fact);
            thread.words.insert(checkpoint.run, search::words_of_delta(&checkpoint.delta));
            thread.checkpoints.insert(checkpoint.run, checkpoint);
            Ok(())
        })
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error> {
        self.change(thread, |thread| {
            let fact = thread.state.admit_trim(first)?;
            thread.state.apply(time, &fact);
            thread.records = thread.records.split_off(&thread.state.first());
            Ok(())
        })
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error> {
        self.change(thread, |thread| {
            let fact = thread.state.admit_compact(run)?;
            thread.state.apply(time, &fact);
            thread.records.retain(|_, record| record.run != run);
            Ok(())
        })
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        _time: Timestamp,
    ) -> Result<(), Error> {
        let mut inner = self.lock();
        inner.may_write()?;
        let found = inner.threads.get(thread).ok_or_else(|| Error::NoThread(thread.clone()))?;
        found.state.admit_delete(seen)?;
        inner.threads.remove(thread);
        Ok(())
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        self.look(thread, |thread| Ok(thread.state.info()))
    }

    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        self.look(thread, |thread| Ok(thread.state.runs().to_vec()))
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.look(thread, |thread| thread.state.run(run).cloned())
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        self.look(thread, |thread| Ok(thread.state.kin(sought)))
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        self.look(thread, |thread| {
            thread.requests.get(run.index()).cloned().ok_or_else(|| Error::NoRun(run.0.to_string()))
        })
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        self.look(thread, |thread| Ok(thread.checkpoints.get(&run).cloned()))
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        self.look(thread, |thread| {
            let mut page = Page { records: Vec::new(), next: offsets.end };
            let mut bytes = 0;
            for record in thread.records.range(offsets.start..offsets.end.max(offsets.start)).map(|(_, r)| r)
            {
                if run.is_some_and(|run| run != record.run) {
                    continue;
                }
                if bytes >= bytes_max && !page.records.is_empty() {
                    page.next = record.offset;
                    break;
                }
                bytes += record.bytes.len();
                page.records.push(record.clone());
            }
            Ok(page)
        })
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        let inner = self.lock();
        let wanted = inner.threads.values().filter(|thread| {
            query.accepts(&thread.state.info())
                && query.words.as_ref().is_none_or(|words| thread.has_words(words))
        });
        let mut found: Vec<ThreadInfo> = wanted.map(|thread| thread.state.info()).collect();
        found.sort_by(|one, other| query.order.compare(one, other));
        found.truncate(query.limit);
        Ok(found)
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        let inner = self.lock();
        let of_scope = inner.threads.iter().filter(|(key, _)| key.scope == *scope);
        Ok(Usage::of(of_scope.map(|(_, thread)| thread.state.bytes())))
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        Ok(self.runs_that(|run| run.is_running() && run.lease_until <= time))
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        Ok(self.runs_that(RunInfo::is_unfolded))
    }

    async fn tidy(&self) -> Result<(), Error> {
        Ok(())
    }

    fn tidy_every(&self) -> Duration {
        Duration::from_hours(1)
    }

    fn trouble(&self) -> Option<String> {
        self.lock().may_write().err().map(|error| error.to_string())
    }

    fn ailments(&self) -> Vec<String> {
        Vec::new()
    }

    async fn close(&self) {
        self.lock().closed = true;
    }
}
