//! Clients that hold connections and say next to nothing.

use super::agents::{brief, section};
use super::client::{Client, Frame, PATIENCE};
use super::process::Served;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// How many connections of each kind are held.
const HELD: usize = 75;
/// How long a request from somebody honest may take meanwhile.
const HONEST_MAX: Duration = Duration::from_secs(5);

/// What these clients say at once, and what they add byte by byte.
const KINDS: [(&str, &str, &str); 5] = [
    ("nothing", "", ""),
    ("half a preface", "PRI * HTTP", ""),
    ("half a head", "POST /agui HTTP/1.1\r\nhost: localhost\r\ncontent-ty", ""),
    ("a head that never ends", "GET /agents HTTP/1.1\r\n", "x-a: b\r\n"),
    (
        "a body that never ends",
        "POST /agui HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n",
        "{     ",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn who_says_next_to_nothing_is_let_go_and_others_are_served() {
    let dir = TempDir::new().expect("a directory");
    let brief = brief().await;
    let http = "[http]\nheader_timeout = \"2s\"\nbody_timeout = \"2s\"\n";
    let served = Served::start(dir.path(), &(section("brief", &brief) + http));
    let client = served.client;
    let mut held = JoinSet::new();
    for (kind, first, then) in KINDS {
        for _ in 0..HELD {
            held.spawn(async move { (kind, hold(client, first, then).await) });
        }
    }
    let mut honest = 0;
    loop {
        let start = Instant::now();
        let frames = client.run("brief", "t", &format!("run-{honest}")).await.all().await;
        assert_eq!(frames.last().map(Frame::kind).as_deref(), Some("RUN_FINISHED"));
        assert!(start.elapsed() < HONEST_MAX, "{:?}", start.elapsed());
        honest += 1;
        while let Some(held) = held.try_join_next() {
            let (kind, told) = held.expect("a client");
            let is_told = told.starts_with("HTTP/1.1 408 ") && told.contains("request_timeout");
            assert_eq!(is_told, kind == "a body that never ends", "{kind}: {told:?}");
        }
        if held.is_empty() {
            break;
        }
    }
    println!("{honest} honest runs meanwhile");
    served.stop().await;
}

/// Holds a connection until it is closed, and gives what was said to it.
async fn hold(client: Client, first: &str, then: &str) -> String {
    let mut tcp = TcpStream::connect(client.address).await.expect("a connection");
    tcp.write_all(first.as_bytes()).await.expect("a connection that is read");
    let (mut read, mut write) = tcp.into_split();
    let dribble = async {
        for byte in then.bytes().cycle() {
            sleep(Duration::from_millis(200)).await;
            if write.write_all(&[byte]).await.is_err() {
                break;
            }
        }
        std::future::pending().await
    };
    let mut told = Vec::new();
    // However it is closed, it is closed.
    let closed = async { drop(read.read_to_end(&mut told).await) };
    tokio::select! {
        closed = timeout(PATIENCE, closed) => closed.expect("a connection that is let go"),
        () = dribble => {}
    }
    String::from_utf8(told).expect("text")
}
