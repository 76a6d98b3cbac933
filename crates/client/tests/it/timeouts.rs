//! How long an agent may take. The clock stands still but for who waits for it, once everything that takes real time is over.

use super::{STARTED, endpoint, open, opened, rest};
use std::time::Duration;
use threadline_client::{ClientError, Endpoint, EndpointOptions, ErrorKind, Phase};
use threadline_testkit::upstream::{Deaf, Signal, Step, Upstream, chunk, head, last_chunk, sse_body};
use tokio::time::{Instant, pause, timeout};

const MINUTE: Duration = Duration::from_secs(60);

fn begun() -> Step {
    head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
}

#[tokio::test]
async fn a_connection_must_come_about_in_time() {
    let deaf = Deaf::new().await;
    let endpoint = Endpoint::new(&format!("http://{}", deaf.address()), EndpointOptions::default()).unwrap();
    pause();
    let asked = Instant::now();
    let error = open(&endpoint).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Timeout(Phase::Connect), "upstream_timeout"));
    assert_eq!(error.to_string(), "agent took too long. phase=connect, after=10s");
    assert!((10..11).contains(&asked.elapsed().as_secs()));
}

#[tokio::test]
async fn an_answer_must_begin_in_time() {
    for part in ["", "HTTP/1.1 200 OK\r\nconte"] {
        let asked = Signal::default();
        let script = vec![Step::Write(part.into()), Step::Raise(asked.clone()), Step::UntilGone];
        let upstream = Upstream::start([script]).await;
        let endpoint = endpoint(&upstream, EndpointOptions::default());
        let run = tokio::spawn(async move { open(&endpoint).await });
        asked.wait().await;
        pause();
        let since = Instant::now();
        let error = run.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout(Phase::Response));
        assert!((59..61).contains(&since.elapsed().as_secs()));
        tokio::time::resume();
    }
}

#[tokio::test]
async fn an_agent_may_be_silent_for_a_while_but_not_longer() {
    let ping = || chunk(": ping\n\n");
    let script = vec![
        begun(),
        chunk(sse_body(&[STARTED])),
        Step::Sleep(4 * MINUTE),
        ping(),
        Step::Sleep(4 * MINUTE),
        chunk(sse_body(&[STARTED])),
        Step::Sleep(6 * MINUTE),
        last_chunk(),
    ];
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    pause();
    let (events, error) = rest(stream.unwrap()).await;
    assert_eq!(events.len(), 2);
    let error = error.expect("too long a silence");
    assert_eq!(error.kind(), ErrorKind::Timeout(Phase::Idle));
    assert_eq!(error.to_string(), "agent took too long. phase=idle, after=300s");
}

#[tokio::test]
async fn asking_again_does_not_start_the_idle_time_anew() {
    let script = vec![begun(), chunk(sse_body(&[STARTED])), Step::UntilGone];
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    let mut stream = stream.unwrap();
    stream.next().await.unwrap().unwrap();
    pause();
    for _ in 0..4 {
        assert!(timeout(MINUTE, stream.next()).await.is_err());
    }
    let error = timeout(2 * MINUTE, stream.next()).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Phase::Idle));
}

#[tokio::test]
async fn what_came_while_nobody_asked_is_not_late() {
    let script = vec![begun(), chunk(sse_body(&[STARTED])), chunk(sse_body(&["x"])), last_chunk()];
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    pause();
    let mut stream = stream.unwrap();
    stream.next().await.unwrap().unwrap();
    tokio::time::sleep(60 * MINUTE).await;
    let (events, error) = rest(stream).await;
    assert_eq!((events.len(), error.is_none()), (1, true), "{error:?}");
}

#[tokio::test]
async fn asking_and_giving_up_loses_nothing() {
    let events: Vec<String> = (0..20).map(|index| index.to_string()).collect();
    let texts: Vec<&str> = events.iter().map(String::as_str).collect();
    let script = vec![
        head("200 OK", &[("content-type", "text/event-stream")]),
        Step::Trickle(sse_body(&texts).into(), Duration::from_secs(3)),
    ];
    let (_upstream, stream) = opened(script, EndpointOptions::default()).await;
    pause();
    let mut stream = stream.unwrap();
    let mut given = Vec::new();
    loop {
        match timeout(Duration::from_secs(2), stream.next()).await {
            Ok(Some(event)) => given.push(String::from_utf8(event.unwrap().bytes.to_vec()).unwrap()),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    assert_eq!(given, events);
}

#[tokio::test]
async fn what_a_refusal_says_is_not_waited_for_long() {
    let said = Signal::default();
    let refusal = head("500 Oops", &[("content-length", "9")]);
    let script = vec![refusal, Step::Write("so far".into()), Step::Raise(said.clone()), Step::UntilGone];
    let upstream = Upstream::start([script]).await;
    let endpoint = endpoint(&upstream, EndpointOptions::default());
    let run = tokio::spawn(async move { open(&endpoint).await });
    said.wait().await;
    pause();
    let since = Instant::now();
    let error = run.await.unwrap().unwrap_err();
    let ClientError::Status { body, .. } = error else { panic!("{error}") };
    assert_eq!(body, "so far");
    assert!(since.elapsed() < 2 * MINUTE);
}
