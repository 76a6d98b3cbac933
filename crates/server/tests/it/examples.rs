//! The examples, as a newcomer runs them.

use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A program of `examples/`, until it is dropped.
struct Example {
    child: Child,
    address: String,
}

impl Example {
    fn start(name: &str) -> Self {
        // Beside the tests, where cargo puts both.
        let mut path: PathBuf = std::env::current_exe().unwrap();
        path.pop();
        path.set_file_name("examples");
        let mut child =
            Command::new(path.join(name)).arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { child, address }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, length) = (&self.address, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut answer = String::new();
        self.send(method, path, body).read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(text: &str) -> String {
    let message = json!({"id":"u","role":"user","content":text});
    json!({"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[message]}).to_string()
}

fn types(answer: &str) -> Vec<String> {
    let frames = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    frames
        .map(|json| {
            serde_json::from_str::<serde_json::Value>(json).unwrap()["type"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn the_snapshot_of_messages_is_three_events() {
    let example = Example::start("messages-snapshot");
    assert!(example.ask("GET", "/", "").contains("<h1>Messages snapshot</h1>"));
    example.ask("POST", "/agui", &request("hello"));
    let history = example.ask("POST", "/history", r#"{"threadId":"t"}"#);
    assert_eq!(types(&history), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert!(history.contains(r#""content":"hello""#), "{history}");
}

#[test]
fn a_run_is_followed_to_its_end() {
    let example = Example::start("follow");
    assert!(example.ask("GET", "/", "").contains("<h1>Follow</h1>"));
    let mut running = BufReader::new(example.send("POST", "/agui", &request("slow")));
    let mut line = String::new();
    while !line.contains("TEXT_MESSAGE_CONTENT") {
        line.clear();
        running.read_line(&mut line).unwrap();
    }
    drop(running);
    let followed = types(&example.ask("POST", "/history", r#"{"threadId":"t"}"#));
    assert_eq!(followed[..3], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]);
    assert_eq!(followed.last().unwrap(), "RUN_FINISHED");
    assert!(followed.iter().filter(|kind| *kind == "TEXT_MESSAGE_CONTENT").count() > 10, "{followed:?}");
}
