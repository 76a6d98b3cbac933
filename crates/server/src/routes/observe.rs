//! What every request leaves behind: an id, a line in the log, and figures. Never a body, a query or a secret.

use crate::app::App;
use crate::error::Code;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use tokio::time::Instant;
use tracing::Instrument;
use tracing::field::Empty;

/// What a request is known by, here and wherever it came from.
static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that somebody else may give.
const ID_LEN_MAX: usize = 128;

/// Watches a request until its answer begins.
pub(super) async fn observe<F: Future<Output = Response>>(
    app: &App,
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let given = request.headers().get(&REQUEST_ID).filter(|id| is_id(id)).cloned();
    let id = given.unwrap_or_else(mint);
    // Agents that are sent this header get the one that is logged.
    request.headers_mut().insert(&REQUEST_ID, id.clone());
    let method = request.method().clone();
    // Paths have names of threads in them; routes have not.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        %method,
        route,
        status = Empty
    );
    let begun = Instant::now();
    let mut response = answer(request).instrument(span.clone()).await;
    let (took, status) = (begun.elapsed(), response.status().as_u16());
    span.record("status", status);
    app.metrics().answered(method.as_str(), &route, status, took);
    let refused = response.extensions().get::<Code>().copied();
    if let Some(code) = refused {
        app.metrics().refused(code);
    }
    let code = refused.map(Code::name);
    span.in_scope(|| tracing::debug!(status, code, took_us = took.as_micros(), "answered"));
    response.headers_mut().insert(&REQUEST_ID, id);
    response
}

fn is_id(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    !bytes.is_empty() && bytes.len() <= ID_LEN_MAX && bytes.iter().all(u8::is_ascii_graphic)
}

fn mint() -> HeaderValue {
    let mut bytes = [0; 8];
    // Without random numbers requests are alike, and answered all the same.
    let _ = getrandom::fill(&mut bytes);
    let id = format!("{:016x}", u64::from_le_bytes(bytes));
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
}
