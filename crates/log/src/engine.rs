//! The engine: what a server does with threads, on any store.

use crate::appending::{Checkpointing, Shown, Then};
use crate::clock::{Clock, Ids};
use crate::delivery::{Delivery, last_event};
use crate::error::Error;
use crate::follow::Follower;
use crate::kin::Sought;
use crate::names::{AppendKey, Epoch, Incarnation, RunId, RunNo, ThreadKey, Timestamp};
use crate::opening::ATTEMPTS_MAX;
use crate::record::{NewRecord, Record};
use crate::run::{RunEnd, RunInfo};
use crate::store::{Ack, Append, Claim, Page, Store, ThreadSeen};
use crate::tail::Tails;
use crate::thread::{MetadataChange, ThreadInfo, ThreadQuery};
use crate::to_its_end::{ToItsEnd, to_its_end};
use crate::upkeep::Upkeep;
use std::ops::Range;
use std::sync::Arc;
use threadline_protocol::Event;
use threadline_protocol::event::RunError;
use threadline_protocol::stages::close::Cause;
use tokio::sync::broadcast;
use tokio::task::JoinSet;

/// How many changes of threads a listener may be behind before it has to list anew.
const CHANGES_MAX: usize = 1024;

/// How many orphaned runs are closed at once, so that they share syncs: a server that was killed may leave thousands, and is not
/// ready before they are closed.
const ORPHANS_AT_ONCE_MAX: usize = 256;

/// What the engine can be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// For how long a run is its writer's, unless it is renewed.
    pub lease_ms: i64,
    /// After so many runs of a branch what it holds is kept in full, so that history need not go back further.
    pub full_checkpoint_runs_max: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { lease_ms: 6_000, full_checkpoint_runs_max: 16 }
    }
}

/// Threads, on a store. Clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    options: Options,
    tails: Tails,
    upkeep: Upkeep,
    changes: broadcast::Sender<ThreadChange>,
}

/// Something that lists of threads show has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadChange {
    /// A thread was made, described or trimmed, or a run of it was opened or ended.
    Changed(ThreadKey),
    /// A thread was deleted.
    Deleted(ThreadKey),
    /// Others have changed something, and it is not known what: whoever shows a list lists anew.
    Missed,
}

/// Who writes a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWriter {
    /// The thread.
    pub thread: ThreadKey,
    /// Which thread of that name.
    pub incarnation: Incarnation,
    /// The run.
    pub run: RunNo,
    /// The generation of this writer.
    pub epoch: Epoch,
}

/// A batch to be appended.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The records, at least one.
    pub records: Vec<NewRecord>,
    /// Makes a repetition land once, as long as the run goes on and [`KEYS_KEPT_MS`](crate::store::KEYS_KEPT_MS) longer.
    pub key: Option<AppendKey>,
    /// Where the caller thinks that the tail is.
    pub expected_tail: Option<u64>,
    /// How the run ends with these records, if it does: [`RunEnd::of`] the terminal event.
    pub end: Option<RunEnd>,
}

impl From<Vec<NewRecord>> for Batch {
    fn from(records: Vec<NewRecord>) -> Self {
        Self { records, ..Self::default() }
    }
}

impl Engine {
    /// On a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>, options: Options) -> Self {
        let (changes, _) = broadcast::channel(CHANGES_MAX);
        let (tails, upkeep) = (Tails::default(), Upkeep::default());
        Self { inner: Arc::new(Inner { store, clock, ids, options, tails, upkeep, changes }) }
    }

    /// Where the records are.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    pub(crate) fn tails(&self) -> &Tails {
        &self.inner.tails
    }

    pub(crate) fn upkeep(&self) -> &Upkeep {
        &self.inner.upkeep
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(crate) fn ids(&self) -> &dyn Ids {
        &*self.inner.ids
    }

    /// For how long a run is its writer's, unless it is renewed.
    #[must_use]
    pub fn lease_ms(&self) -> i64 {
        self.options().lease_ms
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn lease_until(&self) -> Timestamp {
        Timestamp(self.now().0.saturating_add(self.inner.options.lease_ms))
    }

    pub(crate) fn changed(&self, change: ThreadChange) {
        // Nobody need listen.
        let _ = self.inner.changes.send(change);
    }

    /// Changes of threads from now on. A listener that falls behind is told so, and lists anew.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<ThreadChange> {
        self.inner.changes.subscribe()
    }

    /// Appends to a run. Durable when it returns, and seen by followers from then on.
    ///
    /// # Errors
    /// As [`Store::append`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the append goes on without its caller: the records may or may not be appended, and with a key it
    /// can be repeated. Those who follow the thread hear of all that becomes durable.
    pub fn append(
        &self,
        writer: &RunWriter,
        batch: Batch,
    ) -> impl Future<Output = Result<Ack, Error>> + Send + 'static {
        self.append_at(writer, batch, self.now())
    }

    /// The same for records that were taken in at another time.
    pub(crate) fn append_at(
        &self,
        writer: &RunWriter,
        batch: Batch,
        time: Timestamp,
    ) -> impl Future<Output = Result<Ack, Error>> + Send + 'static {
        self.append_and(writer, batch, time, Checkpointing::Now)
    }

    fn append_and(
        &self,
        writer: &RunWriter,
        batch: Batch,
        time: Timestamp,
        checkpointing: Checkpointing,
    ) -> impl Future<Output = Result<Ack, Error>> + Send + 'static {
        let Batch { records, key, expected_tail, end } = batch;
        let then = Then {
            incarnation: writer.incarnation,
            run: writer.run,
            records: self.tails().is_followed(writer.incarnation).then(|| records.clone()),
            ended: end.is_some().then(|| (writer.thread.clone(), checkpointing)),
        };
        let append = Append {
            thread: writer.thread.clone(),
            incarnation: Some(writer.incarnation),
            run: writer.run,
            epoch: writer.epoch,
            records,
            key,
            expected_tail,
            end: end.map(Box::new),
            time,
        };
        let work = self.store().append(append);
        ToItsEnd::new(Shown { engine: self.clone(), work, then: Some(then) })
    }

    /// Shows durable records to those who follow the thread. If they began to follow while these were written, they find
    /// them in the store.
    pub(crate) fn publish(
        &self,
        thread: Incarnation,
        run: RunNo,
        ack: &Ack,
        records: Option<Vec<NewRecord>>,
    ) {
        // Whoever appended them the first time may have gone before they were shown.
        match records.filter(|_| !ack.repeated) {
            Some(records) => {
                let placed = (ack.first..).zip(records).map(|(offset, NewRecord { kind, bytes })| Record {
                    offset,
                    time: ack.time,
                    run,
                    kind,
                    bytes,
                });
                self.tails().publish(thread, placed.collect());
            }
            None => self.tails().reach(thread, ack.offsets().end),
        }
    }

    /// Renews the lease of a run.
    ///
    /// # Errors
    /// If the run has ended or somebody else has it.
    pub async fn renew(&self, writer: &RunWriter) -> Result<(), Error> {
        if self.store().thread(&writer.thread).await?.incarnation != writer.incarnation {
            return Err(Error::OtherIncarnation(writer.thread.clone()));
        }
        let claim = Claim::Renew(self.lease_until());
        self.store().claim(&writer.thread, writer.run, writer.epoch, claim, self.now()).await.map(|_| ())
    }

    /// Takes a run from whoever writes it, to end it: from now on only the one who asked can write it.
    ///
    /// # Errors
    /// If the run has ended, or somebody else takes it at the same time.
    pub async fn seize(&self, thread: &ThreadKey, run: RunNo) -> Result<RunWriter, Error> {
        let incarnation = self.store().thread(thread).await?.incarnation;
        let epoch = self.run(thread, run).await?.epoch;
        let claim = Claim::Seize(self.lease_until());
        let epoch = self.store().claim(thread, run, epoch, claim, self.now()).await?;
        Ok(RunWriter { thread: thread.clone(), incarnation, run, epoch })
    }

    /// Ends a run in its source's place: what is open is closed, and the terminal event says why.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub async fn end_run(&self, writer: &RunWriter, cause: Cause) -> Result<Ack, Error> {
        self.close_run(writer, cause, None, Checkpointing::Now).await
    }

    /// Ends a run that has failed, with an error that says how.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub async fn fail_run(&self, writer: &RunWriter, error: RunError<'static>) -> Result<Ack, Error> {
        self.close_run(writer, Cause::Failed, Some(error), Checkpointing::Now).await
    }

    async fn close_run(
        &self,
        writer: &RunWriter,
        cause: Cause,
        error: Option<RunError<'static>>,
        checkpointing: Checkpointing,
    ) -> Result<Ack, Error> {
        let events = match self.delivered(&writer.thread, writer.run).await {
            Ok(delivery) => delivery.ending(cause, error),
            // What is open cannot be known any more, but the run must not go on for ever.
            Err(Error::Corrupt { .. }) => vec![last_event(cause, error)],
            Err(error) => return Err(error),
        };
        let end = events.last().and_then(RunEnd::of);
        let made = |event: &Event<'_>| NewRecord::made(event.to_json().into_bytes());
        let records = events.iter().map(made).collect();
        self.append_and(writer, Batch { records, end, ..Batch::default() }, self.now(), checkpointing).await
    }

    /// Where those are who have read all that there is of a run. What is open in it does not depend on what its branch held before.
    async fn delivered(&self, thread: &ThreadKey, run: RunNo) -> Result<Delivery, Error> {
        let run = self.run(thread, run).await?;
        let mut delivery = Delivery::new(&thread.thread, &run.id);
        self.each_record(thread, &run, u64::MAX, |record| {
            delivery.push(record.kind, &record.bytes);
        })
        .await?;
        Ok(delivery)
    }

    /// Closes the runs whose leases are over: their writers are gone. There may be thousands, and clients wait until they are closed, so
    /// that their checkpoints are left to [`keep_missing_checkpoint`](Self::keep_missing_checkpoint).
    ///
    /// # Errors
    /// As [`Store::expired`]. A run that cannot be closed is left to the next time.
    pub async fn close_expired(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.close_expired_but(|_, _| false).await
    }

    /// The same, but for those that the caller knows the writers of. Where a clock has jumped, leases are over before their time.
    ///
    /// # Errors
    /// As [`close_expired`](Self::close_expired).
    pub async fn close_expired_but(
        &self,
        is_written: impl Fn(Incarnation, RunNo) -> bool + Send + Sync + 'static,
    ) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.close_orphans_at(self.now(), Arc::new(is_written)).await
    }

    /// Closes all runs that go on. For who has a store alone and has just opened it, before anything else is done: whoever
    /// wrote these runs is gone, though their leases may not be over. Their checkpoints are left to
    /// [`keep_missing_checkpoint`](Self::keep_missing_checkpoint).
    ///
    /// # Errors
    /// As [`Store::expired`]. A run that cannot be closed is left to the next time.
    pub async fn close_orphans(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.close_orphans_at(Timestamp(i64::MAX), Arc::new(|_, _| false)).await
    }

    async fn close_orphans_at(
        &self,
        time: Timestamp,
        is_written: Arc<impl Fn(Incarnation, RunNo) -> bool + Send + Sync + 'static>,
    ) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        let mut closed = Vec::new();
        let mut closing = JoinSet::new();
        for orphan in self.store().expired(time).await? {
            if closing.len() == ORPHANS_AT_ONCE_MAX {
                closed.extend(closing.join_next().await.and_then(Result::ok).flatten());
            }
            let (engine, is_written) = (self.clone(), Arc::clone(&is_written));
            closing.spawn(async move {
                let (thread, run) = &orphan;
                let incarnation = engine.store().thread(thread).await.ok()?.incarnation;
                if is_written(incarnation, *run) {
                    return None;
                }
                engine.close_orphan(thread, incarnation, *run, time).await.is_ok().then_some(orphan)
            });
        }
        while let Some(ended) = closing.join_next().await {
            closed.extend(ended.ok().flatten());
        }
        closed.sort_unstable();
        Ok(closed)
    }

    async fn close_orphan(
        &self,
        thread: &ThreadKey,
        incarnation: Incarnation,
        run: RunNo,
        time: Timestamp,
    ) -> Result<(), Error> {
        let epoch = self.run(thread, run).await?.epoch;
        // Whoever notices first takes it over; another who tries has a stale epoch.
        let claim = Claim::TakeOver(self.lease_until());
        let epoch = self.store().claim(thread, run, epoch, claim, time).await?;
        let writer = RunWriter { thread: thread.clone(), incarnation, run, epoch };
        self.close_run(&writer, Cause::Abandoned, None, Checkpointing::Later).await.map(|_| ())
    }

    /// Records of a range of offsets, in order, of one run or of all.
    ///
    /// # Errors
    /// If the first of them was trimmed or compacted.
    pub async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        let info = self.store().thread(thread).await?;
        let end = offsets.end.min(info.offsets.end);
        let range = offsets.start..end.max(offsets.start);
        let page = self.store().read(thread, range.clone(), run, bytes_max).await?;
        // Where the first one is not there, the question is why.
        if !range.is_empty() && page.records.first().is_none_or(|first| first.offset != range.start) {
            self.check_readable(thread, range.start).await?;
        }
        Ok(page)
    }

    /// The first offset whose record was taken in at this time or later; the tail, if there is none.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub async fn offset_at(&self, thread: &ThreadKey, time: Timestamp) -> Result<u64, Error> {
        let Range { start: mut low, end: mut high } = self.store().thread(thread).await?.offsets;
        // The first record at `high` or later: what was compacted lies between.
        let mut found = high;
        // Times never go back within a thread.
        while low < high {
            let middle = low + (high - low) / 2;
            let page = self.store().read(thread, middle..high, None, 1).await?;
            match page.records.first() {
                Some(record) if record.time < time => low = record.offset + 1,
                first => {
                    found = first.map_or(found, |record| record.offset);
                    high = middle;
                }
            }
        }
        Ok(found)
    }

    /// The first offset whose record was taken in after this time; the tail, if there is none.
    ///
    /// # Errors
    /// If records that may have been taken in after it were trimmed or compacted.
    pub async fn offset_after(&self, thread: &ThreadKey, time: Timestamp) -> Result<u64, Error> {
        let found = self.offset_at(thread, Timestamp(time.0.saturating_add(1))).await?;
        let Some(last) = found.checked_sub(1) else { return Ok(found) };
        match self.check_readable(thread, last).await {
            // All of it was over by then.
            Err(Error::Compacted { run, .. })
                if self.run_named(thread, &run).await?.ended.is_some_and(|ended| ended <= time) =>
            {
                Ok(found)
            }
            readable => readable.map(|()| found),
        }
    }

    /// Whether an offset can still be read.
    pub(crate) async fn check_readable(&self, thread: &ThreadKey, offset: u64) -> Result<(), Error> {
        let first = self.store().thread(thread).await?.offsets.start;
        if offset < first {
            return Err(Error::Trimmed { offset, first });
        }
        let page = self.store().read(thread, offset..offset + 1, None, 1).await?;
        if !page.records.is_empty() {
            return Ok(());
        }
        let runs = self.store().runs(thread).await?;
        match runs.into_iter().find(|run| run.compacted && run.offsets.contains(&offset)) {
            Some(run) => Err(Error::Compacted { run: run.id, offset }),
            None => Ok(()),
        }
    }

    /// Follows a thread from an offset on.
    ///
    /// # Errors
    /// If there is no such thread, or another one of that name than the one with this incarnation; or if the offset lies
    /// beyond the tail, or its record was trimmed or compacted.
    pub async fn follow(
        &self,
        thread: &ThreadKey,
        incarnation: Option<Incarnation>,
        from: u64,
    ) -> Result<Follower, Error> {
        Follower::open(self, thread, incarnation, from).await
    }

    /// How many followers of a thread there are in this process.
    #[must_use]
    pub fn followers(&self, thread: Incarnation) -> usize {
        self.tails().followers(thread)
    }

    /// What is known about a run.
    ///
    /// # Errors
    /// If there is none.
    pub async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.store().run(thread, run).await
    }

    /// The run with this id.
    ///
    /// # Errors
    /// If there is none.
    pub async fn run_named(&self, thread: &ThreadKey, id: &RunId) -> Result<RunInfo, Error> {
        let kin = self.store().kin(thread, &Sought::default().with_run(id.clone())).await?;
        let run = kin.runs.get(id).copied().ok_or_else(|| Error::NoRun(id.to_string()))?;
        self.run(thread, run).await
    }

    /// Changes what is said about a thread.
    ///
    /// # Errors
    /// As [`Store::describe`].
    pub async fn describe(&self, thread: &ThreadKey, change: MetadataChange) -> Result<(), Error> {
        let (engine, thread) = (self.clone(), thread.clone());
        to_its_end(async move {
            engine.store().describe(&thread, change, engine.now()).await?;
            engine.changed(ThreadChange::Changed(thread));
            Ok(())
        })
        .await
    }

    /// Threads, the last that was updated first.
    ///
    /// # Errors
    /// As [`Store::threads`].
    pub async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        self.store().threads(query).await
    }

    /// Deletes a thread. Those who follow it are cut off.
    ///
    /// # Errors
    /// If a run of it goes on.
    ///
    /// # Cancel safety
    /// Once begun, it is done to its end: those who follow would wait for ever.
    pub async fn delete(&self, thread: &ThreadKey) -> Result<(), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let seen = self.store().thread(thread).await?;
            match self.delete_as_seen(&seen).await {
                // Perhaps by a run that another instance has opened.
                Err(Error::ThreadChanged(_)) => {}
                outcome => return outcome,
            }
        }
        Err(Error::ThreadChanged(thread.clone()))
    }

    /// Deletes a thread to which nothing has happened since it was seen.
    pub(crate) async fn delete_as_seen(&self, seen: &ThreadInfo) -> Result<(), Error> {
        let (engine, thread) = (self.clone(), seen.key.clone());
        let seen = ThreadSeen::from(seen);
        to_its_end(async move {
            let _upkeep = engine.upkeep().of(&thread).await;
            if let Some(run) = engine.store().runs(&thread).await?.into_iter().find(RunInfo::is_running) {
                return Err(Error::RunActive(run.id));
            }
            engine.store().delete(&thread, Some(seen), engine.now()).await?;
            engine.forgotten(&thread, seen.incarnation);
            Ok(())
        })
        .await
    }

    /// Tells everybody that a thread was deleted.
    pub(crate) fn forgotten(&self, thread: &ThreadKey, incarnation: Incarnation) {
        self.tails().delete(incarnation);
        self.changed(ThreadChange::Deleted(thread.clone()));
    }
}
