//! What else a server is asked.

use crate::endpoint;
use bytes::Bytes;
use http::Method;
use std::io;
use threadline_client::{ClientError, Endpoint, EndpointOptions, ErrorKind, Payload};
use threadline_testkit::upstream::{Step, Upstream, answer, chunk, head, last_chunk};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::channel;

#[tokio::test]
async fn a_path_lies_below_the_url_and_the_answer_comes_in_pieces() {
    let chunked = [("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked")];
    let script = vec![head("200 OK", &chunked), chunk("one\n"), chunk("two\n"), last_chunk()];
    let server = Upstream::start([script]).await;
    let endpoint = endpoint(&server, EndpointOptions::default());
    let answer =
        endpoint.ask(Method::GET, "/v1/threads/a%2Fb/export?form=raw", Payload::Nothing).await.unwrap();
    assert_eq!(answer.all(8).await.unwrap(), b"one\ntwo\n");
    let answer = endpoint.ask(Method::DELETE, "/x", Payload::Nothing).await.unwrap();
    assert_eq!(answer.all(7).await.unwrap_err().kind(), ErrorKind::TooLarge);
    let requests = server.requests();
    let asked: Vec<(&str, &str)> =
        requests.iter().map(|request| (request.method.as_str(), request.target.as_str())).collect();
    assert_eq!(asked, [("GET", "/agent/v1/threads/a%2Fb/export?form=raw"), ("DELETE", "/agent/x")]);
    assert_eq!(requests[0].header("content-type"), [""; 0]);
}

/// Takes one request to its end, chunks and all, or to where it is cut off, and answers.
async fn taken(listener: TcpListener) -> String {
    let (mut io, _) = listener.accept().await.expect("a connection");
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n0\r\n\r\n") && io.read_buf(&mut request).await.expect("bytes") > 0 {}
    // Whoever has cut it off does not listen.
    let _ = io.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
    String::from_utf8(request).expect("text")
}

async fn send(pieces: Vec<io::Result<Bytes>>) -> (Result<Vec<u8>, ClientError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let endpoint = Endpoint::new(&url, EndpointOptions::default()).expect("a url");
    let (sender, sent) = channel(1);
    let asking = async {
        let answer = endpoint.ask(Method::POST, "/lines", Payload::Lines(sent)).await?;
        answer.all(1_000).await
    };
    let sending = async move {
        for piece in pieces {
            sender.send(piece).await.expect("somebody who takes it");
        }
    };
    let (answer, request, ()) = tokio::join!(asking, taken(listener), sending);
    (answer, request)
}

#[tokio::test]
async fn a_document_and_lines_are_sent_as_what_they_are() {
    let server = Upstream::start([answer("200 OK", "application/json", "{}")]).await;
    let document = Payload::Json(Bytes::from_static(b"{\"a\":1}"));
    endpoint(&server, EndpointOptions::default()).ask(Method::POST, "/json", document).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].body, b"{\"a\":1}"[..]);
    assert_eq!(requests[0].header("content-type"), ["application/json"]);
    let (answer, request) = send(["one\n", "two\n"].map(|piece| Ok(Bytes::from(piece))).into()).await;
    assert_eq!(answer.unwrap(), b"{}");
    assert!(request.contains("content-type: application/x-ndjson\r\n"), "{request}");
    assert!(request.ends_with("4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"), "{request}");
}

#[tokio::test]
async fn lines_that_are_cut_off_are_not_whole() {
    let cut = vec![Ok(Bytes::from_static(b"one\n")), Err(io::ErrorKind::InvalidData.into())];
    let (answer, request) = send(cut).await;
    assert!(answer.is_err());
    assert!(!request.ends_with("0\r\n\r\n"), "{request}");
}

#[tokio::test]
async fn a_refusal_says_why() {
    let refusal = r#"{"error":{"code":"thread_not_found","message":"no"}}"#;
    let server = Upstream::start([answer("404 Not Found", "application/json", refusal)]).await;
    let asked = endpoint(&server, EndpointOptions::default()).ask(Method::GET, "/x", Payload::Nothing).await;
    let Err(ClientError::Status { status, body, .. }) = asked else { panic!("it was refused") };
    assert_eq!((status.as_u16(), body.as_str()), (404, refusal));
}

#[tokio::test(start_paused = true)]
async fn an_answer_begins_in_time() {
    let server = Upstream::start([vec![Step::UntilGone]]).await;
    let options = EndpointOptions::default();
    let after = options.response_timeout;
    let asked = endpoint(&server, options).ask(Method::GET, "/x", Payload::Nothing).await;
    assert!(matches!(asked, Err(ClientError::Timeout { after: waited, .. }) if waited == after));
}
