//! Connections: none to be had, given back at once, and not read ahead.

use super::{STARTED, endpoint, open, opened, told};
use std::time::Duration;
use threadline_client::{ClientError, Endpoint, EndpointOptions, ErrorKind};
use threadline_testkit::upstream::{Signal, Step, Upstream, head, sse_body};
use tokio::net::TcpListener;
use tokio::time::{pause, sleep};

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for url in [format!("http://{address}/path?key"), "http://threadline.invalid/path?key".to_owned()] {
        let error = open(&Endpoint::new(&url, EndpointOptions::default()).unwrap()).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unreachable, "upstream_unreachable"));
        let host = url.trim_start_matches("http://").trim_end_matches("/path?key");
        assert_eq!(error.to_string(), format!("agent cannot be reached. host={host}"));
        assert!(!told(&error).contains("key"));
    }
}

#[tokio::test]
async fn a_run_that_is_dropped_is_gone_for_the_agent() {
    let (asked, gone) = (Signal::default(), Signal::default());
    let script = vec![
        head("200 OK", &[("content-type", "text/event-stream")]),
        Step::Write(sse_body(&[STARTED]).into()),
        Step::UntilGone,
        Step::Raise(gone.clone()),
    ];
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    let mut stream = stream.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    gone.wait().await;

    // Also one that has not been answered.
    let script = vec![Step::Raise(asked.clone()), Step::UntilGone, Step::Raise(gone.clone())];
    let upstream = Upstream::start([script]).await;
    let endpoint = endpoint(&upstream, EndpointOptions::default());
    tokio::select! {
        stream = open(&endpoint) => panic!("{:?}", stream.map(drop)),
        () = asked.wait() => {}
    }
    gone.wait().await;
}

#[tokio::test]
async fn an_agent_is_not_read_ahead_of_who_asks() {
    let event = format!("data: {}\n\n", "x".repeat(1000));
    let script = vec![head("200 OK", &[("content-type", "text/event-stream")]), Step::Repeat(event.into())];
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    let mut stream = stream.unwrap();
    stream.next().await.unwrap().unwrap();
    // The clock moves only when nobody can do anything: the agent waits for us.
    pause();
    sleep(Duration::from_secs(60)).await;
    for _ in 0..1000 {
        assert_eq!(stream.next().await.unwrap().unwrap().bytes.len(), 1000);
    }
}

#[tokio::test]
async fn nothing_is_sent_twice() {
    let upstream = Upstream::start([Vec::new()]).await;
    let endpoint = endpoint(&upstream, EndpointOptions::default());
    let error = open(&endpoint).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken { .. }), "{error:?}");
    assert_eq!(error.code(), "upstream_broken");
    assert_eq!(upstream.requests().len(), 1);
}
