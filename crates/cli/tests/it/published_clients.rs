//! The server as a person starts it, and the published clients.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use threadline_interop::peer::{Peer, Session};
use threadline_testkit::upstream::{Signal, Step, Upstream, chunk, head, last_chunk};
use tokio::runtime::Runtime;

const LIBRARIES: [&str; 2] = ["1.0.0", "0.0.59"];

/// A server that is killed when it is dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "error"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("threadline starts");
        let mut greeting = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut greeting).expect("it says where it is");
        let url = greeting.trim().rsplit(' ').next().expect("words").to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{greeting}");
        Self { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

/// The agents of one process, by name.
struct Clients(Session);

impl Clients {
    fn ask(&mut self, question: Value) -> Value {
        let answer = self.0.ask(&[question]).remove(0);
        assert_eq!((&answer["ok"], &answer["warnings"]), (&json!(true), &json!([])), "{answer}");
        answer
    }

    /// A new agent object, as after a reload.
    fn open(&mut self, client: &str, library: &str, url: &str, thread: &str) {
        let url = format!("{url}/agui");
        self.ask(json!({"op": "open", "client": client, "library": library, "url": url, "threadId": thread}));
    }

    /// Reads to the end, and gives what an application holds then.
    fn read(&mut self, client: &str, op: &str, mut parameters: Value) -> [Value; 3] {
        parameters["op"] = op.into();
        parameters["client"] = client.into();
        self.ask(parameters);
        self.end(client)
    }

    fn end(&mut self, client: &str) -> [Value; 3] {
        let mut held = self.ask(json!({"op": "end", "client": client}));
        assert_eq!(held["error"], Value::Null, "{held}");
        ["messages", "state", "interrupts"].map(|what| held[what].take())
    }
}

/// What was said is there again for a new agent object, after the server was killed and started anew; what was asked waits, and
/// is answered.
#[test]
fn threads_survive_the_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = ["--store", dir.path().to_str().expect("text")];
    let mut clients = Clients(Peer::NodeClients.start());
    let mut before = Vec::new();
    let served = Served::start(&store);
    for library in LIBRARIES {
        clients.open("a", library, &served.url, library);
        let mut messages = json!([]);
        let mut held = None;
        for (turn, word) in ["state", "team", "approve"].into_iter().enumerate() {
            let said = json!({"id": format!("u{turn}"), "role": "user", "content": word});
            messages.as_array_mut().expect("messages").push(said);
            clients.ask(json!({"op": "hold", "client": "a", "messages": messages}));
            let now = clients.read("a", "run", json!({}));
            messages = now[0].clone();
            held = Some(now);
        }
        before.push(held.expect("several runs"));
    }
    drop(served);
    let served = Served::start(&store);
    for (library, before) in LIBRARIES.into_iter().zip(before) {
        clients.open("b", library, &served.url, library);
        let after = clients.read("b", "connect", json!({}));
        assert_eq!(after, before, "{library}");
        let answer = json!({"interruptId": after[2][0]["id"], "status": "resolved", "payload": true});
        let [messages, state, interrupts] = clients.read("b", "run", json!({"resume": [answer]}));
        let last = messages.as_array().and_then(|messages| messages.last()).expect("messages");
        assert_eq!(last["content"], "Approved: the letter is sent.");
        assert_eq!((&state["visits"], &interrupts), (&json!(1), &json!([])));
    }
}

/// In front of an agent: who arrives in the middle of a message ends with what the first client holds.
#[test]
fn a_second_client_joins_a_run_of_an_agent_elsewhere() {
    let go_on = Signal::default();
    let said = |event: Value| chunk(format!("data: {event}\n\n"));
    let piece = |delta: &str| said(json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": delta}));
    let script = vec![
        head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]),
        piece("one "),
        Step::Wait(go_on.clone()),
        piece("two"),
        said(json!({"type": "RUN_FINISHED", "threadId": "-", "runId": "-"})),
        last_chunk(),
    ];
    let runtime = Runtime::new().expect("a runtime");
    let upstream = runtime.block_on(Upstream::start([script]));
    let served = Served::start(&["--store", "memory:", "--agent", &format!("chat={}", upstream.url("/"))]);
    let mut clients = Clients(Peer::NodeClients.start());
    for library in LIBRARIES {
        for client in ["first", "second"] {
            clients.open(client, library, &served.url, library);
        }
        clients.ask(json!({"op": "run", "client": "first"}));
        clients.ask(json!({"op": "until", "client": "first", "type": "TEXT_MESSAGE_CONTENT"}));
        clients.ask(json!({"op": "connect", "client": "second"}));
        go_on.raise();
        let [first, second] = ["first", "second"].map(|client| clients.end(client));
        assert_eq!(first[0], json!([{"id": "a", "role": "assistant", "content": "one two"}]));
        assert_eq!(second, first, "{library}");
    }
}

/// A plain client with the Python models reads a run, and after the server was killed and started anew its history.
#[test]
fn the_python_models_read_what_the_server_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = ["--store", dir.path().to_str().expect("text")];
    let mut python = Peer::PythonClients.start();
    let mut frames = |url: String, body: Value| {
        let post = json!({"op": "post", "client": "p", "url": url, "body": body});
        let [posted, read] =
            [post, json!({"op": "read", "client": "p"})].map(|ask| python.ask(&[ask]).remove(0));
        assert_eq!((&posted["status"], &read["ended"]), (&json!(200), &json!(true)), "{posted} {read}");
        read["frames"].as_array().expect("frames").clone()
    };
    let user = json!({"id": "u", "role": "user", "content": "tool"});
    let body = |run: &str, messages: Value| {
        json!({"threadId": "t", "runId": run, "state": {}, "messages": messages, "tools": [], "context": [],
            "forwardedProps": {}})
    };
    let served = Served::start(&store);
    let run = frames(format!("{}/agui", served.url), body("r", json!([user])));
    assert!(run.len() > 5, "{run:?}");
    let history = frames(format!("{}/history", served.url), body("h1", json!([])));
    drop(served);
    let served = Served::start(&store);
    let again = frames(format!("{}/history", served.url), body("h1", json!([])));
    assert_eq!(again, history);
    let snapshot = history.iter().find(|frame| frame.to_string().contains("MESSAGES_SNAPSHOT"));
    assert!(snapshot.is_some_and(|frame| frame.to_string().contains("You wrote")), "{history:?}");
}
