//! The load: a process of its own that writes to many threads at once, and says what was acknowledged as soon as it was.
//!
//! It is this test program, executed again. What it appends describes itself, so that whoever reads it knows what must be there.

use crate::inspect::inspect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use threadline_log::clock::{Clock, Ids};
use threadline_log::names::Owner;
use threadline_log::run::{RunEnd, RunStatus};
use threadline_log::store::Ack;
use threadline_log::thread::ThreadQuery;
use threadline_log::{
    AppendKey, Batch, Engine, Error, ErrorKind, HistoryMode, Incarnation, NewRecord, Options, RunWriter,
    Scope, StartRun, Started, ThreadId, ThreadKey,
};
use threadline_store_disk::{DiskOptions, DiskStore};
use threadline_testkit::engine::ManualClock;
use threadline_testkit::random::Random;

/// Tells the process what to do.
pub(crate) const LOAD: &str = "THREADLINE_TEST_LOAD";

/// How often a writer whose store takes nothing more tries nevertheless.
const TRIES_IN_TROUBLE: usize = 3;
/// How often a writer is refused before it gives up.
const REFUSALS_MAX: usize = 50;

/// What a process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) dir: PathBuf,
    /// Tells its batches from those of other processes.
    pub(crate) round: u32,
    pub(crate) segment_bytes: u32,
    pub(crate) overlay_bytes_max: usize,
    pub(crate) writers: u16,
    /// Threads of each writer.
    pub(crate) threads: u16,
    pub(crate) events_max: u32,
    /// A writer ends a run before it opens one in another thread.
    pub(crate) has_one_run: bool,
    /// It ends after so many acknowledgements.
    pub(crate) acks_max: u64,
}

/// What a process says, a line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It begins to open the store.
    Opening,
    /// The store cannot be opened.
    Closed(String),
    /// The store is open, and the runs that an earlier process left are closed.
    Ready,
    /// A run was opened; it is named after a batch number.
    Started { writer: u16, run: u32, name: BatchId },
    /// A batch was acknowledged.
    Acked { writer: u16, batch: BatchId, run: u32, first: u64, count: u64 },
    /// Something was refused, and the store works.
    Refused { writer: u16, is_certain: bool, what: String },
    /// Something was refused, and the store says that it takes nothing more.
    Trouble { writer: u16, what: String },
    /// All that could be read when nothing could be written.
    Readable { records: u64 },
    /// Something that must not be.
    Broken(String),
    /// All was done, and the store closed.
    Done,
}

/// The number of a batch, or of the request that opens a run: unlike any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct BatchId(pub(crate) u64);

impl BatchId {
    fn new(round: u32, slot: u16, number: u32) -> Self {
        assert!(number < 1 << 24 && round < 1 << 24, "numbers fit");
        Self(u64::from(round) << 40 | u64::from(slot) << 24 | u64::from(number))
    }

    pub(crate) const fn round(self) -> u64 {
        self.0 >> 40
    }

    /// The thread that it is for.
    pub(crate) const fn slot(self) -> u64 {
        self.0 >> 24 & 0xffff
    }

    /// The key that it is appended under, if it is.
    pub(crate) fn key(self) -> Option<AppendKey> {
        self.0.is_multiple_of(3).then(|| AppendKey::new(self.0.to_string()).expect("a short name"))
    }

    /// The name of the run that it opens.
    pub(crate) fn run_name(self) -> String {
        format!("run-{}", self.0)
    }

    /// The request that opens that run.
    pub(crate) fn request(self, slot: u16) -> String {
        let (thread, run) = (thread_name(slot), self.run_name());
        let pad = pad(self, 0);
        format!(
            r#"{{"threadId":"{thread}","runId":"{run}","state":{{}},"messages":[{{"role":"user","id":"u{}","content":"{pad}"}}],"tools":[],"context":[]}}"#,
            self.0
        )
    }

    /// An event of the batch.
    pub(crate) fn event(self, index: u32, count: u32) -> String {
        let pad = pad(self, index);
        format!(r#"{{"type":"CUSTOM","name":"load","value":"{pad}","load":[{},{index},{count}]}}"#, self.0)
    }

    /// The last event of a batch that ends a run.
    pub(crate) fn terminal(self, run_name: &str, slot: u16, index: u32, count: u32) -> String {
        let thread = thread_name(slot);
        format!(
            r#"{{"type":"RUN_FINISHED","threadId":"{thread}","runId":"{run_name}","load":[{},{index},{count}]}}"#,
            self.0
        )
    }
}

/// Some words, now and then more than a sector of them.
fn pad(batch: BatchId, index: u32) -> String {
    let mut random = Random::new(batch.0 ^ u64::from(index) << 32);
    let words = if random.chance(3) { 300 } else { random.below(24) };
    (0..words).map(|_| *random.pick(&["disk ", "sync ", "torn ", "grüße ", "log "])).collect()
}

pub(crate) fn thread_name(slot: u16) -> String {
    format!("thread-{slot}")
}

pub(crate) fn thread(slot: u16) -> ThreadKey {
    let owner = Owner::new("load").expect("a short name");
    let scope = Scope { app: owner.clone(), user: owner };
    ThreadKey::new(scope, ThreadId::new(thread_name(slot)).expect("a short name"))
}

impl Load {
    /// A load with all that goes on in a store: small segments, so that they are filled, sealed and released meanwhile.
    pub(crate) fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            round: 0,
            segment_bytes: 64 << 10,
            overlay_bytes_max: 256 << 20,
            writers: 24,
            threads: 1,
            events_max: 4,
            has_one_run: false,
            acks_max: u64::MAX,
        }
    }

    pub(crate) fn options(&self) -> DiskOptions {
        DiskOptions {
            segment_bytes: self.segment_bytes,
            overlay_bytes_max: self.overlay_bytes_max,
            // Runs that do not end keep all segments in the journal.
            segments_waiting_max: if self.has_one_run { usize::MAX } else { 2 },
            threads_max: 4,
            ..DiskOptions::new(&self.dir)
        }
    }

    pub(crate) fn slots(&self) -> std::ops::Range<u16> {
        0..self.writers * self.threads
    }

    pub(crate) fn engine(&self, store: DiskStore) -> Engine {
        let ids = Arc::new(RoundIds { round: self.round, drawn: AtomicU64::new(1) });
        let clock = Arc::new(ManualClock::default()) as Arc<dyn Clock>;
        Engine::new(Arc::new(store), clock, ids as Arc<dyn Ids>, Options::default())
    }
}

/// Incarnations that no other round draws.
#[derive(Debug)]
struct RoundIds {
    round: u32,
    drawn: AtomicU64,
}

impl Ids for RoundIds {
    fn incarnation(&self) -> Incarnation {
        Incarnation(u64::from(self.round) << 32 | self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime")
}

#[test]
#[ignore = "the process that other tests start"]
fn process() {
    let Ok(load) = std::env::var(LOAD) else { return };
    let load: Load = serde_json::from_str(&load).expect("a load");
    // The test harness has begun a line.
    say(&Said::Opening);
    match DiskStore::open(&load.options()) {
        Ok((store, _)) => runtime().block_on(work(load, store)),
        Err(error) => {
            let causes =
                std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
            let causes: Vec<String> = causes.map(ToString::to_string).collect();
            say(&Said::Closed(causes.join(": ")));
        }
    }
}

/// Whoever started this process may be gone; then it ends with the panic.
fn say(said: &Said) {
    let line = format!("\n{}\n", serde_json::to_string(said).expect("strings and numbers"));
    std::io::stdout().lock().write_all(line.as_bytes()).expect("somebody listens");
}

async fn work(load: Load, store: DiskStore) {
    let engine = load.engine(store);
    if let Err(error) = engine.close_orphans().await {
        say(&Said::Broken(format!("runs cannot be closed: {error}")));
    }
    say(&Said::Ready);
    let acks = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..load.writers)
        .map(|no| {
            let writer = Writer {
                no,
                load: load.clone(),
                engine: engine.clone(),
                random: Random::new(u64::from(load.round) << 16 | u64::from(no)),
                batches: BTreeMap::new(),
                runs: BTreeMap::new(),
                acks: Arc::clone(&acks),
                refusals: 0,
                tries_left: None,
            };
            tokio::spawn(Box::pin(writer.write()))
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer does not panic");
    }
    if engine.store().trouble().is_some() {
        let mut records = 0;
        for slot in load.slots() {
            match inspect(engine.store(), slot).await {
                Ok(seen) => records += seen.map_or(0, |seen| seen.tail),
                Err(error) => return say(&Said::Broken(format!("unreadable in trouble: {error}"))),
            }
        }
        say(&Said::Readable { records });
    }
    engine.store().close().await;
    say(&Said::Done);
}

/// One task of the load.
struct Writer {
    no: u16,
    load: Load,
    engine: Engine,
    random: Random,
    /// How many batches each thread has got.
    batches: BTreeMap<u16, u32>,
    /// The run of each thread that goes on.
    runs: BTreeMap<u16, (RunWriter, BatchId)>,
    acks: Arc<AtomicU64>,
    refusals: usize,
    /// How often it tries, although the store takes nothing more.
    tries_left: Option<usize>,
}

impl Writer {
    async fn write(mut self) {
        while self.acks.load(Ordering::Relaxed) < self.load.acks_max
            && self.refusals < REFUSALS_MAX
            && self.tries_left != Some(0)
        {
            let drawn = u16::try_from(self.random.below(self.load.threads.into())).expect("few threads");
            let busy = self.runs.keys().next().filter(|_| self.load.has_one_run);
            let slot = busy.copied().unwrap_or(self.no * self.load.threads + drawn);
            match self.runs.get(&slot).cloned() {
                None => self.start(slot).await,
                Some((run, name)) if self.random.chance(12) => {
                    let batch = self.batch(slot, Some(name));
                    self.append(&run, batch).await;
                    self.runs.remove(&slot);
                }
                Some((run, _)) => {
                    let batch = self.batch(slot, None);
                    self.append(&run, batch).await;
                }
            }
            self.do_chores().await;
        }
    }

    /// What goes on beside writing. Whatever becomes of it, nothing may be lost.
    async fn do_chores(&mut self) {
        match (self.no, self.random.below(60)) {
            (0, 0) => drop(self.engine.store().tidy().await),
            (1, 0) => {
                drop(self.engine.store().threads(&ThreadQuery { limit: 10, ..ThreadQuery::default() }).await);
            }
            _ => {}
        }
    }

    fn next_id(&mut self, slot: u16) -> BatchId {
        let number = self.batches.entry(slot).or_default();
        *number += 1;
        BatchId::new(self.load.round, slot, *number)
    }

    async fn start(&mut self, slot: u16) {
        let name = self.next_id(slot);
        let start = StartRun {
            thread: thread(slot),
            request: name.request(slot).into(),
            history: HistoryMode::Client,
            agent: None,
        };
        match self.engine.start_run(start).await {
            Ok(Started::New(run)) => {
                say(&Said::Started { writer: self.no, run: run.run.0, name });
                self.runs.insert(slot, (run, name));
            }
            Ok(Started::Known(run)) => say(&Said::Broken(format!("a new run is known. run={}", run.0))),
            Err(error) => self.refused(&error),
        }
    }

    /// The next batch of a thread, which ends the run of this name.
    fn batch(&mut self, slot: u16, ends: Option<BatchId>) -> (BatchId, Batch) {
        let id = self.next_id(slot);
        let events_max = usize::try_from(self.load.events_max).expect("a few");
        let count = u32::try_from(1 + self.random.below(events_max)).expect("a few");
        let events = (0..count).map(|index| match ends {
            Some(run) if index + 1 == count => id.terminal(&run.run_name(), slot, index, count),
            _ => id.event(index, count),
        });
        let records = events.map(NewRecord::event).collect();
        let end = ends.map(|_| RunEnd {
            status: RunStatus::Finished,
            outcome: None,
            error_code: None,
            usage: None,
            interrupts: Vec::new(),
        });
        (id, Batch { records, key: id.key(), expected_tail: None, end })
    }

    /// Appends, sometimes twice at once, and says so.
    async fn append(&mut self, run: &RunWriter, (id, batch): (BatchId, Batch)) {
        let is_repeated = batch.key.is_some() && self.random.chance(30);
        let repetition = is_repeated.then(|| batch.clone());
        let again = async {
            match repetition {
                Some(batch) => Some(self.engine.append(run, batch).await),
                None => None,
            }
        };
        let (first, again) = tokio::join!(self.engine.append(run, batch), again);
        match (&first, &again) {
            (Ok(one), Some(Ok(other))) if !is_same(one, other) => {
                say(&Said::Broken(format!("a repetition landed elsewhere: {one:?}, {other:?}")));
            }
            _ => {}
        }
        match (first, again) {
            (Ok(ack), _) | (Err(_), Some(Ok(ack))) => {
                self.acks.fetch_add(1, Ordering::Relaxed);
                let Ack { first, count, .. } = ack;
                say(&Said::Acked { writer: self.no, batch: id, run: run.run.0, first, count });
            }
            (Err(error), _) => self.refused(&error),
        }
    }

    fn refused(&mut self, error: &Error) {
        self.refusals += 1;
        let (writer, what) = (self.no, error.to_string());
        match self.engine.store().trouble() {
            Some(trouble) => {
                say(&Said::Trouble { writer, what: format!("{trouble}; {what}") });
                self.tries_left = Some(self.tries_left.map_or(TRIES_IN_TROUBLE, |left| left - 1));
            }
            None => {
                let is_certain = error.kind() != ErrorKind::Indeterminate;
                say(&Said::Refused { writer, is_certain, what });
            }
        }
    }
}

fn is_same(one: &Ack, other: &Ack) -> bool {
    one.repeated != other.repeated && one.offsets() == other.offsets()
}
