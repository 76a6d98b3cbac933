//! Answers that are no stream of events.

use super::{STARTED, opened, played, told};
use threadline_client::{ClientError, EndpointOptions, ErrorKind};
use threadline_testkit::upstream::{Step, Upstream, answer, head, sse_answer, sse_body};

async fn refused(script: Vec<Step>) -> ClientError {
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    stream.expect_err("an error")
}

#[tokio::test]
async fn a_status_that_is_no_success_comes_with_the_beginning_of_what_it_says() {
    for (sent, kept) in [(0, 0), (100, 100), (4096, 4096), (4097, 4096), (1_000_000, 4096)] {
        let error = refused(answer("503 Busy", "text/plain", "x".repeat(sent))).await;
        assert_eq!((error.kind(), error.code()), (ErrorKind::Status, "upstream_status"));
        assert_eq!(error.to_string(), "agent answered with an error status. status=503");
        let ClientError::Status { status, body, .. } = error else { panic!("{error}") };
        assert_eq!((status.as_u16(), body.len()), (503, kept));
    }
    // An end that never comes is not waited for, and a body that breaks off is still a refusal.
    let endless = vec![head("500 Oops", &[("content-length", "999999999")]), Step::Repeat("no ".into())];
    let ClientError::Status { body, .. } = refused(endless).await else { panic!() };
    assert_eq!(body.len(), 4096);
    let cut = vec![head("400 Bad", &[("content-length", "9")]), Step::Write(b"\xFFno".as_slice().into())];
    let ClientError::Status { body, .. } = refused(cut).await else { panic!() };
    assert_eq!(body, "\u{FFFD}no");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Upstream::start([sse_answer(&[STARTED])]).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let location = elsewhere.url("/");
        let error = refused(vec![head(status, &[("location", &location), ("content-length", "0")])]).await;
        assert_eq!(error.kind(), ErrorKind::Status);
    }
    assert_eq!(elsewhere.requests(), []);
}

#[tokio::test]
async fn content_types_are_told_apart_by_what_they_are() {
    let events = (vec![STARTED.to_owned()], None);
    for sse in [
        "text/event-stream",
        "text/event-stream; charset=utf-8",
        "Text/Event-Stream ;x",
        "text/event-stream;",
    ] {
        let script = answer("200 OK", sse, sse_body(&[STARTED]));
        assert_eq!(played(script, EndpointOptions::default()).await, events, "{sse}");
    }
    let unnamed = vec![head("200 OK", &[]), Step::Write(sse_body(&[STARTED]).into())];
    assert_eq!(played(unnamed, EndpointOptions::default()).await, events);
    for other in ["application/json", "text/html", "text/event-streams", "", "text/event-stream, text/html"] {
        let error = refused(answer("200 OK", other, sse_body(&[STARTED]))).await;
        assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, "upstream_malformed"), "{other}");
        assert_eq!(error.to_string(), format!("answer is no event stream. content-type={other}"));
    }
    let long = refused(answer("200 OK", &"x".repeat(5000), "")).await;
    assert!(told(&long).len() < 500);
}

#[tokio::test]
async fn an_encoding_that_nobody_asked_for_is_refused() {
    for encoding in ["gzip", "br", "identity, gzip"] {
        let head = head("200 OK", &[("content-type", "text/event-stream"), ("content-encoding", encoding)]);
        let error = refused(vec![head, Step::Write(b"\x1F\x8B\x08".as_slice().into())]).await;
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().ends_with(encoding), "{error}");
    }
    let head = head("200 OK", &[("content-type", "text/event-stream"), ("content-encoding", "Identity")]);
    let script = vec![head, Step::Write(sse_body(&[STARTED]).into())];
    assert_eq!(played(script, EndpointOptions::default()).await, (vec![STARTED.to_owned()], None));
}
