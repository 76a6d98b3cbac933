//! The routes.

use super::encoding::Encoding;
use super::event_body::EventBody;
use super::refusal::Refusal;
use crate::agent::Agent;
use crate::options::RunOptions;
use crate::run::run_agent;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use threadline_protocol::RunAgentInput;
use threadline_protocol::capabilities::TransportCapabilities;

/// Serves an agent.
#[derive(Clone)]
pub struct Handler {
    agent: Arc<dyn Agent>,
    options: RunOptions,
    keep_alive: Duration,
    request_bytes_max: usize,
}

impl Handler {
    /// With the defaults.
    #[must_use]
    pub fn new(agent: Arc<dyn Agent>) -> Self {
        Self {
            agent,
            options: RunOptions::new(),
            keep_alive: Duration::from_secs(15),
            request_bytes_max: 32 * 1024 * 1024,
        }
    }

    /// Settings of its runs.
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// After how much silence a comment is sent: 15 seconds by default.
    #[must_use]
    pub const fn with_keep_alive(mut self, silence: Duration) -> Self {
        self.keep_alive = silence;
        self
    }

    /// The largest request: 32 MiB by default.
    #[must_use]
    pub const fn with_request_bytes_max(mut self, bytes: usize) -> Self {
        self.request_bytes_max = bytes;
        self
    }

    /// `POST /` and `GET /capabilities`, to be nested wherever the agent shall be.
    ///
    /// Nothing is said about who may call: put it behind whatever guards the rest of the application.
    pub fn into_router(self) -> Router {
        Router::new()
            .route("/", post(run))
            .route("/capabilities", get(capabilities))
            .with_state(Arc::new(self))
    }

    async fn input(&self, request: Request) -> Result<RunAgentInput<'static>, Refusal> {
        // A page of another origin can send a form or plain text unasked, but not JSON.
        if !is_json(request.headers()) {
            return Err(Refusal::MediaType);
        }
        let limit = self.request_bytes_max;
        let body = to_bytes(request.into_body(), limit).await.map_err(|_cut| Refusal::Body { limit })?;
        let text = std::str::from_utf8(&body).map_err(|_not| Refusal::NotUtf8)?;
        let (input, _departures) = RunAgentInput::read_json(text).map_err(Refusal::Input)?;
        Ok(input.into_owned())
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("options", &self.options)
            .field("keep_alive", &self.keep_alive)
            .field("request_bytes_max", &self.request_bytes_max)
            .finish_non_exhaustive()
    }
}

async fn run(State(handler): State<Arc<Handler>>, request: Request) -> Response {
    let encoding = Encoding::requested(request.headers());
    let input = match handler.input(request).await {
        Ok(input) => input,
        Err(refusal) => return refusal.into_response(),
    };
    let speaks_1_0 = input.protocol_version.is_some();
    let run = run_agent(Arc::clone(&handler.agent), input, handler.options.clone());
    let body = EventBody::new(run, encoding, speaks_1_0, handler.keep_alive);
    let headers = [
        (header::CONTENT_TYPE, encoding.content_type()),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

/// What the agent says of itself, with what this handler adds.
async fn capabilities(State(handler): State<Arc<Handler>>) -> Response {
    let mut says = handler.agent.capabilities();
    let transport = says.transport.unwrap_or_else(TransportCapabilities::new);
    says.transport = Some(transport.with_streaming(true).with_http_binary(true));
    ([(header::CONTENT_TYPE, "application/json")], says.to_json()).into_response()
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
