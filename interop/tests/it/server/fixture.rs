//! A server on a port of its own, with the demo agent or with one that plays a script.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use threadline_agent::RunOptions;
use threadline_agent::demo::Demo;
use threadline_log::clock::{Clock, Ids};
use threadline_log::{Engine, Incarnation, Options, ThreadId, ThreadKey, Timestamp};
use threadline_server::access::Caller;
use threadline_server::agents::{Backend, Hosted, Upstream as Agent};
use threadline_server::settings::AgentSettings;
use threadline_server::{Agents, App, Settings, serve};
use threadline_testkit::store::GatedStore;
use threadline_testkit::upstream::{Request, Signal, Step, Upstream, chunk, head, last_chunk};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

#[derive(Debug, Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Ids for Counted {
    fn incarnation(&self) -> Incarnation {
        Incarnation(self.0.fetch_add(1, Ordering::SeqCst) + 7)
    }
}

/// A server that goes when it is dropped.
pub(crate) struct Server {
    pub(crate) app: App,
    /// What goes wrong there if a test wants it.
    pub(crate) store: Arc<GatedStore>,
    address: SocketAddr,
    upstream: Option<Upstream>,
    runtime: Runtime,
}

impl Server {
    /// With the demo agent.
    pub(crate) fn with_demo() -> Self {
        let demo = Demo::new().with_interval(Duration::ZERO);
        let hosted = Hosted::new(Arc::new(demo), RunOptions::new());
        Self::start(runtime(), Settings::default(), Arc::new(hosted), None)
    }

    /// With an agent that plays the first script in its first run, and so on.
    pub(crate) fn with_scripts(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        Self::with(Settings::default(), scripts)
    }

    pub(crate) fn with(settings: Settings, scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let runtime = runtime();
        let upstream = runtime.block_on(Upstream::start(scripts));
        let agent = Agent::new(&AgentSettings::at(upstream.url("/")), settings.runs.run_bytes_max);
        Self::start(runtime, settings, Arc::new(agent.expect("a good URL")), Some(upstream))
    }

    fn start(
        runtime: Runtime,
        settings: Settings,
        agent: Arc<dyn Backend>,
        upstream: Option<Upstream>,
    ) -> Self {
        let (clock, ids) = (Arc::new(Ticks::default()), Arc::new(Counted::default()));
        let store = Arc::<GatedStore>::default();
        let engine = Engine::new(store.clone(), clock, ids, Options::default());
        let app = App::new(engine, Agents::new().with("agent", agent), settings);
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        runtime.spawn(serve(listener, app.clone(), std::future::pending()));
        Self { app, store, address, upstream, runtime }
    }

    /// A URL. `path` begins with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What the agent was asked, so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.upstream.as_ref().map(Upstream::requests).unwrap_or_default()
    }

    /// A thread of the default scope.
    pub(crate) fn thread(&self, thread: &str) -> ThreadKey {
        let scope = self.app.scope(&Caller::anybody(), &http::HeaderMap::new()).expect("the default scope");
        ThreadKey::new(scope, ThreadId::new(thread).expect("a thread id"))
    }

    /// Waits until a thread has so many records.
    pub(crate) fn wait_for_records(&self, thread: &str, count: u64) {
        let key = self.thread(thread);
        self.wait_for(async {
            let mut follower = self.app.engine().follow(&key, None, 0).await.expect("the thread is there");
            while follower.next_offset() < count {
                follower.next().await.expect("a record");
            }
        });
    }

    /// Waits for something.
    pub(crate) fn wait_for<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }

    /// Ends all runs, and takes no more.
    pub(crate) fn stop_runs(&self) {
        self.wait_for(self.app.runs().shut_down());
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Plays events, each when the signal is raised.
pub(crate) fn step_by_step(events: &[String], next: &Signal) -> Vec<Step> {
    let mut script = vec![sse_head()];
    for event in events {
        script.push(Step::Wait(next.clone()));
        script.push(said(event));
    }
    script.push(last_chunk());
    script
}

/// The head of an agent's answer.
pub(crate) fn sse_head() -> Step {
    head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
}

/// One event of it.
pub(crate) fn said(event: impl std::fmt::Display) -> Step {
    chunk(format!("data: {event}\n\n"))
}

/// A whole run that plays these events, start and end included.
pub(crate) fn played(events: &[Value]) -> Vec<Step> {
    let mut script = vec![sse_head()];
    script.extend(events.iter().map(said));
    script.push(last_chunk());
    script
}

/// The end of a run. The ids are those of nobody: the server knows better.
pub(crate) fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "-", "runId": "-"})
}

/// A user's words.
pub(crate) fn user(id: &str, content: &str) -> Value {
    json!({"id": id, "role": "user", "content": content})
}

/// A request for a run, or to attach, as a client of 1.0 sends it.
pub(crate) fn request(thread: &str, run: &str, messages: &Value) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "messages": messages,
        "tools": [], "context": [], "forwardedProps": {},
    })
}

/// The recorded streams of the ADK middleware, by name.
pub(crate) fn captures() -> Vec<(String, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/tests/data/adk");
    let mut captures = Vec::new();
    for version in ["0.6.0", "0.11.0"] {
        for entry in std::fs::read_dir(folder.join(version)).expect("the recorded streams") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&path).expect("a recorded stream");
                captures.push((path.display().to_string(), text.lines().map(str::to_owned).collect()));
            }
        }
    }
    assert_eq!(captures.len(), 13);
    captures
}
