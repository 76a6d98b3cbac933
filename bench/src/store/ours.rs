//! Our store, through the engine, as a server uses it.
//!
//! The engine makes a start of its own for each run, before what the source says. It is a record like others, with an offset, but
//! nobody has appended it: what is read is counted without.

use super::subject::{Batch, Durability, Follower, Live, Parts, Reads, Subject, Tally};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;
use threadline_log::buffered::{Aggregators, BufferOptions, BufferedWriter};
use threadline_log::clock::{Clock, Ids};
use threadline_log::names::Owner;
use threadline_log::run::RunEnd;
use threadline_log::{
    At, Engine, HistoryMode, Incarnation, Kind, NewRecord, Options, Record, RunWriter, Scope, StartRun,
    Started, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_protocol::event::RunError;
use threadline_protocol::{Event, Received};
use threadline_store_disk::{DiskOptions, DiskStore};
use tokio::sync::OnceCell;

/// How much is read at once.
const PAGE_BYTES: usize = 1 << 20;

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Counts from when it was made, so that no two processes that use a store after one another draw the same.
#[derive(Debug)]
struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn incarnation(&self) -> Incarnation {
        Incarnation(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The engine on its store on disk.
pub(crate) struct Ours {
    engine: Engine,
    /// Who writes the runs that go on.
    writers: Writers,
    durability: Durability,
    /// Runs that a killed process has left are closed before others begin; reading does not wait for that.
    orphans: OnceCell<()>,
}

/// Who writes a run.
#[derive(Clone)]
enum Writer {
    Durable(RunWriter),
    Buffered(Arc<BufferedWriter>),
}

/// Who writes the runs of threads. A server has its writer at hand where a run goes on, so that finding one must not cost a lock that all share.
struct Writers(Vec<Part>);

type Part = RwLock<HashMap<u32, Writer>>;

impl Writers {
    fn new() -> Self {
        Self(std::iter::repeat_with(Part::default).take(256).collect())
    }

    fn part(&self, thread: u32) -> &Part {
        &self.0[thread as usize % self.0.len()]
    }

    fn get(&self, thread: u32) -> Option<Writer> {
        self.part(thread).read().unwrap_or_else(PoisonError::into_inner).get(&thread).cloned()
    }

    fn insert(&self, thread: u32, writer: Writer) {
        self.part(thread).write().unwrap_or_else(PoisonError::into_inner).insert(thread, writer);
    }

    fn remove(&self, thread: u32) -> Option<Writer> {
        self.part(thread).write().unwrap_or_else(PoisonError::into_inner).remove(&thread)
    }

    fn into_all(self) -> impl Iterator<Item = Writer> {
        let parts = self.0.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        parts.flat_map(HashMap::into_values)
    }
}

/// Opens the engine on its store on disk.
pub(crate) fn open_engine(dir: &Path) -> io::Result<Engine> {
    let (store, _) = DiskStore::open(&DiskOptions::new(dir)).map_err(io::Error::other)?;
    Ok(engine_on(Arc::new(store), Arc::new(SystemClock)))
}

/// The engine on any store.
pub(super) fn engine_on(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Engine {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ids = CountedIds(AtomicU64::new(u64::try_from(since.as_nanos()).unwrap_or_default()));
    Engine::new(store, clock, Arc::new(ids), Options::default())
}

/// Who the threads belong to.
pub(crate) const APP: &str = "bench";
pub(crate) const USER: &str = "user";

/// The key of a thread.
pub(crate) fn key(thread: u32) -> io::Result<ThreadKey> {
    let owner = |name: &str| Owner::new(name).map_err(io::Error::other);
    let scope = Scope { app: owner(APP)?, user: owner(USER)? };
    Ok(ThreadKey::new(scope, ThreadId::new(thread.to_string()).map_err(io::Error::other)?))
}

fn event(text: &str) -> io::Result<Event<'_>> {
    Ok(Received::read(text).map_err(io::Error::other)?.into_event())
}

/// As they come in a chunk of a response: each is a part of it.
fn records(events: &[String]) -> Vec<NewRecord> {
    let mut chunk = Vec::with_capacity(events.iter().map(String::len).sum());
    events.iter().for_each(|event| chunk.extend_from_slice(event.as_bytes()));
    let mut chunk = bytes::Bytes::from(chunk);
    events.iter().map(|event| NewRecord::event(chunk.split_to(event.len()))).collect()
}

fn take(records: &[Record], tally: &mut Tally, count: usize) {
    let appended = records.iter().filter(|record| record.kind == Kind::Event);
    appended.take(count).for_each(|record| tally.take(&record.bytes));
}

impl Ours {
    /// On a store that others have open, too: what they execute is no orphan.
    pub(super) fn beside_others(engine: Engine, durability: Durability) -> Self {
        Self { engine, writers: Writers::new(), durability, orphans: OnceCell::new_with(Some(())) }
    }

    /// Closes the runs that a killed process has left, once.
    async fn close_orphans(&self) -> io::Result<()> {
        let closed = self.orphans.get_or_try_init(|| async { self.engine.close_orphans().await.map(|_| ()) });
        closed.await.map(|()| ()).map_err(io::Error::other)
    }

    async fn begin(&self, thread: u32, started: &str) -> io::Result<()> {
        self.close_orphans().await?;
        let Event::RunStarted(started) = event(started)? else {
            return Err(io::Error::other("a run begins with something else"));
        };
        let request = format!(
            r#"{{"threadId":"{thread}","runId":"{}","messages":[],"tools":[],"context":[],"state":{{}},"forwardedProps":{{}}}}"#,
            started.run_id
        );
        let start = StartRun {
            thread: key(thread)?,
            request: request.into(),
            history: HistoryMode::Server,
            agent: None,
        };
        match self.engine.start_run(start).await.map_err(io::Error::other)? {
            Started::New(writer) => {
                let writer = match self.durability {
                    Durability::Durable => Writer::Durable(writer),
                    Durability::Buffered => {
                        // Nothing is merged, so that all write the same.
                        let aggregator = Aggregators::unmerged().of(&writer.thread, writer.incarnation);
                        // What waits at the end is a lot, and not counted.
                        let options = BufferOptions { finalization_timeout: None, ..BufferOptions::default() };
                        let writer = BufferedWriter::new(self.engine.clone(), writer, aggregator, &options);
                        Writer::Buffered(Arc::new(writer))
                    }
                };
                self.writers.insert(thread, writer);
                Ok(())
            }
            Started::Known(_) => Err(io::Error::other("the run has begun before")),
        }
    }

    fn writer(&self, thread: u32) -> io::Result<Writer> {
        self.writers.get(thread).ok_or_else(|| io::Error::other("no run has begun"))
    }
}

impl Subject for Ours {
    async fn open(dir: &Path, durability: Durability) -> io::Result<Self> {
        let engine = open_engine(dir)?;
        Ok(Self { engine, writers: Writers::new(), durability, orphans: OnceCell::new() })
    }

    async fn append(&self, batch: Batch<'_>) -> io::Result<()> {
        let Batch { thread, events, begins_run, ends_run } = batch;
        // What begins and ends runs is boxed: most appends do neither, and each writer would carry its future of some KiB.
        if begins_run {
            Box::pin(self.begin(thread, events.first().ok_or(io::ErrorKind::InvalidInput)?)).await?;
        }
        let records = records(events);
        let end = match events.last().filter(|_| ends_run) {
            Some(last) => RunEnd::of(&event(last)?),
            None => None,
        };
        let Some(end) = end else {
            return match self.writer(thread)? {
                Writer::Durable(writer) => self.engine.append(&writer, records.into()).await.map(|_| ()),
                Writer::Buffered(writer) => writer.append(records).await,
            }
            .map_err(io::Error::other);
        };
        let writer = self.writers.remove(thread);
        Box::pin(end_run(&self.engine, writer, records, end)).await
    }

    async fn close(self) -> io::Result<()> {
        // What waits is written, too, with an end, as a server would that stops.
        for writer in self.writers.into_all().filter(|writer| matches!(writer, Writer::Buffered(_))) {
            let stopped = Event::from(RunError::new("stopped"));
            let end = RunEnd::of(&stopped).ok_or_else(|| io::Error::other("no end of a run"))?;
            let records = vec![NewRecord::made(stopped.to_json().into_bytes())];
            end_run(&self.engine, Some(writer), records, end).await?;
        }
        self.engine.store().close().await;
        Ok(())
    }
}

/// Ends a run that nobody else appends to.
async fn end_run(
    engine: &Engine,
    writer: Option<Writer>,
    records: Vec<NewRecord>,
    end: RunEnd,
) -> io::Result<()> {
    let in_use = || io::Error::other("the run has not begun, or is still written");
    match writer.ok_or_else(in_use)? {
        Writer::Durable(writer) => {
            let batch = threadline_log::Batch { records, end: Some(end), ..threadline_log::Batch::default() };
            engine.append(&writer, batch).await.map(|_| ()).map_err(io::Error::other)
        }
        Writer::Buffered(writer) => {
            let writer = Arc::into_inner(writer).ok_or_else(in_use)?;
            writer.finish(records, end).await.map_err(io::Error::other)
        }
    }
}

/// A segment has its full length from the start: what is behind the last group is zeros, and taken by others later.
fn used_bytes(path: &Path) -> io::Result<u64> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.read_to_end(&mut bytes)?;
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    u64::try_from(used).map_err(io::Error::other)
}

impl Reads for Ours {
    fn bytes_at_rest(dir: &Path) -> io::Result<Parts> {
        let mut parts = Parts::new();
        for entry in fs::read_dir(dir)? {
            let (path, metadata) = {
                let entry = entry?;
                (entry.path(), entry.metadata()?)
            };
            if metadata.is_dir() {
                for (part, bytes) in Self::bytes_at_rest(&path)? {
                    *parts.entry(part).or_default() += bytes;
                }
                continue;
            }
            let (part, bytes) = match path.extension().and_then(OsStr::to_str) {
                // The segment that is made ahead.
                Some("tmp") => continue,
                Some("log") => ("journal", used_bytes(&path)?),
                Some("idx") => ("sidecars", metadata.blocks() * 512),
                Some("blk") => ("history", metadata.blocks() * 512),
                Some("sqlite") => ("catalogue", metadata.blocks() * 512),
                Some("sqlite-wal" | "sqlite-shm") => ("the catalogue's log", metadata.blocks() * 512),
                _ => ("other files", metadata.blocks() * 512),
            };
            *parts.entry(part).or_default() += bytes;
        }
        Ok(parts)
    }

    async fn be_ready(&self) -> io::Result<()> {
        self.close_orphans().await
    }

    async fn settle(&self) -> io::Result<()> {
        self.engine.store().tidy().await.map_err(io::Error::other)
    }

    async fn read(&self, thread: u32, offset: u64, count: usize, tally: &mut Tally) -> io::Result<()> {
        let key = key(thread)?;
        // One start for each run that begins before what is asked for.
        let runs = self.engine.store().runs(&key).await.map_err(io::Error::other)?;
        let mut next = offset;
        let mut ends = 0;
        for run in &runs {
            if offset < ends {
                break;
            }
            next += 1;
            ends += run.records - 1;
        }
        let asked = tally.events + count;
        while tally.events < asked {
            let page =
                self.engine.read(&key, next..u64::MAX, None, PAGE_BYTES).await.map_err(io::Error::other)?;
            if page.records.is_empty() {
                break;
            }
            take(&page.records, tally, asked - tally.events);
            next = page.next;
        }
        Ok(())
    }
}

/// One of the engine's.
pub(crate) struct OurFollower(threadline_log::Follower);

impl Follower for OurFollower {
    async fn next(&mut self, tally: &mut Tally) -> io::Result<()> {
        let records = self.0.next().await.map_err(io::Error::other)?;
        take(&records, tally, usize::MAX);
        Ok(())
    }
}

impl Live for Ours {
    type Follower = OurFollower;

    async fn follow(&self, thread: u32) -> io::Result<OurFollower> {
        let key = key(thread)?;
        let tail = self.engine.store().thread(&key).await.map_err(io::Error::other)?.offsets.end;
        let follower = self.engine.follow(&key, None, tail).await.map_err(io::Error::other)?;
        Ok(OurFollower(follower))
    }

    async fn messages(&self, thread: u32) -> io::Result<usize> {
        let snapshot = self.engine.snapshot(&key(thread)?, At::Head).await.map_err(io::Error::other)?;
        Ok(snapshot.fold.messages().len())
    }
}
