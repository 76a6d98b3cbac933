//! All that can be seen of threads through a store.

use bytes::Bytes;
use std::collections::BTreeSet;
use threadline_log::run::RunInfo;
use threadline_log::thread::{ThreadInfo, ThreadQuery, Usage};
use threadline_log::{Checkpoint, Error, Record, RunNo, Store, ThreadKey, Timestamp};

/// All that can be seen of some threads.
#[derive(Debug, PartialEq, Eq)]
pub struct View {
    /// Each of them, or nothing.
    pub threads: Vec<Option<ThreadView>>,
    /// The list of all there are.
    pub listed: Vec<ThreadInfo>,
    /// The runs whose lease is over.
    pub expired: BTreeSet<(ThreadKey, RunNo)>,
}

/// All that can be seen of a thread.
#[derive(Debug, PartialEq, Eq)]
pub struct ThreadView {
    /// What is known about it.
    pub info: ThreadInfo,
    /// Its runs.
    pub runs: Vec<RunView>,
    /// Its records.
    pub records: Vec<Record>,
}

/// All that can be seen of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct RunView {
    /// What is known about it.
    pub info: RunInfo,
    /// The request that started it.
    pub request: Bytes,
    /// Its checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Its records.
    pub records: Vec<Record>,
}

impl View {
    /// Looks at everything, with leases as they are at some time.
    ///
    /// # Errors
    /// If the store cannot be read. That a thread is not there is part of the view.
    pub async fn of(store: &dyn Store, threads: &[ThreadKey], time: Timestamp) -> Result<Self, Error> {
        let mut views = Vec::new();
        for thread in threads {
            views.push(match ThreadView::of(store, thread).await {
                Err(Error::NoThread(named)) if named == *thread => None,
                view => Some(view?),
            });
        }
        let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        let listed = store.threads(&query).await?;
        let scopes: BTreeSet<_> = threads.iter().map(|thread| &thread.scope).collect();
        for scope in scopes {
            let of_scope = listed.iter().filter(|info| info.key.scope == *scope);
            let kept = store.usage(scope).await?;
            assert_eq!(kept, Usage::of(of_scope.map(|info| info.bytes)), "what {scope:?} keeps");
        }
        let expired = store.expired(time).await?;
        let once: BTreeSet<_> = expired.iter().cloned().collect();
        assert_eq!(once.len(), expired.len(), "a run is listed twice: {expired:?}");
        Ok(Self { threads: views, listed, expired: once })
    }
}

impl ThreadView {
    async fn of(store: &dyn Store, thread: &ThreadKey) -> Result<Self, Error> {
        let info = store.thread(thread).await?;
        // From zero, although less may be left: what is gone is passed over.
        let all = 0..info.offsets.end;
        let mut runs = Vec::new();
        for run in store.runs(thread).await? {
            runs.push(RunView {
                request: store.request(thread, run.no).await?,
                checkpoint: store.checkpoint(thread, run.no).await?,
                records: store.read(thread, all.clone(), Some(run.no), usize::MAX).await?.records,
                info: run,
            });
        }
        let records = store.read(thread, all, None, usize::MAX).await?.records;
        Ok(Self { info, runs, records })
    }
}
