//! A store on disk that is opened anew when the disk was full and has room again.

use crate::report::Failure;
use crate::store::opened::{open_store, options};
use async_trait::async_trait;
use bytes::Bytes;
use std::future::ready;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::kin::{Kin, Sought};
use threadline_log::run::RunInfo;
use threadline_log::store::{Append, Appending, Claim, OpenRun, Opened, Page, ThreadSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use threadline_log::{Checkpoint, Epoch, Error, Incarnation, RunNo, Scope, Store, ThreadKey, Timestamp};
use threadline_store_disk::DiskStore;
use tokio::sync::RwLock;
use tokio::time::{MissedTickBehavior, interval};

const CLOSED: &str = "the store is being opened anew";

/// A store on disk. What it is asked while it is opened anew waits.
///
/// A write that failed is never tried again: the store is closed, and what is on the disk is looked at as when a server is started.
#[derive(Debug)]
pub(super) struct Reopening {
    dir: PathBuf,
    /// None while it could not be opened.
    store: RwLock<Option<DiskStore>>,
}

/// Opens a store anew whenever the disk was full and has room again, for as long as it is polled.
pub(super) async fn keep_open(store: Arc<Reopening>, every: Duration) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if store.needs_opening().await {
            match store.reopen().await {
                Ok(()) => tracing::warn!("the disk was full and has room again: the store was opened anew"),
                Err(error) => tracing::error!(%error, "the store could not be opened anew"),
            }
        }
    }
}

impl Reopening {
    /// Opens it, and makes it if it is not there.
    pub(super) fn open(dir: &Path) -> Result<Self, Failure> {
        Ok(Self { dir: dir.to_owned(), store: RwLock::new(Some(open_store(dir)?)) })
    }

    /// Whether it takes no writes for want of room, and there is some.
    async fn needs_opening(&self) -> bool {
        self.store.read().await.as_ref().is_none_or(DiskStore::was_full) && has_room(&self.dir)
    }

    async fn reopen(&self) -> Result<(), String> {
        // Whoever reads is waited for: two must not have the files at once.
        let mut store = self.store.write().await;
        if let Some(old) = store.take() {
            old.close().await;
            // It waits for its threads.
            let _ = tokio::task::spawn_blocking(move || drop(old)).await;
        }
        let dir = self.dir.clone();
        let opened = tokio::task::spawn_blocking(move || open_store(&dir)).await;
        let opened = opened.map_err(|error| error.to_string())?;
        *store = Some(opened.map_err(|failure| failure.to_string())?);
        Ok(())
    }
}

/// Whether there is room for a segment, and some more.
fn has_room(dir: &Path) -> bool {
    let segment = u64::from(options(dir).segment_bytes);
    #[cfg(unix)]
    {
        rustix::fs::statvfs(dir)
            .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= segment + segment / 4)
    }
    #[cfg(not(unix))]
    {
        segment > 0
    }
}

fn opened(store: Option<&DiskStore>) -> Result<&DiskStore, Error> {
    store.ok_or_else(|| Error::Unavailable(CLOSED.to_owned()))
}

#[async_trait]
impl Store for Reopening {
    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        opened(self.store.read().await.as_ref())?.open_run(open).await
    }

    fn append(&self, append: Append) -> Appending {
        // While it is opened anew no run goes on that could be written to.
        let store = self.store.try_read();
        match store.as_ref().ok().and_then(|store| store.as_ref()) {
            Some(store) => store.append(append),
            None => Box::pin(ready(Err(Error::Unavailable(CLOSED.to_owned())))),
        }
    }

    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        opened(self.store.read().await.as_ref())?.claim(thread, run, epoch, claim, time).await
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        opened(self.store.read().await.as_ref())?.describe(thread, change, time).await
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        opened(self.store.read().await.as_ref())?.put_checkpoint(thread, first_of, checkpoint, time).await
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error> {
        opened(self.store.read().await.as_ref())?.trim(thread, first, time).await
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error> {
        opened(self.store.read().await.as_ref())?.compact_run(thread, run, time).await
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        time: Timestamp,
    ) -> Result<(), Error> {
        opened(self.store.read().await.as_ref())?.delete(thread, seen, time).await
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        opened(self.store.read().await.as_ref())?.thread(thread).await
    }

    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        opened(self.store.read().await.as_ref())?.runs(thread).await
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        opened(self.store.read().await.as_ref())?.run(thread, run).await
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        opened(self.store.read().await.as_ref())?.kin(thread, sought).await
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        opened(self.store.read().await.as_ref())?.request(thread, run).await
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        opened(self.store.read().await.as_ref())?.checkpoint(thread, run).await
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        opened(self.store.read().await.as_ref())?.read(thread, offsets, run, bytes_max).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        opened(self.store.read().await.as_ref())?.threads(query).await
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        opened(self.store.read().await.as_ref())?.usage(scope).await
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        opened(self.store.read().await.as_ref())?.expired(time).await
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        opened(self.store.read().await.as_ref())?.unfolded().await
    }

    async fn tidy(&self) -> Result<(), Error> {
        opened(self.store.read().await.as_ref())?.tidy().await
    }

    fn tidy_every(&self) -> Duration {
        DiskStore::TIDY_EVERY
    }

    fn trouble(&self) -> Option<String> {
        match self.store.try_read().as_deref() {
            Ok(Some(store)) => store.trouble(),
            Ok(None) | Err(_) => Some(CLOSED.to_owned()),
        }
    }

    fn ailments(&self) -> Vec<String> {
        match self.store.try_read().as_deref() {
            Ok(Some(store)) => store.ailments(),
            Ok(None) | Err(_) => Vec::new(),
        }
    }

    async fn close(&self) {
        if let Some(store) = &*self.store.read().await {
            store.close().await;
        }
    }
}
