//! Runs that are stored a little later.

#![expect(clippy::unwrap_used, reason = "what tests are helped by is part of them")]

use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threadline_log::buffered::{Aggregator, Aggregators, BufferOptions, BufferedWriter};
use threadline_log::names::Owner;
use threadline_log::run::{RunEnd, RunStatus};
use threadline_log::{
    Engine, Error, HistoryMode, Kind, NewRecord, Options, Record, RunNo, RunWriter, Scope, StartRun, Started,
    ThreadId, ThreadKey,
};
use threadline_protocol::Received;
use threadline_testkit::engine::{CountingIds, ManualClock};
use threadline_testkit::store::{Gate, GatedStore};
use tokio::time::{Instant, advance, timeout};

const LONG: Duration = Duration::from_secs(3600);

struct Scene {
    store: Arc<GatedStore>,
    engine: Engine,
    run: RunWriter,
}

impl Scene {
    async fn new() -> Self {
        let store = Arc::new(GatedStore::default());
        let (clock, ids) = (Arc::<ManualClock>::default(), Arc::<CountingIds>::default());
        let engine = Engine::new(store.clone(), clock, ids, Options::default());
        let owner = || Owner::new("o").unwrap();
        let thread = ThreadKey::new(Scope { app: owner(), user: owner() }, ThreadId::new("t").unwrap());
        let request = json!({"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []});
        let start = StartRun {
            thread,
            request: request.to_string().into(),
            history: HistoryMode::Client,
            agent: None,
        };
        let Started::New(run) = engine.start_run(start).await.unwrap() else { panic!("a run") };
        Self { store, engine, run }
    }

    fn writer(&self, options: &BufferOptions) -> BufferedWriter {
        let aggregator = Aggregators::merging().of(&self.run.thread, self.run.incarnation);
        BufferedWriter::new(self.engine.clone(), self.run.clone(), aggregator, options)
    }

    /// What is stored of the run, but for its start.
    async fn stored(&self) -> Vec<Record> {
        let page = self.engine.read(&self.run.thread, 1..u64::MAX, None, usize::MAX).await.unwrap();
        page.records
    }

    async fn status(&self) -> RunStatus {
        self.engine.run(&self.run.thread, self.run.run).await.unwrap().status()
    }
}

fn piece(delta: &str) -> Vec<NewRecord> {
    let event = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta});
    vec![NewRecord::event(event.to_string())]
}

fn end() -> (Vec<NewRecord>, RunEnd) {
    let event = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
    (vec![NewRecord::event(event)], RunEnd::of(Received::read(event).unwrap().event()).unwrap())
}

fn options(flush: Option<Duration>, finalization: Option<Duration>) -> BufferOptions {
    BufferOptions { flush_interval: flush, finalization_timeout: finalization, ..BufferOptions::default() }
}

/// Lets a second of the paused clock pass, and all others do what they can.
async fn second() {
    // Before, so that whoever waits for it does.
    tokio::task::yield_now().await;
    advance(Duration::from_secs(1)).await;
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_stored_when_its_time_has_come() {
    let scene = Scene::new().await;
    let writer = scene.writer(&BufferOptions::default());
    writer.append(piece("a")).await.unwrap();
    writer.append(piece("b")).await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(scene.stored().await, []);
    second().await;
    let stored = scene.stored().await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].kind, Kind::Transcoded);
    assert!(stored[0].bytes.ends_with(br#""delta":"ab"}"#));
    // One that has nothing to do does nothing.
    second().await;
    assert_eq!(scene.store.tried(), 1);
    writer.append(piece("c")).await.unwrap();
    second().await;
    assert_eq!(scene.stored().await.len(), 2);
    let (records, end) = end();
    writer.finish(records, end).await.unwrap();
    assert_eq!(scene.status().await, RunStatus::Finished);
    assert_eq!(scene.stored().await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_an_interval_everything_is_stored_at_the_end() {
    let scene = Scene::new().await;
    let writer = scene.writer(&options(None, None));
    writer.append(piece("a")).await.unwrap();
    for _ in 0..100 {
        second().await;
    }
    assert_eq!(scene.store.tried(), 0);
    let (records, end) = end();
    writer.finish(records, end).await.unwrap();
    assert_eq!(scene.store.tried(), 1);
    let stored = scene.stored().await;
    assert_eq!(stored.iter().map(|record| record.kind).collect::<Vec<_>>(), [Kind::Event, Kind::Event]);
}

#[tokio::test(start_paused = true)]
async fn who_is_ahead_of_the_store_waits_for_it() {
    let scene = Scene::new().await;
    let bytes = u32::try_from(piece("a")[0].bytes.len()).unwrap();
    let writer = scene.writer(&BufferOptions { bytes_max: 2 * bytes, ..options(None, None) });
    scene.store.set(Gate::Shut);
    writer.append(piece("a")).await.unwrap();
    writer.append(piece("b")).await.unwrap();
    assert_eq!(scene.store.tried(), 0);
    {
        let third = writer.append(piece("c"));
        assert!(timeout(LONG, third).await.is_err(), "no room");
    }
    // What did not fit was what made it store the rest; who gave up left nothing.
    assert_eq!(scene.store.tried(), 1);
    scene.store.set(Gate::Open);
    // More than there will ever be room for goes alone.
    writer.append(piece("much more than fits")).await.unwrap();
    let (records, end) = end();
    writer.finish(records, end).await.unwrap();
    let stored = scene.stored().await;
    let deltas: Vec<_> = stored.iter().map(|one| String::from_utf8_lossy(&one.bytes).into_owned()).collect();
    assert_eq!(deltas.len(), 3, "{deltas:?}");
    assert!(deltas[0].contains(r#""ab""#) && deltas[1].contains("much more"), "{deltas:?}");
}

#[tokio::test(start_paused = true)]
async fn a_flush_that_fails_is_the_last_one() {
    let scene = Scene::new().await;
    let writer = scene.writer(&BufferOptions::default());
    scene.store.set(Gate::Broken);
    writer.append(piece("a")).await.unwrap();
    let error = timeout(LONG, writer.failed()).await.unwrap();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    scene.store.set(Gate::Open);
    assert_eq!(writer.append(piece("b")).await, Err(error.clone()));
    let (records, end) = end();
    assert_eq!(writer.finish(records, end).await, Err(error));
    second().await;
    assert_eq!((scene.store.tried(), scene.stored().await), (1, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_takes_too_long_is_not_waited_for() {
    for (limit, waits) in [(Some(Duration::from_secs(5)), 5), (Some(Duration::from_millis(50)), 0)] {
        let scene = Scene::new().await;
        let writer = scene.writer(&options(None, limit));
        scene.store.set(Gate::Shut);
        let (records, end) = end();
        let begin = Instant::now();
        let error = writer.finish(records, end).await.unwrap_err();
        assert!(matches!(error, Error::Indeterminate(_)), "{error}");
        assert_eq!(begin.elapsed().as_secs(), waits);
        // It is stored nevertheless, if the store comes back.
        scene.store.set(Gate::Open);
        second().await;
        assert_eq!(scene.status().await, RunStatus::Finished);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_may_take_as_long_as_it_takes() {
    let scene = Scene::new().await;
    let writer = scene.writer(&options(None, None));
    scene.store.set(Gate::Shut);
    let (records, end) = end();
    let finished = tokio::spawn(writer.finish(records, end));
    scene.store.wait_for(1).await;
    advance(LONG).await;
    assert!(!finished.is_finished());
    scene.store.set(Gate::Open);
    finished.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_drops_a_writer_gives_up_what_it_holds() {
    let scene = Scene::new().await;
    let writer = scene.writer(&BufferOptions::default());
    writer.append(piece("a")).await.unwrap();
    drop(writer);
    second().await;
    assert_eq!((scene.store.tried(), scene.status().await), (0, RunStatus::Running));
}

/// Keeps the last of what it was given.
#[derive(Debug, Default)]
struct LastOnly(Mutex<Option<NewRecord>>);

impl Aggregator for LastOnly {
    fn push(&self, _run: RunNo, record: NewRecord) -> Vec<NewRecord> {
        self.0.lock().unwrap().replace(record);
        Vec::new()
    }

    fn flush(&self, _run: RunNo) -> Vec<NewRecord> {
        self.0.lock().unwrap().take().into_iter().collect()
    }
}

#[tokio::test(start_paused = true)]
async fn an_aggregator_may_be_ones_own() {
    let scene = Scene::new().await;
    let aggregators = Aggregators::new(|thread| {
        assert_eq!(thread.thread.as_str(), "t");
        Arc::new(LastOnly::default())
    });
    let aggregator = aggregators.of(&scene.run.thread, scene.run.incarnation);
    let writer =
        BufferedWriter::new(scene.engine.clone(), scene.run.clone(), aggregator, &BufferOptions::default());
    writer.append(piece("a")).await.unwrap();
    writer.append(piece("b")).await.unwrap();
    second().await;
    let (records, end) = end();
    writer.finish(records, end).await.unwrap();
    assert_eq!(scene.stored().await.len(), 2);
}
