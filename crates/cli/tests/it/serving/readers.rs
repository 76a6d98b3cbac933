//! Clients that read: slowly, not at all, and many at once.

use super::agents::{section, stream};
use super::client::{Answer, Client, Frame, request};
use super::process::Served;
use hyper::Request;
use std::time::Duration;
use tempfile::TempDir;
use threadline_testkit::upstream::{Signal, Step, Upstream, sse_body};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The most memory that a server may take for readers, in a build that is not optimised.
const GROWTH_MAX: u64 = 256 * 1024 * 1024;
/// How many clients read one run.
const READERS: usize = 200;
/// How long a client may take nothing, where that is tried.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The events of a message in so many pieces of a size, and the end of the run.
fn message(pieces: usize, piece_bytes: usize) -> Vec<u8> {
    let piece = |piece| {
        let delta = format!("{piece} ").repeat(piece_bytes / 4);
        format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{delta}"}}"#)
    };
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#.to_owned();
    let ends = [
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#,
    ];
    let events: Vec<String> =
        [start].into_iter().chain((0..pieces).map(piece)).chain(ends.map(str::to_owned)).collect();
    sse_body(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A connection whose own end holds next to nothing.
async fn narrow(client: Client) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a size");
    socket.connect(client.address).await.expect("a connection")
}

/// Asks for a run over such a connection.
async fn narrow_run(client: Client) -> Answer {
    let post = Request::post("/agents/long").header("content-type", "application/json");
    Answer::over(narrow(client).await, post, request("t", "run").to_string()).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_two_hundred_readers_of_a_run_get_everything() {
    let dir = TempDir::new().expect("a directory");
    let go = Signal::default();
    let body = message(300, 40);
    let cut = body.windows(2).position(|pair| pair == b"\n\n").expect("a frame") + 2;
    let (start, rest) = body.split_at(cut);
    let mut script = stream(Step::Write(start.to_vec().into()), Step::Wait(go.clone()));
    script.push(Step::Write(rest.to_vec().into()));
    let agent = Upstream::start([script]).await;
    let served = Served::start(dir.path(), &section("long", &agent));
    let (client, before) = (served.client, served.memory_peak());
    let mut first = client.run("long", "t", "run").await;
    assert_eq!(first.frame().await.kind(), "RUN_STARTED");
    assert_eq!(first.frame().await.kind(), "TEXT_MESSAGE_START");
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let mut reader = client.connect("long", "t", None).await;
        // The last that it is told on arrival is a place to come back to.
        while reader.frame().await.id.is_none() {}
        readers.spawn(reader.all());
    }
    go.raise();
    let told = first.all().await;
    assert_eq!(told.len(), 302);
    for seen in readers.join_all().await {
        assert_eq!(seen, told);
    }
    served.assert_grown_less(before, GROWTH_MAX);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_slows_nobody_and_gets_everything() {
    let dir = TempDir::new().expect("a directory");
    let agent = Upstream::start([stream(Step::Write(message(256, 64 << 10).into()), Step::UntilGone)]).await;
    let served = Served::start(dir.path(), &section("long", &agent));
    let (client, before) = (served.client, served.memory_peak());
    let mut slow = narrow_run(client).await;
    let first = slow.frame().await;
    let told = client.connect("long", "t", Some(first.cursor())).await.all().await;
    assert_eq!(told.len(), 259);
    // Only now does it read on.
    assert_eq!(slow.all().await, told);
    served.assert_grown_less(before, GROWTH_MAX);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_is_let_go_and_the_run_goes_on() {
    let dir = TempDir::new().expect("a directory");
    let agent = Upstream::start([stream(Step::Write(message(256, 64 << 10).into()), Step::UntilGone)]).await;
    // The only place for a connection is free when the one that has it is let go.
    let settings = section("long", &agent) + "[http]\nconnections_max = 1\nwrite_timeout = \"1s\"\n";
    let served = Served::start(dir.path(), &settings);
    let start = Instant::now();
    let dead = narrow_run(served.client).await;
    served.client.get("/healthz").await;
    assert!(start.elapsed() >= WRITE_TIMEOUT, "{:?}", start.elapsed());
    let told: Vec<Frame> = dead.rest().await.0;
    assert!(told.len() < 259, "it was let go in the middle");
    let first = told.first().expect("what it had not read").cursor();
    let rest = served.client.connect("long", "t", Some(first)).await.all().await;
    assert_eq!(rest[..told.len() - 1], told[1..]);
    assert_eq!(rest.last().map(Frame::kind).as_deref(), Some("RUN_FINISHED"));
    served.stop().await;
}
