//! A store that is open, and the engine on it.

use super::args::StoreArgs;
use super::place::{Missing, Place};
use crate::report::{Failure, printable};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use threadline_log::clock::{Clock, Ids};
use threadline_log::run::RunInfo;
use threadline_log::thread::{ThreadCursor, ThreadInfo, ThreadQuery};
use threadline_log::{Engine, Incarnation, Options, RunId, Store, ThreadKey, Timestamp};
use threadline_store_disk::{DiskOptions, DiskStore};
use tokio::runtime::Runtime;

/// How many threads are listed at once.
const PAGE_THREADS: usize = 1_000;

/// How stores are opened.
pub(crate) fn options(dir: &Path) -> DiskOptions {
    DiskOptions { time: SystemClock.now(), ..DiskOptions::new(dir) }
}

/// Says so if a directory is no store: whoever only wants to look must not make one. A store without its identity is one,
/// and will be told what is wrong with it.
pub(crate) fn must_exist(dir: &Path) -> Result<(), Failure> {
    let is_store =
        dir.join("store").is_file() || ["log", "history"].iter().all(|part| dir.join(part).is_dir());
    if is_store { Ok(()) } else { Err(Failure::no_store(dir.display())) }
}

/// What is said of what a list leaves out. Nobody has to mend it.
pub(crate) fn not_listed(what: &str) -> String {
    format!("not listed: {what}; the catalogue is made anew when the store is next opened")
}

/// An open store. What it is asked is waited for.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    /// The same store, if it is in a directory.
    disk: Option<Arc<DiskStore>>,
    runtime: Runtime,
}

/// Closes runs that nobody executes: in a store that one process has alone, all that an earlier one left open; in one that several
/// have, those whose time is over. Gives how many.
pub(crate) async fn close_orphans(engine: &Engine) -> Result<usize, threadline_log::Error> {
    let closed = match engine.store().shared() {
        Some(_) => engine.close_expired().await?,
        None => engine.close_orphans().await?,
    };
    Ok(closed.len())
}

/// Opens a store on disk, and makes it if it is not there.
pub(crate) fn open_store(dir: &Path) -> Result<DiskStore, Failure> {
    let (store, report) =
        DiskStore::open(&options(dir)).map_err(|error| Failure::store(dir.display(), &error))?;
    // Whoever asks for what is damaged will hear of it again.
    let damages = report.damages.iter().map(|damage| format!("damaged: {damage}"));
    for said in damages.chain(report.rebuilt.map(|why| format!("the catalogue was made anew: {why}"))) {
        let _ = writeln!(io::stderr().lock(), "threadline: {}", printable(&said));
    }
    Ok(store)
}

#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the edge, where the engine is given the time")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

#[derive(Debug)]
pub(crate) struct RandomIds;

impl Ids for RandomIds {
    fn incarnation(&self) -> Incarnation {
        // Where the system has no randomness to give, the time is unlike what it was.
        let drawn = getrandom::u64().unwrap_or_else(|_| SystemClock.now().0.unsigned_abs());
        Incarnation(drawn)
    }
}

impl Opened {
    /// Opens a store that is there, to look at it.
    pub(crate) fn existing(args: &StoreArgs) -> Result<Self, Failure> {
        Self::existing_at(&args.store)
    }

    /// Opens a store that is there, to look at it.
    pub(crate) fn existing_at(place: &Place) -> Result<Self, Failure> {
        Self::open(place, true, Missing::Refused)
    }

    /// Opens a store that is there, to write to it.
    pub(crate) fn existing_for_writing(args: &StoreArgs) -> Result<Self, Failure> {
        Self::writing(&args.store, Missing::Refused)
    }

    /// Opens a store to write to, and makes it if it is not there.
    pub(crate) fn for_writing(args: &StoreArgs) -> Result<Self, Failure> {
        Self::for_writing_at(&args.store)
    }

    /// Opens a store to write to, and makes it if it is not there.
    pub(crate) fn for_writing_at(place: &Place) -> Result<Self, Failure> {
        Self::writing(place, Missing::Made)
    }

    fn writing(place: &Place, missing: Missing) -> Result<Self, Failure> {
        let opened = Self::open(place, false, missing)?;
        opened.wait(close_orphans(&opened.engine))?;
        Ok(opened)
    }

    /// One that may lose what it has acknowledged is good enough for who only looks.
    fn open(place: &Place, may_be_unsafe: bool, missing: Missing) -> Result<Self, Failure> {
        if let (Place::Dir(dir), Missing::Refused) = (place, missing) {
            must_exist(dir)?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Failure::store(place, &error))?;
        let mut disk = None;
        let (store, clock): (Arc<dyn Store>, Arc<dyn Clock>) = match place {
            Place::Dir(dir) => {
                let store = Arc::new(open_store(dir)?);
                disk = Some(Arc::clone(&store));
                (store, Arc::new(SystemClock))
            }
            Place::Memory => return Err(Failure::Usage("--store: nothing is kept in memory:".to_owned())),
            Place::Database(url) => {
                let store = runtime.block_on(url.open(may_be_unsafe, missing))?;
                let clock = store.clock();
                (Arc::new(store), clock)
            }
        };
        let engine = Engine::new(store, clock, Arc::new(RandomIds), Options::default());
        Ok(Self { engine, disk, runtime })
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    /// The run with this id.
    pub(crate) fn run(&self, thread: &ThreadKey, id: &str) -> Result<RunInfo, Failure> {
        let id = RunId::new(id)?;
        Ok(self.wait(self.engine.run_named(thread, &id))?)
    }

    /// The names of all threads, in order.
    pub(crate) fn all_threads(&self) -> Result<Vec<ThreadKey>, Failure> {
        Ok(self.listed()?.into_iter().map(|thread| thread.key).collect())
    }

    /// All threads, in the order of their names, so that what is made of the same is the same.
    pub(crate) fn listed(&self) -> Result<Vec<ThreadInfo>, Failure> {
        self.wait(self.list())
    }

    pub(crate) async fn list(&self) -> Result<Vec<ThreadInfo>, Failure> {
        let mut threads = Vec::new();
        let mut query = ThreadQuery { limit: PAGE_THREADS, ..ThreadQuery::default() };
        loop {
            let page = self.engine.threads(&query).await?;
            let Some(last) = page.last() else { break };
            query.after = Some(ThreadCursor::of(last));
            threads.extend(page);
        }
        threads.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(threads)
    }

    /// What is missing in lists that were made, because it is damaged.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.disk.as_ref().map_or_else(Vec::new, |disk| disk.left_out())
    }

    /// Ends all work in good order.
    pub(crate) fn close(&self) {
        self.wait(self.engine.store().close());
    }
}
