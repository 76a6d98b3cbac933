//! The store.

use crate::chores::{keep_catalogue, keep_sealing};
use crate::engine::Engine;
use crate::entry::{Attached, CHECKPOINT, FactEntry, OPENED};
use crate::open::{DiskOptions, OpenError, OpenReport, open};
use crate::overlay::View;
use async_trait::async_trait;
use bytes::Bytes;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use threadline_log::fact::Fact;
use threadline_log::kin::{Kin, Sought};
use threadline_log::run::RunInfo;
use threadline_log::state::ThreadState;
use threadline_log::store::{Append, Appending, Claim, OpenRun, Opened, Page, ThreadSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use threadline_log::{Checkpoint, Epoch, Error, Incarnation, RunNo, Scope, Store, ThreadKey, Timestamp};

/// A store in a directory.
#[derive(Debug)]
pub struct DiskStore {
    pub(crate) engine: Arc<Engine>,
    background: Mutex<Vec<JoinHandle<()>>>,
}

impl DiskStore {
    /// How often it is tidied up. Segments are sealed when they are full; to seal and erase what is in the last one means to go on in
    /// another, for which a whole segment of zeros is written.
    pub const TIDY_EVERY: Duration = Duration::from_mins(10);

    /// Opens a store, or makes one.
    ///
    /// Whoever executed the runs that went on when it was last used is gone: the engine closes them
    /// ([`threadline_log::Engine::close_orphans`]).
    ///
    /// # Errors
    /// If another process has it open, it is of a newer format, or its files cannot be used. Damage to data is no error, but told in the
    /// report and to who reads them.
    pub fn open(options: &DiskOptions) -> Result<(Self, OpenReport), OpenError> {
        let (engine, report) = open(options)?;
        let store = Self { engine: Arc::new(engine), background: Mutex::default() };
        for (name, work) in
            [("store-catalogue", keep_catalogue as fn(&_, &_)), ("store-sealing", keep_sealing)]
        {
            let (core, engine) = (Arc::clone(&store.engine.core), Arc::downgrade(&store.engine));
            let builder = std::thread::Builder::new().name(name.to_owned());
            let thread = builder.spawn(move || work(&core, &engine))?;
            store.background.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok((store, report))
    }

    /// Whether it takes no more writes because there was no room for one. It may be opened anew when there is.
    #[must_use]
    pub fn was_full(&self) -> bool {
        let is_full = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        self.engine.journal.failure().is_some_and(|failure| is_full(failure.error.kind()))
    }

    /// What lists leave out because it is damaged in the catalogue, which is made anew when the store is next opened. What the log has of
    /// these threads can be read then.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        self.engine.catalogue.damages()
    }

    fn stop(&self) {
        self.engine.core.chores.stop();
        let threads = std::mem::take(&mut *self.background.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Its panic was printed, and what it did not do is done when the store is opened again.
            _ = thread.join();
        }
    }

    /// Looks at a thread as readers see it.
    async fn see<T>(
        &self,
        key: &ThreadKey,
        f: impl Fn(u64, &ThreadState) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let looked = self.engine.look(key, View::Durable, |overlay, no| {
            let known = no.and_then(|no| Some((no, overlay.state(no, View::Durable)?)));
            let (no, state) = known.ok_or_else(|| Error::NoThread(key.clone()))?;
            f(no, state)
        });
        looked.await?
    }

    /// The last fact of a kind about a run that there is.
    async fn fact(&self, key: &ThreadKey, kind: u8, run: RunNo) -> Result<Option<FactEntry>, Error> {
        let no = self.see(key, |no, _| Ok(no)).await?;
        self.engine.in_background(move |engine| engine.fact(no, kind, run)).await?
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.stop();
    }
}

fn unreadable(key: &ThreadKey, run: RunNo, error: &crate::entry::EntryError) -> Error {
    Error::Corrupt { place: format!("thread={key}, run={}", run.0), what: error.to_string() }
}

#[async_trait]
impl Store for DiskStore {
    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        self.engine.open_run(open).await
    }

    fn append(&self, append: Append) -> Appending {
        self.engine.append(append)
    }

    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        let admit = |state: &ThreadState| Ok((time, state.admit_claim(run, epoch, claim, time)?));
        self.engine.state_fact(thread, &Attached::default(), &Bytes::new(), admit).await?;
        Ok(claim.epoch_after(epoch))
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        let admit =
            |state: &ThreadState| Ok((state.not_before(time), Fact::Described { change: change.clone() }));
        self.engine.state_fact(thread, &Attached::default(), &Bytes::new(), admit).await
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        let full = checkpoint.full.as_deref().unwrap_or_default();
        let attached = match full.is_empty() {
            true => checkpoint.delta.clone(),
            false => [&checkpoint.delta[..], full].concat().into(),
        };
        let attached = Attached::new(attached);
        let admit = |state: &ThreadState| Ok((time, state.admit_checkpoint(first_of, &checkpoint)?));
        self.engine.state_fact(thread, &attached, &checkpoint.delta, admit).await
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error> {
        let admit = |state: &ThreadState| Ok((time, state.admit_trim(first)?));
        self.engine.state_fact(thread, &Attached::default(), &Bytes::new(), admit).await
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error> {
        let admit = |state: &ThreadState| Ok((time, state.admit_compact(run)?));
        self.engine.state_fact(thread, &Attached::default(), &Bytes::new(), admit).await
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        time: Timestamp,
    ) -> Result<(), Error> {
        let admit = |state: &ThreadState| Ok((state.not_before(time), state.admit_delete(seen)?));
        self.engine.state_fact(thread, &Attached::default(), &Bytes::new(), admit).await
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        self.see(thread, |_, state| Ok(state.info())).await
    }

    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        self.see(thread, |_, state| Ok(state.runs().to_vec())).await
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.see(thread, |_, state| state.run(run).cloned()).await
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        self.see(thread, |_, state| Ok(state.kin(sought))).await
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        self.see(thread, |_, state| state.run(run).map(|_| ())).await?;
        let missing = || Error::Corrupt {
            place: format!("thread={thread}, run={}", run.0),
            what: "the request is missing".to_owned(),
        };
        let fact = self.fact(thread, OPENED, run).await?.ok_or_else(missing)?;
        fact.attached().map_err(|error| unreadable(thread, run, &error))
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        let Some(entry) = self.fact(thread, CHECKPOINT, run).await? else { return Ok(None) };
        let failed = |error| unreadable(thread, run, &error);
        let bytes = entry.attached().map_err(failed)?;
        let Fact::Checkpointed { run, version, delta_bytes, stands_alone, lineage, chained } =
            entry.fact().map_err(failed)?
        else {
            return Ok(None);
        };
        let delta_bytes = usize::try_from(delta_bytes).unwrap_or(usize::MAX).min(bytes.len());
        let full = Some(bytes.slice(delta_bytes..)).filter(|full| !full.is_empty());
        let delta = bytes.slice(..delta_bytes);
        Ok(Some(Checkpoint { run, version, delta, stands_alone, full, lineage, chained }))
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        loop {
            let no = self.see(thread, |no, _| Ok(no)).await?;
            let (key, offsets) = (thread.clone(), offsets.clone());
            let read = move |engine: &Arc<Engine>| engine.read(&key, no, offsets, run, bytes_max);
            match self.engine.in_background(read).await? {
                // It was put away meanwhile, or deleted: who looks again will see.
                Err(Error::NoThread(_)) => {}
                page => return page,
            }
        }
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        let query = query.clone();
        let list = move |engine: &Arc<Engine>| {
            // What was durable before the call is in the list.
            engine.flush()?;
            engine.catalogue.list(&query)
        };
        Ok(self.engine.in_background(list).await??)
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        let known = self.engine.core.overlay().usages.get(scope);
        if let Some(usage) = known {
            return Ok(usage);
        }
        let scope = scope.clone();
        Ok(self.engine.in_background(move |engine| engine.count_usage(&scope)).await??)
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        Ok(self.engine.core.overlay().expired(time))
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        let list = |engine: &Arc<Engine>| {
            engine.flush()?;
            engine.catalogue.unfolded()
        };
        Ok(self.engine.in_background(list).await??)
    }

    async fn tidy(&self) -> Result<(), Error> {
        self.engine.core.chores.tidy().await
    }

    fn tidy_every(&self) -> Duration {
        Self::TIDY_EVERY
    }

    fn trouble(&self) -> Option<String> {
        self.engine.trouble()
    }

    fn ailments(&self) -> Vec<String> {
        let mut lines = self.engine.ailments.lines();
        let damages = self.engine.catalogue.damages();
        lines.extend(
            damages
                .iter()
                .map(|what| format!("{what}; the catalogue is made anew when the store is next opened")),
        );
        let background = self.engine.journal.health().background;
        lines.extend(
            background
                .map(|why| format!("the journal's next segment or a sidecar cannot be prepared: {why}")),
        );
        lines
    }

    async fn close(&self) {
        self.engine.core.chores.stop();
        let closed = self.engine.in_background(|engine| {
            // What was committed is durable, whatever becomes of this.
            _ = engine.journal.close();
            _ = engine.flush();
            _ = engine.catalogue.sync();
            engine.unlock();
        });
        _ = closed.await;
    }
}
