//! Traces, as a collector of OpenTelemetry gets them.

use super::client::PATIENCE;
use super::process::Served;
use serde_json::json;
use tempfile::TempDir;
use threadline_testkit::upstream::{Upstream, answer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// The bytes of a hexadecimal number.
fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("digits")).collect()
}

fn has(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_runs_are_told_to_a_collector() {
    let collector = Upstream::start([answer("200 OK", "application/x-protobuf", "")]).await;
    let dir = TempDir::new().expect("a directory");
    let settings = format!("traces = \"http://{}\"\n", collector.address());
    let served = Served::start(dir.path(), &settings);
    let body = json!({
        "threadId": "secret thread", "runId": "secret run", "messages": [{"id":"u","role":"user","content":"hello secret"}],
    });
    let body = body.to_string();
    let mut stream = TcpStream::connect(served.client.address).await.expect("a connection");
    let head = format!(
        "POST /agui HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         traceparent: 00-{TRACE}-b7ad6b7169203331-01\r\nauthorization: Bearer secret\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.expect("a request");
    let mut told = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut told)).await.expect("an answer").expect("all of it");
    assert!(has(&told, b"RUN_FINISHED"), "{}", String::from_utf8_lossy(&told));
    served.stop().await;

    let requests = collector.requests();
    assert!(!requests.is_empty());
    let mut all = Vec::new();
    for request in requests {
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/traces"));
        let is_protobuf = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("content-type") && value == "application/x-protobuf"
        };
        assert!(request.headers.iter().any(is_protobuf), "{:?}", request.headers);
        all.extend_from_slice(&request.body);
    }
    for part in ["threadline", "request", "run", "POST", "/agui", "demo", "finished"] {
        assert!(has(&all, part.as_bytes()), "{part}");
    }
    // Both are in the trace that the client has begun.
    let in_trace = all.windows(16).filter(|window| *window == bytes(TRACE)).count();
    assert_eq!(in_trace, 2);
    assert!(!has(&all, b"secret"));
}

/// Nobody waits for a collector.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_not_there_is_nobody_s_trouble() {
    let dir = TempDir::new().expect("a directory");
    let served = Served::start(dir.path(), "traces = \"http://127.0.0.1:9\"\n");
    let (frames, _) = served.client.run("demo", "t", "r").await.rest().await;
    assert_eq!(frames.last().map(|frame| frame.kind()), Some("RUN_FINISHED".to_owned()));
    served.stop().await;
}
