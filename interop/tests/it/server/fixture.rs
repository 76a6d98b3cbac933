//! The built server on a port of its own, with the demo agent or with one that plays a script: as one process, or as several behind a
//! balancer.

use serde_json::{Value, json};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use threadline_testkit::balancer::Balancer;
use threadline_testkit::postgres::schema_url;
use threadline_testkit::upstream::{Request, Signal, Step, Upstream, chunk, head, last_chunk};
use tokio::runtime::Runtime;

/// How many processes a server is, where it is not one.
const INSTANCES: usize = 3;

thread_local! {
    /// Whether the servers of this test are several processes.
    static IS_SEVERAL: Cell<bool> = const { Cell::new(false) };
}

/// A scenario whose servers are several processes on one database: each request goes to another one.
pub(crate) fn on_several_instances(scenario: fn()) {
    IS_SEVERAL.set(true);
    scenario();
}

/// Whether this is such a scenario.
pub(crate) fn is_on_several_instances() -> bool {
    IS_SEVERAL.get()
}

/// A server that is killed when it is dropped.
pub(crate) struct Server {
    instances: Vec<Child>,
    url: String,
    upstream: Option<Upstream>,
    balancer: Option<Balancer>,
    runtime: Runtime,
    _dir: TempDir,
}

impl Server {
    /// With the demo agent.
    pub(crate) fn with_demo() -> Self {
        Self::start(runtime(), "", None)
    }

    /// With the demo agent, for callers with a token, and one that may do everything.
    pub(crate) fn with_demo_and_token() -> (Self, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(program());
        command.args(["token", "create", "--permission", "admin"]).current_dir(dir.path());
        let made = command.output().expect("the program was built with the tests of the workspace");
        let token = String::from_utf8(made.stdout).expect("a token").trim().to_owned();
        let settings = "[auth]\ntokens = \"tokens.jsonl\"\n";
        (Self::start_in(dir, runtime(), settings, None), token)
    }

    /// With an agent that plays the first script in its first run, and so on.
    pub(crate) fn with_scripts(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        Self::with("", scripts)
    }

    /// The same, with a configuration.
    pub(crate) fn with(settings: &str, scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let runtime = runtime();
        let upstream = runtime.block_on(Upstream::start(scripts));
        Self::start(runtime, settings, Some(upstream))
    }

    /// With agents elsewhere, by name.
    pub(crate) fn with_agents<'a>(agents: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let agents = agents.into_iter().map(|(name, url)| format!("[agents.{name}]\nurl = \"{url}\"\n"));
        Self::start(runtime(), &agents.collect::<String>(), None)
    }

    fn start(runtime: Runtime, settings: &str, upstream: Option<Upstream>) -> Self {
        Self::start_in(tempfile::tempdir().expect("a directory"), runtime, settings, upstream)
    }

    fn start_in(dir: TempDir, runtime: Runtime, settings: &str, upstream: Option<Upstream>) -> Self {
        std::fs::write(dir.path().join("threadline.toml"), settings).expect("a file");
        let (store, count) =
            if IS_SEVERAL.get() { (schema_url(), INSTANCES) } else { ("memory:".to_owned(), 1) };
        let agent = upstream.as_ref().map(|upstream| format!("agent={}", upstream.url("/")));
        let started = (0..count).map(|_| start_instance(dir.path(), &store, agent.as_deref()));
        let (instances, addresses): (Vec<Child>, Vec<SocketAddr>) = started.unzip();
        let balancer = IS_SEVERAL.get().then(|| runtime.block_on(Balancer::start(addresses.clone())));
        let address = balancer.as_ref().map_or(addresses[0], Balancer::address);
        Self { instances, url: format!("http://{address}"), upstream, balancer, runtime, _dir: dir }
    }

    /// A URL. `path` begins with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// What the agent was asked, so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.upstream.as_ref().map(Upstream::requests).unwrap_or_default()
    }

    /// Waits until a thread has so many records.
    pub(crate) fn wait_for_records(&self, thread: &str, count: u64) {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("a server");
        let thread: String = thread.bytes().map(|byte| format!("%{byte:02x}")).collect();
        // Of HTTP/1.0, so that the answer is nothing but its lines.
        let asked = format!(
            "GET /v1/threads/{thread}/events HTTP/1.0\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n"
        );
        stream.write_all(asked.as_bytes()).expect("a request");
        let lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
        let mut records = lines.filter(|line| line.starts_with("data: "));
        for _ in 0..count {
            records.next().expect("a record");
        }
    }

    /// Waits for something.
    pub(crate) fn wait_for<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for instance in &mut self.instances {
            // What cannot be killed has ended.
            let _ = instance.kill();
            let _ = instance.wait();
        }
        // That each request went to another instance must not be true by chance only: whoever asks often has asked all of them.
        if let Some(taken) = self.balancer.as_ref().map(Balancer::taken) {
            let is_even =
                taken.iter().max().zip(taken.iter().min()).is_some_and(|(most, least)| most - least <= 1);
            assert!(is_even || std::thread::panicking(), "requests of each instance: {taken:?}");
        }
    }
}

/// Starts a process, and says where it is.
fn start_instance(dir: &Path, store: &str, agent: Option<&str>) -> (Child, SocketAddr) {
    let mut command = Command::new(program());
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", store, "--log", "error"]);
    if let Some(agent) = agent {
        command.args(["--agent", agent]);
    }
    let started = command.current_dir(dir).stdout(Stdio::piped()).spawn();
    let mut child = started.expect("the program was built with the tests of the workspace");
    let mut greeting = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut greeting).expect("it says where it is");
    let address = greeting.trim().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
    (child, address.unwrap_or_else(|| panic!("{greeting}")))
}

/// The program, which is built beside the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("a program");
    let folder = tests.parent().and_then(Path::parent).expect("the folder of what was built");
    folder.join(format!("threadline{}", std::env::consts::EXE_SUFFIX))
}

pub(crate) fn runtime() -> Runtime {
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
