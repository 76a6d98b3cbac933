//! An engine on a store, and how laws talk to it.

use crate::store::{Ending, Harness, runtime};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use threadline_log::clock::{Clock, Ids};
use threadline_log::names::Owner;
use threadline_log::run::{RunEnd, RunInfo};
use threadline_log::{
    At, Batch, Engine, Error, HistoryMode, Incarnation, MemoryStore, NewRecord, Options, RunNo, RunWriter,
    Scope, StartRun, Started, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_protocol::Received;
use threadline_protocol::stages::fold::Fold;

/// A clock that goes when it is told to.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Lets time pass.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// Ids that count.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn incarnation(&self) -> Incarnation {
        Incarnation(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Makes places for stores of the kind that a law is tried on.
#[derive(Clone)]
struct Harnesses(Arc<dyn Fn() -> Box<dyn Harness> + Send + Sync>);

impl fmt::Debug for Harnesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Harnesses")
    }
}

/// An engine on a store that a law is tried on.
#[derive(Debug)]
pub struct Stage {
    harnesses: Harnesses,
    harness: Box<dyn Harness>,
    pub(super) store: Arc<dyn Store>,
    pub(super) engine: Engine,
    pub(super) clock: Arc<ManualClock>,
    ids: Arc<CountingIds>,
}

/// Tries a law, on two threads.
///
/// # Panics
/// If it does not hold.
pub fn play<H: Harness + 'static, F: Future<Output = ()>>(
    harness: impl Fn() -> H + Send + Sync + 'static,
    law: impl Fn(Stage) -> F,
) {
    let harnesses = Harnesses(Arc::new(move || Box::new(harness())));
    runtime().block_on(async {
        let stage = Stage::new(harnesses).await;
        Box::pin(law(stage)).await;
    });
}

impl Stage {
    /// How many random cases a law is tried with.
    pub(super) fn cases(&self) -> u64 {
        let told = std::env::var("THREADLINE_ENGINE_CASES").ok().and_then(|cases| cases.parse().ok());
        told.unwrap_or_else(|| self.harness.engine_cases())
    }

    async fn new(harnesses: Harnesses) -> Self {
        let harness = harnesses.0();
        let store = harness.open().await;
        let (clock, ids) = (Arc::new(ManualClock::default()), Arc::new(CountingIds::default()));
        clock.advance(1_000);
        let engine = new_engine(&store, &clock, &ids);
        Self { harnesses, harness, store, engine, clock, ids }
    }

    /// Another one, on an empty store of the same kind.
    pub(super) async fn another(&self) -> Self {
        Self::new(self.harnesses.clone()).await
    }

    /// The same after the store was ended and opened again.
    pub(super) async fn reopen(self, ending: Ending) -> Self {
        let Self { harnesses, harness, store, engine, clock, ids } = self;
        drop(engine);
        let store = harness.reopen(store, ending).await;
        let engine = new_engine(&store, &clock, &ids);
        Self { harnesses, harness, store, engine, clock, ids }
    }

    pub(super) fn lasts(&self) -> bool {
        self.harness.lasts()
    }

    /// Returns when lists show all that was written.
    pub(super) async fn settle(&self) {
        self.harness.settle(&*self.store).await;
    }

    /// Another engine on the same store, as another process has one. None if the store can be had only once.
    pub(super) async fn second(&self) -> Option<Engine> {
        let store = self.harness.second().await?;
        Some(new_engine(&store, &self.clock, &self.ids))
    }

    /// Another engine, on a store of its own in memory.
    pub(super) fn other(&self) -> Engine {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        new_engine(&store, &self.clock, &self.ids)
    }

    /// Asks for a run.
    pub(super) async fn ask(&self, thread: &ThreadKey, request: &Value) -> Result<Started, Error> {
        self.ask_with(thread, request, HistoryMode::Client).await
    }

    /// The same where somebody else may keep the history.
    pub(super) async fn ask_with(
        &self,
        thread: &ThreadKey,
        request: &Value,
        history: HistoryMode,
    ) -> Result<Started, Error> {
        let (thread, request) = (thread.clone(), request.to_string().into());
        let start = StartRun { thread, request, history, agent: None };
        self.clock.advance(1);
        self.engine.start_run(start).await
    }

    /// Opens a run.
    pub(super) async fn start(&self, thread: &ThreadKey, request: &Value) -> RunWriter {
        match self.ask(thread, request).await {
            Ok(Started::New(writer)) => writer,
            other => panic!("no run was opened: {other:?}"),
        }
    }

    /// Opens a run that answers whatever its parent has asked.
    pub(super) async fn start_answering(&self, thread: &ThreadKey, mut request: Value) -> RunWriter {
        match self.ask(thread, &request).await {
            Ok(Started::New(writer)) => writer,
            Err(Error::InterruptsOpen(ids)) => {
                let answer = |id: &String| json!({"interruptId": id, "status": "cancelled"});
                request["resume"] = ids.iter().map(answer).collect();
                self.start(thread, &request).await
            }
            other => panic!("no run was opened: {other:?}"),
        }
    }

    /// Appends events, and ends the run with the last if that is a terminal.
    pub(super) async fn say(&self, writer: &RunWriter, events: &[Value]) {
        self.clock.advance(1);
        let records = events.iter().map(|event| NewRecord::event(event.to_string())).collect();
        let end = events.last().and_then(|last| end_of(&last.to_string()));
        let batch = Batch { records, end, ..Batch::default() };
        self.engine.append(writer, batch).await.expect("events are appended");
    }

    /// A whole run, whose agent answers with one message of its own, named after the run.
    pub(super) async fn converse(&self, thread: &ThreadKey, request: &Value) -> RunNo {
        let writer = self.start(thread, request).await;
        let run = request["runId"].as_str().expect("a run id");
        self.say(&writer, &answer(run)).await;
        self.say(&writer, &[finished(thread, run)]).await;
        writer.run
    }

    pub(super) async fn runs(&self, thread: &ThreadKey) -> Vec<RunInfo> {
        self.store.runs(thread).await.expect("the thread is there")
    }

    /// The id of the run that a run continues.
    pub(super) async fn parent(&self, thread: &ThreadKey, run: RunNo) -> Option<String> {
        let runs = self.runs(thread).await;
        runs[run.index()].parent.map(|parent| runs[parent.index()].id.to_string())
    }

    pub(super) async fn fold(&self, thread: &ThreadKey, at: At) -> Fold {
        self.engine.snapshot(thread, at).await.expect("a point that can be seen").fold
    }
}

fn new_engine(store: &Arc<dyn Store>, clock: &Arc<ManualClock>, ids: &Arc<CountingIds>) -> Engine {
    let options = Options { full_checkpoint_runs_max: 3, lease_ms: 30_000 };
    Engine::new(
        Arc::clone(store),
        Arc::clone(clock) as Arc<dyn Clock>,
        Arc::clone(ids) as Arc<dyn Ids>,
        options,
    )
}

pub(super) fn thread(id: &str) -> ThreadKey {
    let owner = |name| Owner::new(name).expect("a short name");
    let scope = Scope { app: owner("app"), user: owner("user") };
    ThreadKey::new(scope, ThreadId::new(id).expect("a short name"))
}

/// A request of a client that holds these messages: those of users begin with `u`.
pub(super) fn request(thread: &ThreadKey, run: &str, messages: &[&str]) -> Value {
    let message = |id: &&str| {
        let role = if id.starts_with('u') { "user" } else { "assistant" };
        json!({"role": role, "id": id, "content": format!("says {id}")})
    };
    let messages: Vec<Value> = messages.iter().map(message).collect();
    json!({"threadId": thread.thread.as_str(), "runId": run, "state": {"of": run}, "messages": messages,
        "tools": [], "context": []})
}

/// The agent's message in a run.
pub(super) fn answer(run: &str) -> Vec<Value> {
    let id = format!("a-{run}");
    vec![
        json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "says "}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": id}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
    ]
}

pub(super) fn finished(thread: &ThreadKey, run: &str) -> Value {
    json!({"type": "RUN_FINISHED", "threadId": thread.thread.as_str(), "runId": run})
}

pub(super) fn end_of(json: &str) -> Option<RunEnd> {
    RunEnd::of(Received::read(json).ok()?.event())
}

/// The ids of the messages, in order.
pub(super) fn ids(fold: &Fold) -> Vec<String> {
    fold.messages().filter_map(|message| message.id().map(ToString::to_string)).collect()
}

/// What a client would show.
pub(super) fn seen(fold: &Fold) -> String {
    let messages: Vec<String> = fold.messages().map(|message| message.to_json()).collect();
    let pending: Vec<String> = fold.pending_tool_calls().iter().map(ToString::to_string).collect();
    let interrupts: Vec<String> = fold.interrupts().iter().map(|interrupt| interrupt.to_json()).collect();
    format!("{messages:?}\n{}\n{pending:?}\n{interrupts:?}", fold.state().as_str())
}
