//! A recording as an agent.

use super::pace::Pace;
use super::recording::{Moment, RecordedRun};
use crate::report::Failure;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use threadline_client::Payload;
use threadline_protocol::codec::encode_frame;
use threadline_protocol::{Event, Received};
use tokio::net::TcpListener;
use tokio::sync::mpsc::channel;

/// How large a request may be, as with the server.
const REQUEST_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many frames wait for a slow reader.
const FRAMES_WAITING: usize = 16;

pub(crate) struct Stage {
    pub(crate) runs: Vec<RecordedRun>,
    pub(crate) pace: Pace,
    pub(crate) origins: Vec<String>,
    next: AtomicUsize,
}

impl Stage {
    pub(crate) const fn new(runs: Vec<RecordedRun>, pace: Pace, origins: Vec<String>) -> Self {
        Self { runs, pace, origins, next: AtomicUsize::new(0) }
    }

    /// The run that is played next.
    fn turn(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed) % self.runs.len().max(1)
    }

    /// Whether a page may ask: one of this machine, or one that is listed. Else any page could read what was recorded.
    fn allows(&self, origin: &str) -> bool {
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        let name =
            host.rsplit_once(':').map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
        ["localhost", "127.0.0.1", "[::1]"].contains(&name)
            || self.origins.iter().any(|listed| listed == origin)
    }
}

/// Serves until Ctrl-C.
pub(crate) async fn serve(stage: Stage, address: SocketAddr) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::Usage(format!(
            "a recording is served on loopback addresses only. given={address}"
        )));
    }
    let cannot = |error: std::io::Error| Failure::Environment(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    crate::replay::say(&format!("replaying on http://{address}/"))?;
    let router = Router::new().fallback(answer).with_state(Arc::new(stage));
    tokio::select! {
        served = axum::serve(listener, router) => served.map_err(cannot),
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn answer(State(stage): State<Arc<Stage>>, request: Request) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let allowed = origin.as_ref().map(|origin| origin.to_str().is_ok_and(|origin| stage.allows(origin)));
    if allowed == Some(false) {
        return plain(StatusCode::FORBIDDEN, "this page may not ask: say --origin");
    }
    let mut response = match *request.method() {
        Method::OPTIONS => preflight(request.headers()),
        Method::POST => play(&stage, request).await,
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "runs are asked for with POST"),
    };
    if let Some(origin) = origin {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}

fn preflight(headers: &HeaderMap) -> Response {
    let mut response = plain(StatusCode::NO_CONTENT, "");
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let asked = asked.unwrap_or_else(|| HeaderValue::from_static("content-type"));
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    response
}

async fn play(stage: &Arc<Stage>, request: Request) -> Response {
    let Ok(body) = to_bytes(request.into_body(), REQUEST_BYTES_MAX).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(thread), Some(run)) = (id("threadId"), id("runId")) else {
        return plain(StatusCode::BAD_REQUEST, "no RunAgentInput: threadId and runId are missing");
    };
    let (frames, sent) = channel(FRAMES_WAITING);
    let (stage, turn) = (Arc::clone(stage), stage.turn());
    tokio::spawn(async move {
        for moment in stage.runs.get(turn).map_or(&[][..], |run| &run.moments) {
            stage.pace.wait(moment.after).await;
            if frames.send(Ok(frame(moment, &thread, &run))).await.is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(Body::new(Payload::Lines(sent)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// An event under the ids of the request, which clients know the run by.
fn frame(moment: &Moment, thread: &str, run: &str) -> Bytes {
    let renamed = Received::read(&moment.json).ok().and_then(|received| match received.into_event() {
        Event::RunStarted(mut event) => {
            (event.thread_id, event.run_id) = (thread.into(), run.into());
            Some(Event::from(event).to_json())
        }
        Event::RunFinished(mut event) => {
            (event.thread_id, event.run_id) = (thread.into(), run.into());
            Some(Event::from(event).to_json())
        }
        _ => None,
    });
    let mut frame = Vec::new();
    encode_frame(&mut frame, renamed.as_ref().unwrap_or(&moment.json).as_bytes(), None);
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_may_ask_and_those_that_are_listed() {
        let stage = Stage::new(
            Vec::new(),
            Pace::Interval(std::time::Duration::ZERO),
            vec!["https://a.example".to_owned()],
        );
        for origin in [
            "http://localhost:3000",
            "http://localhost",
            "https://127.0.0.1:8",
            "http://[::1]:1",
            "http://[::1]",
            "https://a.example",
        ] {
            assert!(stage.allows(origin), "{origin}");
        }
        for origin in
            ["http://localhost.evil.example", "http://evil.example:80", "null", "", "https://a.example:1"]
        {
            assert!(!stage.allows(origin), "{origin}");
        }
    }
}
