//! What an agent says of itself.

use super::{endpoint, told};
use http::{HeaderMap, HeaderName, HeaderValue};
use threadline_client::{ClientError, EndpointOptions, ErrorKind, Phase};
use threadline_testkit::upstream::{Request, Signal, Step, Upstream, answer, head};
use tokio::time::pause;

async fn asked(script: Vec<Step>) -> (Request, Result<Option<String>, ClientError>) {
    let upstream = Upstream::start([script]).await;
    let forwarded =
        HeaderMap::from_iter([(HeaderName::from_static("x-user"), HeaderValue::from_static("u"))]);
    let document = endpoint(&upstream, EndpointOptions::default()).capabilities(&forwarded).await;
    let document = document.map(|found| found.map(|bytes| String::from_utf8(bytes.to_vec()).expect("UTF-8")));
    (upstream.requests().remove(0), document)
}

#[tokio::test]
async fn a_document_is_given_as_it_is() {
    let document = "\n{ \"identity\": {\"name\": \"x\"}, \"new\": 1.0 } ";
    let (request, found) = asked(answer("200 OK", "text/plain", document)).await;
    assert_eq!(found.unwrap().unwrap(), document);
    assert_eq!((&*request.method, &*request.target), ("GET", "/agent/capabilities"));
    assert_eq!((request.header("accept"), request.header("x-user")), (vec!["application/json"], vec!["u"]));
    assert!(request.body.is_empty());
}

#[tokio::test]
async fn an_agent_may_have_none() {
    for status in ["404 Not Found", "405 Method Not Allowed", "501 Not Implemented"] {
        let (_, found) = asked(answer(status, "text/html", "<html>")).await;
        assert_eq!(found.unwrap(), None, "{status}");
    }
    for status in ["500 Oops", "401 Who", "302 Found"] {
        let (_, found) = asked(answer(status, "text/html", "no")).await;
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Status, "{status}");
    }
}

#[tokio::test]
async fn what_is_no_object_is_none() {
    for document in [&b""[..], b"[]", b"null", b"{", b"{} {}", b"<html>", b"{\"a\": \"\xFF\"}"] {
        let (_, found) = asked(answer("200 OK", "application/json", document)).await;
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{document:?}");
        assert_eq!(error.to_string(), "capabilities are no json object");
        assert!(!told(&error).is_empty());
    }
    let zipped = head("200 OK", &[("content-encoding", "gzip"), ("content-length", "2")]);
    let (_, found) = asked(vec![zipped, Step::Write("{}".into())]).await;
    assert_eq!(found.unwrap_err().kind(), ErrorKind::Protocol);
}

#[tokio::test]
async fn a_document_may_be_as_large_as_the_limit() {
    let of_size = |size: usize| format!("{{{}}}", " ".repeat(size - 2));
    let (_, found) = asked(answer("200 OK", "application/json", of_size(1024 * 1024))).await;
    assert!(found.unwrap().is_some());
    let (_, found) = asked(answer("200 OK", "application/json", of_size(1024 * 1024 + 1))).await;
    let error = found.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::TooLarge, "upstream_too_large"));
    let (_, found) = asked(vec![head("200 OK", &[]), Step::Repeat("{\"x\":".repeat(1000).into())]).await;
    assert_eq!(found.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn all_of_it_must_come_in_time() {
    let stalled = Signal::default();
    let script =
        vec![head("200 OK", &[]), Step::Write("{".into()), Step::Raise(stalled.clone()), Step::UntilGone];
    let upstream = Upstream::start([script]).await;
    let endpoint = endpoint(&upstream, EndpointOptions::default());
    let asked = tokio::spawn(async move { endpoint.capabilities(&HeaderMap::new()).await });
    stalled.wait().await;
    pause();
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Phase::Capabilities));
    assert_eq!(error.to_string(), "agent took too long. phase=capabilities, after=5s");
}
