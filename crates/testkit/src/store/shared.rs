//! A store that several engines have at once, in one process.

use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use threadline_log::kin::{Kin, Sought};
use threadline_log::run::RunInfo;
use threadline_log::store::{Append, Appending, Claim, News, OpenRun, Opened, Page, Shared, ThreadSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use threadline_log::{
    Checkpoint, Epoch, Error, Incarnation, MemoryStore, RunNo, Scope, Store, ThreadKey, Timestamp,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

/// How news comes to one of those who have the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hearing {
    /// At once.
    #[default]
    Good,
    /// When it is good again.
    Late,
    /// Not at all, and nobody says that some was lost.
    Deaf,
}

/// One's own handle of a store in memory that others have as well. All of them hear what any of them does.
#[derive(Debug)]
pub struct SharedStore {
    common: Arc<Common>,
    hearing: watch::Sender<Hearing>,
    news: tokio::sync::Mutex<UnboundedReceiver<News>>,
}

#[derive(Debug, Default)]
struct Common {
    store: MemoryStore,
    listeners: Mutex<Vec<(watch::Receiver<Hearing>, UnboundedSender<News>)>>,
}

impl Common {
    fn tell(&self, news: &News) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        for (hearing, listener) in &*listeners {
            if *hearing.borrow() != Hearing::Deaf {
                // Some may have gone.
                let _ = listener.send(news.clone());
            }
        }
    }

    fn tell_of(&self, thread: &ThreadKey) {
        self.tell(&News::Changed(thread.clone()));
    }
}

impl Default for SharedStore {
    fn default() -> Self {
        Self::of(Arc::default())
    }
}

impl SharedStore {
    fn of(common: Arc<Common>) -> Self {
        let ((told, news), (hearing, heard)) = (unbounded_channel(), watch::channel(Hearing::Good));
        common.listeners.lock().unwrap_or_else(PoisonError::into_inner).push((heard, told));
        Self { common, hearing, news: news.into() }
    }

    /// Another handle, as another process has one.
    #[must_use]
    pub fn second(&self) -> Self {
        Self::of(Arc::clone(&self.common))
    }

    /// How this handle hears from now on.
    pub fn set_hearing(&self, hearing: Hearing) {
        self.hearing.send_replace(hearing);
    }

    /// Tells this handle something.
    pub fn tell(&self, news: &News) {
        self.common.tell(news);
    }
}

#[async_trait]
impl Shared for SharedStore {
    async fn heard(&self) -> Vec<News> {
        let mut news = self.news.lock().await;
        // The sender is ours.
        let _ = self.hearing.subscribe().wait_for(|hearing| *hearing != Hearing::Late).await;
        match news.recv().await {
            Some(news) => vec![news],
            None => std::future::pending().await,
        }
    }

    async fn tails(&self, threads: &[Incarnation]) -> Result<Vec<(Incarnation, u64)>, Error> {
        let all = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        let there = self.common.store.threads(&all).await?;
        let wanted = there.into_iter().filter(|info| threads.contains(&info.incarnation));
        Ok(wanted.map(|info| (info.incarnation, info.offsets.end)).collect())
    }
}

#[async_trait]
impl Store for SharedStore {
    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        let thread = open.thread.clone();
        let opened = self.common.store.open_run(open).await?;
        let tail = opened.ack.offsets().end;
        self.common.tell(&News::Reached { thread: opened.incarnation, tail });
        self.common.tell_of(&thread);
        Ok(opened)
    }

    fn append(&self, append: Append) -> Appending {
        let common = Arc::clone(&self.common);
        Box::pin(async move {
            let (key, is_end) = (append.thread.clone(), append.end.is_some());
            let thread = match append.incarnation {
                Some(incarnation) => incarnation,
                None => common.store.thread(&key).await?.incarnation,
            };
            let ack = common.store.append(append).await?;
            common.tell(&News::Reached { thread, tail: ack.offsets().end });
            if is_end {
                common.tell_of(&key);
            }
            Ok(ack)
        })
    }

    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        self.common.store.claim(thread, run, epoch, claim, time).await
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.common.store.describe(thread, change, time).await?;
        self.common.tell_of(thread);
        Ok(())
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.common.store.put_checkpoint(thread, first_of, checkpoint, time).await
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error> {
        self.common.store.trim(thread, first, time).await?;
        self.common.tell_of(thread);
        Ok(())
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error> {
        self.common.store.compact_run(thread, run, time).await
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        time: Timestamp,
    ) -> Result<(), Error> {
        let incarnation = self.common.store.thread(thread).await?.incarnation;
        self.common.store.delete(thread, seen, time).await?;
        self.common.tell(&News::Deleted { key: thread.clone(), thread: incarnation });
        Ok(())
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        self.common.store.thread(thread).await
    }

    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        self.common.store.runs(thread).await
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.common.store.run(thread, run).await
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        self.common.store.kin(thread, sought).await
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        self.common.store.request(thread, run).await
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        self.common.store.checkpoint(thread, run).await
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        self.common.store.read(thread, offsets, run, bytes_max).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        self.common.store.threads(query).await
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        self.common.store.usage(scope).await
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.common.store.expired(time).await
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.common.store.unfolded().await
    }

    async fn tidy(&self) -> Result<(), Error> {
        self.common.store.tidy().await
    }

    fn tidy_every(&self) -> Duration {
        self.common.store.tidy_every()
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }

    fn trouble(&self) -> Option<String> {
        self.common.store.trouble()
    }

    fn ailments(&self) -> Vec<String> {
        self.common.store.ailments()
    }

    async fn close(&self) {
        self.common.store.close().await;
    }
}
