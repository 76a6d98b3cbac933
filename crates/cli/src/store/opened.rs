//! A store that is open, and the engine on it.

use super::args::StoreArgs;
use super::place::{Missing, Place};
use crate::report::{Failure, printable};
use futures_util::{Stream, TryStreamExt, stream};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use threadline_log::clock::{Clock, Ids};
use threadline_log::run::RunInfo;
use threadline_log::thread::{ThreadCursor, ThreadInfo, ThreadOrder, ThreadQuery};
use threadline_log::{Engine, Error, Incarnation, Options, RunId, RunNo, Store, ThreadKey, Timestamp};
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

/// All threads, in the order of their names, a page at a time: in the other order those that servers write to meanwhile would be missed.
fn pages(engine: &Engine, limit: usize) -> impl Stream<Item = Result<Vec<ThreadInfo>, Error>> {
    let first = ThreadQuery { order: ThreadOrder::Name, limit, ..ThreadQuery::default() };
    stream::try_unfold(first, async move |mut query| {
        let page = engine.threads(&query).await?;
        let Some(last) = page.last() else { return Ok(None) };
        query.after = Some(ThreadCursor::of(last));
        Ok(Some((page, query)))
    })
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
/// have, those whose time is over. Gives which.
pub(crate) async fn close_orphans(engine: &Engine) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
    match engine.store().shared() {
        Some(_) => engine.close_expired().await,
        None => engine.close_orphans().await,
    }
}

/// Folds what these runs said, so that it is found. Nothing else waits for that: who asks for what cannot be folded is told. Those that others
/// have left are for servers: no command should read again and again what it cannot fold.
async fn fold_closed(engine: &Engine, closed: Vec<(ThreadKey, RunNo)>) {
    for (thread, run) in closed {
        let _ = engine.keep_missing_checkpoint(&thread, run).await;
    }
}

/// Opens a store on disk, and makes it if it is not there.
pub(crate) fn open_store(dir: &Path) -> Result<DiskStore, Failure> {
    let (store, report) =
        DiskStore::open(&options(dir)).map_err(|error| Failure::store(dir.display(), &error))?;
    // Whoever asks for what is damaged will hear of it again.
    let damages = report.damages.iter().map(|damage| format!("damaged: {damage}"));
    let missing =
        report.missing.iter().map(|file| format!("damaged: a history file is missing. file={file}"));
    for said in
        damages.chain(missing).chain(report.rebuilt.map(|why| format!("the catalogue was made anew: {why}")))
    {
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
        let closed = opened.wait(close_orphans(&opened.engine))?;
        // What others have at once, their servers fold.
        if opened.engine.store().shared().is_none() {
            opened.wait(fold_closed(&opened.engine, closed));
        }
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
        Ok(pages(&self.engine, PAGE_THREADS).try_concat().await?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::atomic::{AtomicI64, Ordering};
    use threadline_log::names::Owner;
    use threadline_log::thread::MetadataChange;
    use threadline_log::{HistoryMode, MemoryStore, NewRecord, Scope, StartRun, Started, ThreadId};

    /// Nothing happens at the same time, where names would decide in either order.
    #[derive(Debug, Default)]
    struct Ticks(AtomicI64);

    impl Clock for Ticks {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.fetch_add(1, Ordering::SeqCst))
        }
    }

    async fn start(engine: &Engine, name: &str) -> threadline_log::RunWriter {
        let owner = || Owner::new("o").unwrap();
        let thread = ThreadKey::new(Scope { app: owner(), user: owner() }, ThreadId::new(name).unwrap());
        let request = format!(
            r#"{{"threadId":"{name}","runId":"r","messages":[],"tools":[],"context":[],"state":{{}}}}"#
        );
        let history = HistoryMode::Client;
        match engine.start_run(StartRun { thread, request: request.into(), history, agent: None }).await {
            Ok(Started::New(writer)) => writer,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn threads_that_are_written_to_while_they_are_listed_are_listed() {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store, Arc::<Ticks>::default(), Arc::new(RandomIds), Options::default());
        let names = ["a", "b", "c", "d", "e", "f"];
        let mut writers = Vec::new();
        for name in names {
            writers.push(start(&engine, name).await);
        }
        let mut pages = pin!(pages(&engine, 2));
        let mut listed = Vec::new();
        while let Some(page) = pages.try_next().await.unwrap() {
            assert!(page.len() <= 2);
            listed.extend(page.into_iter().map(|thread| thread.key.thread.to_string()));
            // All of the others move, some by an append and some by what is said about them.
            for (number, writer) in writers
                .iter()
                .enumerate()
                .filter(|(_, writer)| !listed.contains(&writer.thread.thread.to_string()))
            {
                if number % 2 == 0 {
                    engine.append(writer, vec![NewRecord::event("{}")].into()).await.unwrap();
                } else {
                    let change = MetadataChange { archived: Some(false), ..MetadataChange::default() };
                    engine.describe(&writer.thread, change).await.unwrap();
                }
            }
        }
        assert_eq!(listed, names);
    }
}
