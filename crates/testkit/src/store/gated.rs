//! A store whose writes wait, or fail, as long as a test wants.

use async_trait::async_trait;
use bytes::Bytes;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use threadline_log::kin::{Kin, Sought};
use threadline_log::run::RunInfo;
use threadline_log::store::{Append, Appending, Claim, News, OpenRun, Opened, Page, Shared, ThreadSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use threadline_log::{
    Checkpoint, Epoch, Error, Incarnation, MemoryStore, RunNo, Scope, Store, ThreadKey, Timestamp,
};
use tokio::sync::watch;

/// What becomes of appends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// They are made.
    #[default]
    Open,
    /// They wait.
    Shut,
    /// They fail, and nothing was done; nor are runs opened.
    Broken,
    /// The store is away: whatever is asked fails, and nothing was done.
    Away,
}

/// A store with a gate before its appends.
#[derive(Debug)]
pub struct GatedStore {
    store: Arc<dyn Store>,
    gate: watch::Sender<Gate>,
    tried: watch::Sender<usize>,
    /// Whether those who open runs do not hear of it.
    is_silent: watch::Sender<bool>,
    opened: watch::Sender<usize>,
    is_damaged: AtomicBool,
    /// Whose records cannot be read, though the store is not in trouble.
    unreadable: watch::Sender<Option<ThreadKey>>,
    is_forgetful: AtomicBool,
    checkpoint_bytes_max: AtomicUsize,
    /// Whether checkpoints wait, how many came, and the runs of those on their way.
    are_checkpoints_held: watch::Sender<bool>,
    checkpoints: watch::Sender<usize>,
    on_their_way: Arc<Mutex<HashSet<(ThreadKey, RunNo)>>>,
    /// Whether deletions wait, and how many came.
    are_deletions_held: watch::Sender<bool>,
    deletions: watch::Sender<usize>,
}

impl Default for GatedStore {
    fn default() -> Self {
        Self::before(Arc::new(MemoryStore::new()))
    }
}

impl GatedStore {
    /// Before a store.
    #[must_use]
    pub fn before(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            gate: watch::Sender::default(),
            tried: watch::Sender::default(),
            is_silent: watch::Sender::default(),
            opened: watch::Sender::default(),
            is_damaged: AtomicBool::default(),
            unreadable: watch::Sender::default(),
            is_forgetful: AtomicBool::default(),
            checkpoint_bytes_max: AtomicUsize::new(usize::MAX),
            are_checkpoints_held: watch::Sender::default(),
            checkpoints: watch::Sender::default(),
            on_their_way: Arc::default(),
            are_deletions_held: watch::Sender::default(),
            deletions: watch::Sender::default(),
        }
    }

    /// Opens or shuts the gate, for those who wait as well.
    pub fn set(&self, gate: Gate) {
        self.gate.send_replace(gate);
    }

    /// While it is damaged, nothing about threads can be read.
    pub fn set_damaged(&self, is_damaged: bool) {
        self.is_damaged.store(is_damaged, Ordering::SeqCst);
    }

    /// From now on the records of this thread cannot be read, and those of others can.
    pub fn set_unreadable(&self, thread: Option<ThreadKey>) {
        self.unreadable.send_replace(thread);
    }

    /// While it is forgetful, checkpoints are not kept.
    pub fn set_forgetful(&self, is_forgetful: bool) {
        self.is_forgetful.store(is_forgetful, Ordering::SeqCst);
    }

    /// From now on larger checkpoints are refused.
    pub fn set_checkpoint_bytes_max(&self, bytes: usize) {
        self.checkpoint_bytes_max.store(bytes, Ordering::SeqCst);
    }

    /// While they are held, checkpoints are on their way, as in a store that writes later what it has taken in: nobody sees them, whoever puts
    /// them may go, and there is no other first one of the run.
    pub fn hold_checkpoints(&self, are_held: bool) {
        self.are_checkpoints_held.send_replace(are_held);
    }

    /// How many checkpoints came.
    #[must_use]
    pub fn checkpoints(&self) -> usize {
        *self.checkpoints.borrow()
    }

    /// Waits until so many checkpoints came.
    ///
    /// # Panics
    /// If there is a bug: the store outlives who waits.
    pub async fn wait_for_checkpoints(&self, checkpoints: usize) {
        let mut came = self.checkpoints.subscribe();
        came.wait_for(|came| *came >= checkpoints).await.expect("the store is there");
    }

    /// Takes in a checkpoint, and puts it when checkpoints are not held any more.
    async fn put_later(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        let (store, on_their_way) = (Arc::clone(&self.store), Arc::clone(&self.on_their_way));
        let mut are_held = self.are_checkpoints_held.subscribe();
        let put = (thread.clone(), checkpoint.run);
        let is_only = on_their_way.lock().unwrap_or_else(PoisonError::into_inner).insert(put.clone());
        if !is_only && first_of.is_some() {
            return Err(Error::RunsChanged);
        }
        let putting = tokio::spawn(async move {
            // If nobody can let them go any more, they go.
            let _ = are_held.wait_for(|are_held| !are_held).await;
            let outcome = store.put_checkpoint(&put.0, first_of, checkpoint, time).await;
            on_their_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&put);
            outcome
        });
        putting.await.expect("stores do not panic")
    }

    /// While they are held, deletions wait.
    pub fn hold_deletions(&self, are_held: bool) {
        self.are_deletions_held.send_replace(are_held);
    }

    /// Waits until so many deletions came.
    ///
    /// # Panics
    /// If there is a bug: the store outlives who waits.
    pub async fn wait_for_deletions(&self, deletions: usize) {
        let mut came = self.deletions.subscribe();
        came.wait_for(|came| *came >= deletions).await.expect("the store is there");
    }

    /// Whether it can be asked at all.
    fn reach(&self) -> Result<&dyn Store, Error> {
        match *self.gate.borrow() {
            Gate::Away => Err(Error::Unavailable("the store is away".to_owned())),
            Gate::Open | Gate::Shut | Gate::Broken => Ok(&*self.store),
        }
    }

    /// The same for what is damaged.
    fn check(&self) -> Result<&dyn Store, Error> {
        if !self.is_damaged.load(Ordering::SeqCst) {
            return self.reach();
        }
        Err(Error::Corrupt { place: "a secret place".to_owned(), what: "a flipped bit".to_owned() })
    }

    /// While it is silent, runs are opened, and others see them, before those who open them hear of it.
    pub fn set_silent(&self, is_silent: bool) {
        self.is_silent.send_replace(is_silent);
    }

    /// Waits until so many runs were opened.
    ///
    /// # Panics
    /// If there is a bug: the store outlives who waits.
    pub async fn wait_for_runs(&self, runs: usize) {
        let mut opened = self.opened.subscribe();
        opened.wait_for(|opened| *opened >= runs).await.expect("the store is there");
    }

    /// How many appends came to the gate.
    #[must_use]
    pub fn tried(&self) -> usize {
        *self.tried.borrow()
    }

    /// Waits until so many appends came to the gate.
    ///
    /// # Panics
    /// If there is a bug: the store outlives who waits.
    pub async fn wait_for(&self, appends: usize) {
        let mut tried = self.tried.subscribe();
        tried.wait_for(|tried| *tried >= appends).await.expect("the store is there");
    }
}

#[async_trait]
impl Shared for GatedStore {
    async fn heard(&self) -> Vec<News> {
        match self.store.shared() {
            Some(shared) => shared.heard().await,
            None => std::future::pending().await,
        }
    }

    async fn tails(&self, threads: &[Incarnation]) -> Result<Vec<(Incarnation, u64)>, Error> {
        match self.reach()?.shared() {
            Some(shared) => shared.tails(threads).await,
            None => Ok(Vec::new()),
        }
    }
}

#[async_trait]
impl Store for GatedStore {
    fn append(&self, append: Append) -> Appending {
        self.tried.send_modify(|tried| *tried += 1);
        let mut gate = self.gate.subscribe();
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let gate = gate.wait_for(|gate| *gate != Gate::Shut).await.map(|gate| *gate);
            match gate {
                Ok(Gate::Open) => store.append(append).await,
                _ => Err(Error::Unavailable("the gate is broken".to_owned())),
            }
        })
    }

    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        if *self.gate.borrow() == Gate::Broken {
            return Err(Error::Unavailable("the gate is broken".to_owned()));
        }
        let opened = self.reach()?.open_run(open).await?;
        self.opened.send_modify(|opened| *opened += 1);
        let mut is_silent = self.is_silent.subscribe();
        // If the store is gone, nobody waits.
        let _ = is_silent.wait_for(|is_silent| !is_silent).await;
        Ok(opened)
    }

    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        self.reach()?.claim(thread, run, epoch, claim, time).await
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.reach()?.describe(thread, change, time).await
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        if self.is_forgetful.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("checkpoints are not kept".to_owned()));
        }
        let bytes = checkpoint.delta.len() + checkpoint.full.as_ref().map_or(0, Bytes::len);
        let max = self.checkpoint_bytes_max.load(Ordering::SeqCst);
        if bytes > max {
            return Err(Error::TooLarge { bytes, max });
        }
        self.reach()?;
        self.checkpoints.send_modify(|checkpoints| *checkpoints += 1);
        self.put_later(thread, first_of, checkpoint, time).await
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error> {
        self.reach()?.trim(thread, first, time).await
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error> {
        self.reach()?.compact_run(thread, run, time).await
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.deletions.send_modify(|deletions| *deletions += 1);
        let mut are_held = self.are_deletions_held.subscribe();
        are_held.wait_for(|are_held| !are_held).await.expect("the store is there");
        self.reach()?.delete(thread, seen, time).await
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        self.check()?.thread(thread).await
    }

    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        self.check()?.runs(thread).await
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.reach()?.run(thread, run).await
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        self.check()?.kin(thread, sought).await
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        self.reach()?.request(thread, run).await
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        self.reach()?.checkpoint(thread, run).await
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        let is_unreadable = self.unreadable.borrow().as_ref() == Some(thread);
        if is_unreadable {
            return Err(Error::Unavailable("a file cannot be read".to_owned()));
        }
        self.reach()?.read(thread, offsets, run, bytes_max).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        self.reach()?.threads(query).await
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        self.reach()?.usage(scope).await
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.reach()?.expired(time).await
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.reach()?.unfolded().await
    }

    async fn tidy(&self) -> Result<(), Error> {
        self.reach()?.tidy().await
    }

    fn tidy_every(&self) -> Duration {
        self.store.tidy_every()
    }

    fn shared(&self) -> Option<&dyn Shared> {
        self.store.shared().map(|_| self as &dyn Shared)
    }

    fn trouble(&self) -> Option<String> {
        self.reach().err().map(|error| error.to_string()).or_else(|| self.store.trouble())
    }

    fn ailments(&self) -> Vec<String> {
        self.store.ailments()
    }

    async fn close(&self) {
        self.store.close().await;
    }
}
