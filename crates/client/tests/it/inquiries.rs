//! Requests as somebody wants them.

use crate::endpoint;
use bytes::Bytes;
use http::{HeaderMap, Method};
use threadline_client::{EndpointOptions, ErrorKind};
use threadline_testkit::upstream::{Step, Upstream, chunk, head, last_chunk};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn an_answer_is_given_as_it_is() {
    let headers = [("transfer-encoding", "chunked"), ("content-encoding", "br"), ("x-of", "theirs")];
    let script = vec![head("418 No", &headers), chunk("sho"), chunk("rt"), last_chunk()];
    let server = Upstream::start([script]).await;
    let mut options = EndpointOptions::default();
    options.headers.insert("authorization", "Bearer secret".parse().unwrap());
    let mut wanted = HeaderMap::new();
    wanted.insert("accept", "a/b".parse().unwrap());
    wanted.insert("origin", "http://page".parse().unwrap());
    let endpoint = endpoint(&server, options);
    let mut reply = endpoint.inquire(Method::OPTIONS, &wanted, Bytes::from_static(b"body")).await.unwrap();
    assert_eq!((reply.status.as_u16(), &reply.headers["x-of"]), (418, &"theirs".parse().unwrap()));
    let mut body = Vec::new();
    while let Some(piece) = reply.next().await {
        body.extend_from_slice(&piece.unwrap());
    }
    assert_eq!(body, b"short");
    let request = &server.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str(), &request.body[..]),
        ("OPTIONS", "/agent", &b"body"[..])
    );
    assert_eq!(request.header("accept"), ["a/b"]);
    assert_eq!(request.header("origin"), ["http://page"]);
    assert_eq!(request.header("authorization"), ["Bearer secret"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_must_begin_in_time() {
    let server = Upstream::start([vec![Step::UntilGone]]).await;
    let endpoint = endpoint(&server, EndpointOptions::default());
    let error = endpoint.inquire(Method::GET, &HeaderMap::new(), Bytes::new()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)));
}

#[tokio::test]
async fn a_connection_can_be_used_for_something_else() {
    let server = Upstream::start([vec![Step::Write(Bytes::from_static(b"anything"))]]).await;
    let mut io = endpoint(&server, EndpointOptions::default()).dial().await.unwrap();
    io.write_all(b"HELLO\r\n\r\n").await.unwrap();
    let mut heard = String::new();
    io.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "anything");
}
