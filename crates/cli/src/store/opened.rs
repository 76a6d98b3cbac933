//! A store that is open, and the engine on it.

use super::args::StoreArgs;
use crate::report::{Failure, printable};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use threadline_log::clock::{Clock, Ids};
use threadline_log::run::RunInfo;
use threadline_log::thread::{ThreadCursor, ThreadQuery};
use threadline_log::{Engine, Incarnation, Options, RunId, ThreadKey, Timestamp};
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
    if is_store { Ok(()) } else { Err(Failure::Store(format!("there is no store at {}", dir.display()))) }
}

/// An open store. What it is asked is waited for.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    runtime: Runtime,
}

/// Where a store is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Dir(PathBuf),
    /// Nowhere: it is gone with the process.
    Memory,
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        if text == "memory:" { Self::Memory } else { Self::Dir(text.into()) }
    }
}

/// Opens a store on disk, and makes it if it is not there.
pub(crate) fn open_store(dir: &Path) -> Result<DiskStore, Failure> {
    let (store, report) = DiskStore::open(&options(dir)).map_err(|error| Failure::store(dir, &error))?;
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
        must_exist(&args.store)?;
        Self::open(&args.store)
    }

    /// Opens a store that is there, to write to it.
    pub(crate) fn existing_for_writing(args: &StoreArgs) -> Result<Self, Failure> {
        Self::existing(args)?.without_orphans()
    }

    /// Opens a store to write to, and makes it if it is not there.
    pub(crate) fn for_writing(args: &StoreArgs) -> Result<Self, Failure> {
        Self::open(&args.store)?.without_orphans()
    }

    /// Closes the runs that an earlier process left open.
    fn without_orphans(self) -> Result<Self, Failure> {
        self.wait(self.engine.close_orphans())?;
        Ok(self)
    }

    fn open(dir: &Path) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .map_err(|error| Failure::store(dir, &error))?;
        let store = Arc::new(open_store(dir)?);
        let engine = Engine::new(store, Arc::new(SystemClock), Arc::new(RandomIds), Options::default());
        Ok(Self { engine, runtime })
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

    /// The names of all threads, in order, so that what is made of the same is the same.
    pub(crate) fn all_threads(&self) -> Result<Vec<ThreadKey>, Failure> {
        let mut threads = Vec::new();
        let mut query = ThreadQuery { limit: PAGE_THREADS, ..ThreadQuery::default() };
        loop {
            let page = self.wait(self.engine.threads(&query))?;
            let Some(last) = page.last() else { break };
            query.after = Some(ThreadCursor::of(last));
            threads.extend(page.into_iter().map(|thread| thread.key));
        }
        threads.sort();
        Ok(threads)
    }

    /// Ends all work in good order.
    pub(crate) fn close(&self) {
        self.wait(self.engine.store().close());
    }
}
