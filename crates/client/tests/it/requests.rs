//! What an agent is sent, and what is let slip on the way.

use super::{STARTED, told};
use bytes::Bytes;
use http::HeaderMap;
use threadline_client::{Endpoint, EndpointError, EndpointOptions};
use threadline_testkit::upstream::{Request, Upstream, answer, sse_answer};

async fn sent(options: EndpointOptions, forwarded: &HeaderMap) -> Request {
    let upstream = Upstream::start([sse_answer(&[STARTED])]).await;
    let endpoint =
        Endpoint::new(&upstream.url("/a%20b?key=v"), options).expect("a url and options that can be used");
    endpoint.run(Bytes::from_static(b"{\"x\": 1}"), forwarded).await.expect("an answer");
    let request = upstream.requests().remove(0);
    assert_eq!(request.header("host"), [upstream.address().to_string()]);
    request
}

fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    headers
        .iter()
        .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")))
        .collect()
}

#[tokio::test]
async fn the_input_is_posted_as_it_is() {
    let mut request = sent(EndpointOptions::default(), &HeaderMap::new()).await;
    assert_eq!((&*request.method, &*request.target), ("POST", "/a%20b?key=v"));
    assert_eq!(request.body, "{\"x\": 1}");
    request.headers.retain(|(name, _)| name != "host");
    let mut names: Vec<_> = request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    names.sort();
    assert_eq!(names, ["accept: text/event-stream", "content-length: 8", "content-type: application/json"]);

    let options = EndpointOptions { accept_protobuf: true, ..EndpointOptions::default() };
    let request = sent(options, &HeaderMap::new()).await;
    assert_eq!(request.header("accept"), ["application/vnd.ag-ui.event+proto, text/event-stream;q=0.9"]);
}

#[tokio::test]
async fn headers_are_sent_but_none_takes_the_place_of_ours() {
    let configured = headers(&[("authorization", "Bearer operator"), ("x-team", "t")]);
    let forwarded = headers(&[
        ("authorization", "Bearer user"),
        ("x-user", "u"),
        ("accept", "*/*"),
        ("accept-encoding", "gzip"),
        ("content-type", "text/plain"),
        ("content-length", "1000"),
        ("transfer-encoding", "chunked"),
        ("host", "elsewhere"),
        ("connection", "close, x-hop"),
        ("x-hop", "1"),
    ]);
    let options = EndpointOptions { headers: configured, ..EndpointOptions::default() };
    let request = sent(options, &forwarded).await;
    assert_eq!(request.header("authorization"), ["Bearer operator"]);
    assert_eq!((request.header("x-team"), request.header("x-user")), (vec!["t"], vec!["u"]));
    assert_eq!(request.header("accept"), ["text/event-stream"]);
    assert_eq!(request.header("content-type"), ["application/json"]);
    assert_eq!(request.header("content-length"), ["8"]);
    for name in ["accept-encoding", "transfer-encoding", "connection", "x-hop"] {
        assert_eq!(request.header(name), [""; 0], "{name}");
    }
}

#[tokio::test]
async fn a_large_input_arrives_whole() {
    let upstream = Upstream::start([sse_answer(&[STARTED])]).await;
    let endpoint = Endpoint::new(&upstream.url("/"), EndpointOptions::default()).unwrap();
    let input = Bytes::from(vec![b'x'; 32 * 1024 * 1024]);
    let mut stream = endpoint.run(input.clone(), &HeaderMap::new()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().bytes, STARTED);
    assert!(upstream.requests()[0].body == input);
}

#[test]
fn headers_that_are_ours_cannot_be_configured() {
    for name in ["host", "content-length", "transfer-encoding", "accept", "content-type", "connection"] {
        let options = EndpointOptions { headers: headers(&[(name, "x")]), ..EndpointOptions::default() };
        let error = Endpoint::new("http://127.0.0.1/", options).unwrap_err();
        assert_eq!(error, EndpointError::Header(name.parse().unwrap()));
        assert_eq!(error.to_string(), format!("header cannot be configured. name={name}"));
    }
}

#[tokio::test]
async fn no_secret_is_shown() {
    let upstream = Upstream::start([
        answer("401 No", "text/plain", "no"),
        answer("200 OK", "text/html", "no"),
        answer("200 OK", "text/event-stream", "data: a"),
        Vec::new(),
    ])
    .await;
    let headers = headers(&[("authorization", "Bearer s3cret")]);
    let options = EndpointOptions { headers, ..EndpointOptions::default() };
    let endpoint = Endpoint::new(&upstream.url("/s3cret?key=s3cret"), options).unwrap();
    let mut shown = format!("{endpoint:?}");
    let forwarded = HeaderMap::from_iter([("cookie".parse().unwrap(), "s3cret".parse().unwrap())]);
    for _ in 0..4 {
        match endpoint.run(Bytes::from_static(b"s3cret"), &forwarded).await {
            Ok(stream) => shown += &format!("{stream:?}"),
            Err(error) => shown += &told(&error),
        }
    }
    assert_eq!(upstream.requests().len(), 4);
    assert!(!shown.contains("s3cret"), "{shown}");
}
