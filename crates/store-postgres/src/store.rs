//! The store.

use crate::clock::DatabaseClock;
use crate::committer::{COMMITTERS, Committer};
use crate::connection::{Connection, Failure};
use crate::health::Health;
use crate::lanes::Lanes;
use crate::news::{Grapevine, Told};
use crate::open::{OpenError, Opened as Database, open};
use crate::options::PostgresOptions;
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use threadline_log::clock::Clock;
use threadline_log::kin::{Kin, Sought};
use threadline_log::run::RunInfo;
use threadline_log::store::{Append, Appending, Claim, News, OpenRun, Opened, Page, Shared, ThreadSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use threadline_log::{Checkpoint, Epoch, Error, Incarnation, RunNo, Scope, Store, ThreadKey, Timestamp};
use tokio::task::JoinSet;

/// How often runs are looked for that can be sealed.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// A store in a PostgreSQL database, which other processes may write at the same time.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) options: PostgresOptions,
    pub(crate) committer: Arc<Committer>,
    grapevine: Arc<Grapevine>,
    clock: Arc<DatabaseClock>,
    pub(crate) health: Arc<Health>,
    tokens: AtomicI64,
    /// Ended when the store is dropped.
    _tasks: JoinSet<()>,
}

impl PostgresStore {
    /// Opens the store in a database, and makes it if it is not there and need not be.
    ///
    /// # Errors
    /// If the database cannot be reached, is too old or of a newer format, may lose what it has acknowledged, or has no store where one must be.
    pub async fn open(options: &PostgresOptions) -> Result<Self, OpenError> {
        let Database { connector, clock } = open(options).await?;
        let mut tasks = JoinSet::new();
        let grapevine = Arc::new(Grapevine::begin(&connector, &mut tasks));
        let health = Arc::<Health>::default();
        let committer = Committer::new(options.hold_back, Arc::clone(&grapevine), Arc::clone(&health));
        let committer = Arc::new(committer);
        for _ in 0..COMMITTERS {
            tasks.spawn(Arc::clone(&committer).work(Arc::clone(&connector)));
        }
        let lanes = Arc::new(Lanes::new(Arc::clone(&connector)));
        tasks.spawn(Arc::clone(&health).watch(connector, Arc::clone(&clock)));
        let options = options.clone();
        let tokens = AtomicI64::new(first_token());
        Ok(Self { lanes, options, committer, grapevine, clock, health, tokens, _tasks: tasks })
    }

    /// Tells the database's time, by which leases are decided.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as Arc<dyn Clock>
    }

    /// A connection for who reads.
    pub(crate) async fn reading_lane(&self) -> Result<Arc<Connection>, Error> {
        self.health.check_there()?;
        self.lanes.lane().await.map_err(Failure::of_read)
    }

    /// A connection for who writes.
    pub(crate) async fn writing_lane(&self) -> Result<Arc<Connection>, Error> {
        self.health.check_open()?;
        self.reading_lane().await
    }

    /// A connection for what may take long.
    pub(crate) async fn slow_lane(&self) -> Result<Arc<Connection>, Error> {
        self.health.check_there()?;
        self.lanes.slow_lane().await.map_err(Failure::of_read)
    }

    /// What a write that failed means for whoever asked, and for others.
    pub(crate) fn not_written(&self, failure: Failure) -> Error {
        self.health.note(&failure);
        failure.of_write()
    }

    pub(crate) fn tell(&self, told: Vec<Told>) {
        self.grapevine.tell(told);
    }

    /// Something that nobody else has, by which a write is known again.
    pub(crate) fn token(&self) -> i64 {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }
}

/// Where the tokens of an instance begin.
fn first_token() -> i64 {
    let mut bytes = [0; 8];
    // Without chance others may have the same, which matters only if they have written to the same run and an answer is lost.
    _ = getrandom::fill(&mut bytes);
    i64::from_le_bytes(bytes)
}

#[async_trait]
impl Shared for PostgresStore {
    async fn heard(&self) -> Vec<News> {
        self.grapevine.heard().await
    }

    async fn tails(&self, threads: &[Incarnation]) -> Result<Vec<(Incarnation, u64)>, Error> {
        self.tails_of(threads).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        self.open_a_run(open).await
    }

    fn append(&self, append: Append) -> Appending {
        let answer = self.committer.submit(append, self.token());
        Box::pin(async move {
            answer.await.unwrap_or_else(|_| Err(Error::Indeterminate("the store is gone".to_owned())))
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
        self.claim_a_run(thread, run, epoch, claim, time).await
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.describe_a_thread(thread, &change, time).await
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        _time: Timestamp,
    ) -> Result<(), Error> {
        self.keep_a_checkpoint(thread, first_of, &checkpoint).await
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, _time: Timestamp) -> Result<(), Error> {
        self.trim_a_thread(thread, first).await
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, _time: Timestamp) -> Result<(), Error> {
        self.compact_a_run(thread, run).await
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        _time: Timestamp,
    ) -> Result<(), Error> {
        self.delete_a_thread(thread, seen).await
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        self.thread_info(thread).await
    }

    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        self.runs_of(thread, None).await
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.runs_of(thread, Some(run)).await?.pop().ok_or_else(|| Error::NoRun(run.0.to_string()))
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        self.kin_of(thread, sought).await
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        self.request_of(thread, run).await
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        self.checkpoint_of(thread, run).await
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        self.read_page(thread, offsets, run, bytes_max).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        self.list(query).await
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        self.usage_of(scope).await
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.expired_at(time).await
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.unfolded_runs().await
    }

    async fn tidy(&self) -> Result<(), Error> {
        self.seal().await
    }

    fn tidy_every(&self) -> Duration {
        TIDY_EVERY
    }

    fn trouble(&self) -> Option<String> {
        self.health.trouble()
    }

    fn ailments(&self) -> Vec<String> {
        Vec::new()
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }

    async fn close(&self) {
        self.health.close();
        self.committer.close().await;
        self.grapevine.flush().await;
    }
}
