//! An agent over loopback.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threadline_agent::demo::Demo;
use threadline_agent::protocol::codec::{PrefixedDecoder, SseDecoder};
use threadline_agent::protocol::proto::{Decoded, decode};
use threadline_agent::protocol::stages::verify::{Options, verify_all};
use threadline_agent::protocol::{Limits, Received};
use threadline_agent::serve::Handler;
use threadline_agent::{Agent, RunContext, RunWriter, agent_fn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const JSON: &str = "content-type: application/json\r\n";
const PROTO: &str = "content-type: application/json\r\naccept: application/vnd.ag-ui.event+proto\r\n";

/// Serves until the test ends.
async fn serve(handler: Handler) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::new().nest("/agui", handler.into_router());
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Sends a request. Of HTTP 1.0, whose answers end with the connection and have no chunks.
async fn send(address: std::net::SocketAddr, line: &str, headers: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head =
        format!("{line} HTTP/1.0\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    stream
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

async fn ask(address: std::net::SocketAddr, line: &str, headers: &str, body: &[u8]) -> Answer {
    let mut bytes = Vec::new();
    send(address, line, headers, body).await.read_to_end(&mut bytes).await.unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head, body: bytes[end + 4..].to_vec() }
}

fn saying(text: &str) -> Vec<u8> {
    let messages = json!([{"id": "u", "role": "user", "content": text}]);
    json!({"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": messages}).to_string().into()
}

fn events(body: &[u8]) -> Vec<String> {
    let mut decoder = SseDecoder::new(Limits::default());
    decoder.push(body);
    decoder.finish();
    let mut events = Vec::new();
    while let Some(frame) = decoder.next_event() {
        events.push(String::from_utf8(frame.unwrap().data.to_vec()).unwrap());
    }
    events
}

fn binary_events(body: &[u8]) -> Vec<String> {
    let mut decoder = PrefixedDecoder::new(Limits::default());
    decoder.push(body);
    decoder.finish();
    let mut events = Vec::new();
    while let Some(frame) = decoder.next_event() {
        let Decoded::Event { event, .. } = decode(frame.unwrap().bytes).unwrap() else {
            panic!("a known event")
        };
        events.push(event.json().to_owned());
    }
    events
}

fn as_values(events: &[String]) -> Vec<Value> {
    events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

#[tokio::test]
async fn a_run_is_answered_with_events_in_either_form() {
    let address = serve(Handler::new(Arc::new(Demo::new()))).await;
    for word in ["hello", "think", "tool", "ask", "state", "activity", "steps", "team", "approve", "fail"] {
        let sse = ask(address, "POST /agui", JSON, &saying(word)).await;
        assert_eq!(sse.status, 200);
        assert!(sse.head.contains("content-type: text/event-stream\r\n"), "{}", sse.head);
        assert!(sse.head.contains("cache-control: no-cache"), "{}", sse.head);
        let lines = events(&sse.body);
        let typed = lines.iter().map(|line| Received::read(line).unwrap().into_event());
        let typed: Vec<_> = typed.collect();
        assert_eq!(verify_all(&typed, Options::new()), Ok(()), "{word}");

        let proto = ask(address, "POST /agui", PROTO, &saying(word)).await;
        assert!(proto.head.contains("content-type: application/vnd.ag-ui.event+proto\r\n"), "{}", proto.head);
        let as_doubles =
            |event: &Value| serde_json::from_str::<Value>(&event.to_string().replace(".0", "")).unwrap();
        let expected: Vec<Value> = as_values(&lines).iter().map(as_doubles).collect();
        let binary: Vec<Value> = as_values(&binary_events(&proto.body)).iter().map(as_doubles).collect();
        assert_eq!(binary, expected, "{word}");
    }
}

/// Clients of 0.x know neither subagents nor tags.
#[tokio::test]
async fn a_client_that_names_no_version_is_served_as_0_x() {
    let address = serve(Handler::new(Arc::new(Demo::new()))).await;
    let mut input: Value = serde_json::from_slice(&saying("team")).unwrap();
    input.as_object_mut().unwrap().remove("protocolVersion");
    let answer = ask(address, "POST /agui", JSON, input.to_string().as_bytes()).await;
    let lines = events(&answer.body);
    assert!(lines.iter().any(|line| line.contains("It has 635 pages.")));
    assert!(!lines.iter().any(|line| line.contains("ubagent")), "{lines:#?}");
    assert!(lines.last().unwrap().contains("RUN_FINISHED"));
}

#[tokio::test]
async fn bad_input_starts_nothing() {
    let address = serve(Handler::new(Arc::new(Demo::new())).with_request_bytes_max(1_000)).await;
    for (headers, body, status, code, pointer) in [
        (JSON, &b"{"[..], 400, "invalid_input", Some("")),
        (JSON, b"[]", 400, "invalid_input", Some("")),
        (JSON, b"\xff", 400, "invalid_input", Some("")),
        (JSON, br#"{"threadId":"t","messages":[]}"#, 400, "invalid_input", Some("")),
        (JSON, br#"{"threadId":"t","runId":1,"messages":[]}"#, 400, "invalid_input", Some("/runId")),
        (
            JSON,
            br#"{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user"}]}"#,
            400,
            "invalid_input",
            Some("/messages/0"),
        ),
        ("content-type: text/plain\r\n", b"{}", 415, "unsupported_media_type", None),
        ("", b"{}", 415, "unsupported_media_type", None),
        (JSON, &[b' '; 1_001], 413, "body_too_large", None),
    ] {
        let answer = ask(address, "POST /agui", headers, body).await;
        let what = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{what}");
        assert!(answer.head.contains("content-type: application/json"));
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(error["error"]["code"], code);
        assert!(error["error"]["message"].is_string());
        assert_eq!(error["error"]["details"]["pointer"].as_str(), pointer, "{what}");
    }
}

#[tokio::test]
async fn an_agent_says_what_it_can() {
    let address = serve(Handler::new(Arc::new(Demo::new()))).await;
    let answer = ask(address, "GET /agui/capabilities", "", b"").await;
    assert_eq!(answer.status, 200);
    let says: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(says["identity"]["name"], "Threadline demo");
    assert_eq!(says["transport"]["httpBinary"], true);
    assert_eq!(says["transport"]["resumable"], false);
    assert_eq!(Demo::new().capabilities().transport.unwrap().http_binary, Some(false));
}

/// An agent that begins, and then waits for the test or for its end.
fn waiting(go_on: oneshot::Receiver<()>, stopped: oneshot::Sender<()>) -> impl Agent {
    let signals = Mutex::new(Some((go_on, stopped)));
    agent_fn(move |_: RunContext, writer: RunWriter| {
        let (go_on, stopped) = signals.lock().unwrap().take().unwrap();
        async move {
            let _message = writer.text().await?;
            tokio::select! {
                _ = go_on => {}
                () = writer.cancelled() => stopped.send(()).unwrap(),
            }
            Ok(())
        }
    })
}

async fn read_until(stream: &mut TcpStream, what: &str) {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(what) {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "{}", String::from_utf8_lossy(&read));
    }
}

#[tokio::test]
async fn silence_is_broken_by_comments() {
    let (go_on, gone_on) = oneshot::channel();
    let (stopped, _) = oneshot::channel();
    let handler = Handler::new(Arc::new(waiting(gone_on, stopped))).with_keep_alive(Duration::from_millis(5));
    let mut stream = send(serve(handler).await, "POST /agui", JSON, &saying("")).await;
    read_until(&mut stream, ": keep-alive\n\n: keep-alive\n\n").await;
    go_on.send(()).unwrap();
    read_until(&mut stream, "RUN_FINISHED").await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_run() {
    let (_go_on, gone_on) = oneshot::channel();
    let (stopped, is_stopped) = oneshot::channel();
    let mut stream =
        send(serve(Handler::new(Arc::new(waiting(gone_on, stopped)))).await, "POST /agui", JSON, &saying(""))
            .await;
    read_until(&mut stream, "TEXT_MESSAGE_START").await;
    drop(stream);
    is_stopped.await.unwrap();
}
