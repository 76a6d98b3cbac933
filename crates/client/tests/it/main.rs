//! The client against agents that play scripts over loopback.

mod answers;
mod asking;
mod capabilities;
mod connections;
mod inquiries;
mod limits;
mod proxies;
mod requests;
mod resuming;
mod streams;
mod threads;
mod timeouts;

use bytes::Bytes;
use http::HeaderMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use threadline_client::{
    Ambient, Client, ClientError, ClientOptions, Endpoint, EndpointOptions, ErrorKind, EventStream,
    RecoveryOptions, SourceEvent,
};
use threadline_testkit::upstream::{Step, Upstream};

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

fn endpoint(upstream: &Upstream, options: EndpointOptions) -> Endpoint {
    Endpoint::new(&upstream.url("/agent"), options).expect("a url and options that can be used")
}

async fn open(endpoint: &Endpoint) -> Result<EventStream, ClientError> {
    endpoint.run(Bytes::from_static(b"{}"), &HeaderMap::new()).await
}

/// Opens a run at an agent that plays `script`. The agent is there as long as what is returned.
async fn opened(script: Vec<Step>, options: EndpointOptions) -> (Upstream, Result<EventStream, ClientError>) {
    let upstream = Upstream::start([script]).await;
    let stream = open(&endpoint(&upstream, options)).await;
    (upstream, stream)
}

/// All events, and the error that ended them.
async fn rest(mut stream: EventStream) -> (Vec<SourceEvent>, Option<ClientError>) {
    let mut events = Vec::new();
    loop {
        match stream.next().await {
            Some(Ok(event)) => events.push(event),
            Some(Err(error)) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (events, Some(error));
            }
            None => {
                assert!(stream.next().await.is_none(), "nothing follows the end");
                return (events, None);
            }
        }
    }
}

/// The events of a run at an agent that plays `script`, as text, and the kind of error that ended them.
async fn played(script: Vec<Step>, options: EndpointOptions) -> (Vec<String>, Option<ErrorKind>) {
    let (_upstream, stream) = opened(script, options).await;
    match stream {
        Ok(stream) => {
            let (events, error) = rest(stream).await;
            (texts(&events), error.as_ref().map(ClientError::kind))
        }
        Err(error) => (Vec::new(), Some(error.kind())),
    }
}

fn texts(events: &[SourceEvent]) -> Vec<String> {
    events.iter().map(|event| String::from_utf8(event.bytes.to_vec()).expect("UTF-8")).collect()
}

/// Everything that an error says, its sources included.
fn told(error: &ClientError) -> String {
    let mut text = format!("{error:?} {error}");
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(" {error}");
        source = error.source();
    }
    text
}

/// It is always noon, and chance counts.
#[derive(Debug, Default)]
struct Noon(AtomicU64);

impl Ambient for Noon {
    fn now_ms(&self) -> i64 {
        1_793_707_200_000 // 2026-11-03T12:00:00Z
    }

    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Comes back at once, so that tests need not wait.
fn hasty() -> ClientOptions {
    let recovery = RecoveryOptions { wait_min: Duration::from_millis(1), ..RecoveryOptions::default() };
    ClientOptions {
        recovery,
        ambient: Arc::new(Noon::default()),
        proxy_of_environment: false,
        ..ClientOptions::default()
    }
}

fn client(upstream: &Upstream, options: ClientOptions) -> Client {
    Client::new(&upstream.url("/agent"), options).expect("a url and options that can be used")
}
