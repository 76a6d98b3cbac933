//! Whatever an agent sends, and however long, little is held of it. A binary of its own, because it watches the allocator.

use bytes::Bytes;
use http::HeaderMap;
use peak_alloc::PeakAlloc;
use std::time::Duration;
use threadline_client::{Endpoint, EndpointOptions, ErrorKind};
use threadline_testkit::upstream::{Step, Upstream, head};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{pause, sleep};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Only one test may watch at a time.
static WATCHING: Mutex<()> = Mutex::const_new(());

const MIB: usize = 1024 * 1024;

/// An agent that sends the same again and again.
async fn endless(content_type: &str, bytes: Vec<u8>) -> (MutexGuard<'static, ()>, Upstream, Endpoint) {
    let alone = WATCHING.lock().await;
    let script = vec![head("200 OK", &[("content-type", content_type)]), Step::Repeat(bytes.into())];
    let upstream = Upstream::start([script]).await;
    let options = EndpointOptions { body_bytes_max: 16 * MIB as u64, ..EndpointOptions::default() };
    let endpoint = Endpoint::new(&upstream.url("/"), options).expect("a url and options that can be used");
    (alone, upstream, endpoint)
}

/// Reads what an agent sends again and again, to the end, and gives the kind of that and how much memory it took.
async fn cost(content_type: &str, bytes: Vec<u8>) -> (ErrorKind, usize) {
    let (_alone, _upstream, endpoint) = endless(content_type, bytes).await;
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.peak_usage();
    let mut stream = endpoint.run(Bytes::new(), &HeaderMap::new()).await.expect("an answer");
    loop {
        match stream.next().await.expect("an error, as there is no end") {
            Ok(_) => {}
            Err(error) => return (error.kind(), ALLOCATOR.peak_usage() - before),
        }
    }
}

#[tokio::test]
async fn an_endless_line_costs_what_a_line_may() {
    let (kind, peak) = cost("text/event-stream", vec![b'x'; 64 * 1024]).await;
    assert_eq!(kind, ErrorKind::TooLarge);
    assert!(peak < 32 * MIB, "{peak}");
}

#[tokio::test]
async fn an_endless_event_costs_what_an_event_may() {
    let line = format!("data: {}\n", "x".repeat(64 * 1024));
    let (kind, peak) = cost("text/event-stream", line.into()).await;
    assert_eq!(kind, ErrorKind::TooLarge);
    assert!(peak < 32 * MIB, "{peak}");
}

#[tokio::test]
async fn a_frame_costs_what_came_of_it() {
    let (kind, peak) = cost("application/vnd.ag-ui.event+proto", b"\x7F\xFF\xFF\xFF".repeat(1000)).await;
    assert_eq!(kind, ErrorKind::TooLarge);
    assert!(peak < MIB, "{peak}");
}

#[tokio::test]
async fn endless_heartbeats_and_events_cost_next_to_nothing() {
    for body in [": ping\n\n", "\n", "data: {}\n\n", "event: x\n"] {
        let (kind, peak) = cost("text/event-stream", body.repeat(8 * 1024).into()).await;
        assert_eq!(kind, ErrorKind::TooLarge, "{body:?}");
        assert!(peak < MIB, "{body:?}: {peak}");
    }
}

#[tokio::test]
async fn events_that_nobody_asks_for_stay_where_they_are() {
    let events = b"data: {}\n\n".repeat(8 * 1024);
    let (_alone, _upstream, endpoint) = endless("text/event-stream", events).await;
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.peak_usage();
    let mut stream = endpoint.run(Bytes::new(), &HeaderMap::new()).await.unwrap();
    stream.next().await.unwrap().unwrap();
    // The clock moves only when nobody can do anything: the agent waits for us.
    pause();
    sleep(Duration::from_secs(60)).await;
    let peak = ALLOCATOR.peak_usage() - before;
    assert!(peak < MIB, "{peak}");
}
