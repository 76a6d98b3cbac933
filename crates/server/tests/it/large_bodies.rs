//! Large bodies of requests that are refused, over a connection: who sends one must be told why.

use crate::puppet::Puppet;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::clock::{Clock, Ids};
use threadline_log::{Engine, Incarnation, MemoryStore, Options, Timestamp};
use threadline_server::{Agents, App, Settings, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

impl Ids for Fixed {
    fn incarnation(&self) -> Incarnation {
        Incarnation(7)
    }
}

const BYTES_MAX: usize = 4 * 1024 * 1024;

async fn served() -> SocketAddr {
    let engine =
        Engine::new(Arc::new(MemoryStore::new()), Arc::new(Fixed), Arc::new(Fixed), Options::default());
    let mut settings = Settings::default();
    settings.http.request_bytes_max = BYTES_MAX;
    settings.http.body_timeout = Duration::from_secs(20);
    let agents = Agents::new().with("puppet", Arc::new(Puppet::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, App::new(engine, agents, settings), std::future::pending()));
    address
}

/// Sends all of a request, and reads only then. Gives the status and the code of the refusal.
async fn refusal(address: SocketAddr, head: &str, bytes: usize) -> (u16, String) {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!("{head}\r\ncontent-length: {bytes}\r\n\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&vec![b' '; bytes]).await.unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.ends_with(b"}}") {
        let read = connection.read(&mut piece).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..read]);
    }
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body["error"]["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn who_sends_much_is_told_why_it_is_refused() {
    let address = served().await;
    let json = "content-type: application/json";
    for (head, bytes, status, code) in [
        (format!("POST /nowhere HTTP/1.1\r\nhost: localhost\r\n{json}"), BYTES_MAX, 404, "not_found"),
        (format!("POST /agents/no HTTP/1.1\r\nhost: localhost\r\n{json}"), BYTES_MAX, 404, "agent_not_found"),
        (format!("POST /agents HTTP/1.1\r\nhost: localhost\r\n{json}"), BYTES_MAX, 405, "method_not_allowed"),
        ("POST /agui HTTP/1.1\r\nhost: localhost".to_owned(), BYTES_MAX, 415, "unsupported_media_type"),
        (format!("POST /agui HTTP/1.1\r\nhost: elsewhere\r\n{json}"), BYTES_MAX, 403, "host_not_allowed"),
        (
            format!("POST /agui?x HTTP/1.1\r\nhost: localhost\r\n{json}"),
            BYTES_MAX * 3 / 2,
            413,
            "request_too_large",
        ),
    ] {
        assert_eq!(refusal(address, &head, bytes).await, (status, code.to_owned()), "{head}");
    }
}

/// Who asks first is told at once, and need not send anything.
#[tokio::test]
async fn who_asks_whether_to_go_on_is_told_no() {
    let address = served().await;
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head =
        "POST /nowhere HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9999\r\n\r\n";
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    timeout(Duration::from_secs(10), connection.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 404");
}
