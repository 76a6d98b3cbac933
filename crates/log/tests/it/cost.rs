//! What it costs to start and end a run does not depend on how many there were before.

use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use threadline_log::clock::{Clock, Ids};
use threadline_log::kin::{Kin, Sought};
use threadline_log::names::Owner;
use threadline_log::run::{RunEnd, RunInfo};
use threadline_log::store::{Append, Appending, Claim, OpenRun, Opened, Page, ThreadSeen};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use threadline_log::transfer::{ExportForm, ImportOptions};
use threadline_log::{
    At, Batch, Checkpoint, Engine, Epoch, Error, HistoryMode, Incarnation, MemoryStore, NewRecord, Options,
    RunNo, Scope, StartRun, Started, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_protocol::Received;
use threadline_protocol::stages::close::Cause;

/// Counts the runs that a store is asked for.
#[derive(Debug, Default)]
struct Counting {
    store: MemoryStore,
    given: AtomicUsize,
}

impl Counting {
    fn take(&self) -> usize {
        self.given.swap(0, Ordering::Relaxed)
    }

    fn give(&self, count: usize) {
        self.given.fetch_add(count, Ordering::Relaxed);
    }
}

#[async_trait]
impl Store for Counting {
    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        let runs = self.store.runs(thread).await?;
        self.give(runs.len());
        Ok(runs)
    }

    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error> {
        self.give(1);
        self.store.run(thread, run).await
    }

    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        let kin = self.store.kin(thread, sought).await?;
        self.give(kin.runs.len() + kin.histories.len() + kin.interrupts.len() + kin.unfolded.len());
        Ok(kin)
    }

    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error> {
        self.store.open_run(open).await
    }

    fn append(&self, append: Append) -> Appending {
        self.store.append(append)
    }

    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        self.store.claim(thread, run, epoch, claim, time).await
    }

    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.store.describe(thread, change, time).await
    }

    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.store.put_checkpoint(thread, first_of, checkpoint, time).await
    }

    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error> {
        self.store.trim(thread, first, time).await
    }

    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error> {
        self.store.compact_run(thread, run, time).await
    }

    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        time: Timestamp,
    ) -> Result<(), Error> {
        self.store.delete(thread, seen, time).await
    }

    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        self.store.thread(thread).await
    }

    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        self.store.request(thread, run).await
    }

    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error> {
        self.store.checkpoint(thread, run).await
    }

    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        self.store.read(thread, offsets, run, bytes_max).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        self.store.threads(query).await
    }

    async fn usage(&self, scope: &Scope) -> Result<Usage, Error> {
        self.store.usage(scope).await
    }

    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.store.expired(time).await
    }

    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        self.store.unfolded().await
    }

    async fn tidy(&self) -> Result<(), Error> {
        self.store.tidy().await
    }

    fn tidy_every(&self) -> Duration {
        self.store.tidy_every()
    }

    fn trouble(&self) -> Option<String> {
        self.store.trouble()
    }

    fn ailments(&self) -> Vec<String> {
        self.store.ailments()
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp(1_000)
    }
}

impl Ids for Fixed {
    fn incarnation(&self) -> Incarnation {
        Incarnation(1)
    }
}

fn engine() -> (Arc<Counting>, Engine) {
    let store = Arc::new(Counting::default());
    let engine = Engine::new(
        Arc::clone(&store) as Arc<dyn Store>,
        Arc::new(Fixed),
        Arc::new(Fixed),
        Options::default(),
    );
    (store, engine)
}

fn thread() -> ThreadKey {
    let owner = Owner::new("o").expect("a short name");
    let scope = Scope { app: owner.clone(), user: owner };
    ThreadKey::new(scope, ThreadId::new("t").expect("a short name"))
}

async fn converse(engine: &Engine, thread: &ThreadKey, run: usize, content: &str) {
    let request = format!(
        r#"{{"threadId":"t","runId":"r{run}","state":{{}},"messages":[{{"id":"u{run}","role":"user","content":"{content}"}}],"tools":[],"context":[]}}"#
    );
    let start = StartRun {
        thread: thread.clone(),
        request: request.into(),
        history: HistoryMode::Client,
        agent: None,
    };
    let Ok(Started::New(writer)) = engine.start_run(start).await else { panic!("no run") };
    let finished = format!(r#"{{"type":"RUN_FINISHED","threadId":"t","runId":"r{run}"}}"#);
    let end = RunEnd::of(Received::read(&finished).expect("an event").event());
    let batch = Batch { records: vec![NewRecord::event(finished)], end, ..Batch::default() };
    engine.append(&writer, batch).await.expect("it ends");
}

#[tokio::test]
async fn a_run_looks_at_few_others_however_many_there_are() {
    let (store, engine) = engine();
    let t = thread();
    let mut most = [0; 2];
    for run in 0..200 {
        converse(&engine, &t, run, "x").await;
        let given = store.take();
        let half = &mut most[usize::from(run >= 100)];
        *half = given.max(*half);
        engine.snapshot(&t, At::Head).await.expect("it is there");
        assert!(store.take() <= 40, "history, run {run}");
    }
    // The branch is read back to the last full checkpoint, which is at most 16 runs away.
    assert!(most[1] <= most[0] && most[0] <= 80, "{most:?}");

    let mut exporter = engine.export(&t, ExportForm::Raw).await.expect("it is exported");
    let (store, engine) = self::engine();
    let options =
        ImportOptions { scope: None, default_scope: t.scope.clone(), thread: None, cause: Cause::Truncated };
    let mut importer = engine.import(options);
    while let Some(lines) = exporter.next().await.expect("it is exported") {
        for line in String::from_utf8(lines).expect("JSON").lines() {
            importer.push(line).await.expect("it makes sense");
        }
    }
    importer.finish().await.expect("all of it is there");
    let given = store.take();
    assert!(given <= 200 * 80, "{given}");
}

#[tokio::test]
async fn runs_since_the_last_full_checkpoint_may_be_more_than_is_held_at_once() {
    let (_, engine) = engine();
    let t = thread();
    let content = "x".repeat(1024 * 1024);
    for run in 0..6 {
        converse(&engine, &t, run, &content).await;
    }
    let fold = engine.snapshot(&t, At::Head).await.expect("it is there").fold;
    let ids: Vec<_> = fold.messages().filter_map(|message| Some(message.id()?.to_string())).collect();
    assert_eq!(ids, ["u0", "u1", "u2", "u3", "u4", "u5"]);
}
