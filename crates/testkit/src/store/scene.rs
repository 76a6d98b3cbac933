//! A store and how laws talk to it: what they do not say is filled in.

use super::{Ending, Harness};
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use threadline_log::chain::{Chain, ChainValue, Chained, RunDigest};
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunInfo, RunLineage, RunStatus};
use threadline_log::store::{Ack, Append, OpenRun, Opened, Page, RunsSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery};
use threadline_log::{
    AppendKey, Checkpoint, Epoch, Incarnation, NewRecord, Record, RunId, RunNo, Scope, Store, ThreadId,
    ThreadKey, Timestamp,
};

/// When things happen, if a law does not say.
pub(super) const NOW: Timestamp = Timestamp(1_000);
/// Until when runs are leased, if a law does not say.
pub(super) const LEASE: Timestamp = Timestamp(60_000);

/// Where a law looks, ends the store and looks again: the last is there for what comes before it.
pub(super) const ENDINGS: [Ending; 3] = [Ending::Clean, Ending::Crash, Ending::Clean];

/// A store that a law is tried on.
pub struct Scene {
    // Dropped before the place where it lives.
    pub(super) store: Arc<dyn Store>,
    harness: Box<dyn Harness>,
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.harness, f)
    }
}

impl Scene {
    pub(super) async fn new(harness: Box<dyn Harness>) -> Self {
        let store = harness.open().await;
        Self { store, harness }
    }

    pub(super) async fn reopen(self, ending: Ending) -> Self {
        let store = self.harness.reopen(self.store, ending).await;
        Self { store, harness: self.harness }
    }

    pub(super) fn lasts(&self) -> bool {
        self.harness.lasts()
    }

    /// A run to be opened by who knows all runs that there are.
    pub(super) async fn opening(&self, thread: &ThreadKey, id: &str) -> OpenRun {
        let runs = self.store.runs(thread).await.unwrap_or_default();
        opening(thread, id, seen(&runs))
    }

    /// A run with one record.
    pub(super) async fn open(&self, thread: &ThreadKey, id: &str) -> Opened {
        self.store.open_run(self.opening(thread, id).await).await.expect("a run is opened")
    }

    /// A run that is opened and has ended, two records.
    pub(super) async fn open_and_end(&self, thread: &ThreadKey, id: &str) -> Opened {
        let opened = self.open(thread, id).await;
        self.end(thread, opened.run).await;
        opened
    }

    pub(super) async fn append(&self, thread: &ThreadKey, run: RunNo, texts: &[&str]) -> Ack {
        let records = texts.iter().map(|text| event(text)).collect();
        let append = Append { records, ..appending(thread, run) };
        self.store.append(append).await.expect("events are appended")
    }

    pub(super) async fn end(&self, thread: &ThreadKey, run: RunNo) -> Ack {
        let append = Append { end: Some(ended(RunStatus::Finished).into()), ..appending(thread, run) };
        self.store.append(append).await.expect("a run is ended")
    }

    pub(super) async fn put_checkpoint(&self, thread: &ThreadKey, checkpoint: Checkpoint) {
        self.store.put_checkpoint(thread, None, checkpoint, NOW).await.expect("a checkpoint is kept");
    }

    pub(super) async fn info(&self, thread: &ThreadKey) -> ThreadInfo {
        self.store.thread(thread).await.expect("the thread is there")
    }

    pub(super) async fn runs(&self, thread: &ThreadKey) -> Vec<RunInfo> {
        self.store.runs(thread).await.expect("the thread is there")
    }

    pub(super) async fn run(&self, thread: &ThreadKey, run: RunNo) -> RunInfo {
        self.runs(thread).await.swap_remove(run.index())
    }

    /// Everything that can be read of a range, in one page.
    pub(super) async fn read(&self, thread: &ThreadKey, offsets: Range<u64>, run: Option<RunNo>) -> Page {
        self.store.read(thread, offsets, run, usize::MAX).await.expect("records are read")
    }

    /// Everything that can be read.
    pub(super) async fn records(&self, thread: &ThreadKey) -> Vec<Record> {
        let tail = self.info(thread).await.offsets.end;
        self.read(thread, 0..tail, None).await.records
    }

    /// What a list says, when it shows all that was written.
    pub(super) async fn list(&self, query: &ThreadQuery) -> Vec<ThreadInfo> {
        self.settle().await;
        self.store.threads(query).await.expect("threads are listed")
    }

    /// The ids of the threads of a list.
    pub(super) async fn list_names(&self, query: &ThreadQuery) -> Vec<String> {
        self.list(query).await.into_iter().map(|thread| thread.key.thread.to_string()).collect()
    }

    pub(super) async fn settle(&self) {
        self.harness.settle(&*self.store).await;
    }
}

pub(super) fn owner(name: &str) -> Owner {
    Owner::new(name).expect("a short name")
}

pub(super) fn scope(app: &str, user: &str) -> Scope {
    Scope { app: owner(app), user: owner(user) }
}

/// A thread of one scope that most laws use.
pub(super) fn thread(id: &str) -> ThreadKey {
    ThreadKey::new(scope("app", "user"), thread_id(id))
}

pub(super) fn thread_id(id: &str) -> ThreadId {
    ThreadId::new(id).expect("a short name")
}

pub(super) fn key(key: &str) -> Option<AppendKey> {
    Some(AppendKey::new(key).expect("a short name"))
}

pub(super) fn event(text: &str) -> NewRecord {
    NewRecord::event(Bytes::copy_from_slice(text.as_bytes()))
}

pub(super) fn ended(status: RunStatus) -> RunEnd {
    RunEnd { status, outcome: None, error_code: None, usage: None, interrupts: Vec::new() }
}

pub(super) fn opening(thread: &ThreadKey, id: &str, seen: RunsSeen) -> OpenRun {
    OpenRun {
        thread: thread.clone(),
        incarnation: Incarnation(1),
        metadata: MetadataChange::default(),
        seen,
        id: RunId::new(id).expect("a short name"),
        parent: None,
        spawned_by: None,
        base_state: BaseState::Branch,
        request: Bytes::from_static(b"{}"),
        request_digest: "digest".to_owned(),
        records: vec![event("start")],
        key: None,
        expected_tail: None,
        end: None,
        lease_until: LEASE,
        time: NOW,
    }
}

/// One event, by the first writer of a run.
pub(super) fn appending(thread: &ThreadKey, run: RunNo) -> Append {
    Append {
        thread: thread.clone(),
        incarnation: None,
        run,
        epoch: Epoch(1),
        records: vec![event("event")],
        key: None,
        expected_tail: None,
        end: None,
        time: NOW,
    }
}

pub(super) fn checkpoint(run: RunNo, delta: &str) -> Checkpoint {
    let delta = Bytes::copy_from_slice(delta.as_bytes());
    let lineage = RunLineage { said: 1, hash: u64::MAX, ids: vec![0, 1, u64::MAX] };
    let thread = Chain { from: 1, at: 7, value: ChainValue([7; 32]) };
    let events = RunDigest { count: 2, value: ChainValue([0xab; 32]) };
    let chained = Some(Chained { thread, events });
    Checkpoint { run, version: 1, delta, stands_alone: false, full: None, lineage, chained }
}

/// A message as it stands in a checkpoint.
pub(super) fn said(text: &str) -> String {
    let event = serde_json::json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text});
    format!("{event}\n")
}

/// How far somebody knows the runs who has seen these.
pub(super) fn seen(runs: &[RunInfo]) -> RunsSeen {
    let count = |number: usize| u32::try_from(number).expect("few runs");
    RunsSeen { opened: count(runs.len()), ended: count(runs.iter().filter(|run| !run.is_running()).count()) }
}

pub(super) fn everything() -> ThreadQuery {
    ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() }
}

/// The bytes of records as texts.
pub(super) fn texts(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| String::from_utf8_lossy(&record.bytes).into_owned()).collect()
}

/// The offsets of records.
pub(super) fn offsets(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.offset).collect()
}
