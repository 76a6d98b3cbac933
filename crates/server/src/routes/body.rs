//! Bodies of requests, and of answers that go on.

use crate::app::App;
use crate::error::{Code, Refusal};
use crate::stream::{Encoding, RunReader};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::time::timeout;

/// The only name that JSON goes by.
pub(super) const JSON: [&str; 1] = ["application/json"];
/// Lines of JSON, by the names that they go by.
pub(super) const LINES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

/// Reads the body of a request that must be JSON, within the limits.
pub(super) async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
    check_type(headers, &JSON)?;
    read_any(app, body).await
}

/// The same for lines of JSON.
pub(super) async fn read_lines(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
    check_lines(headers)?;
    read_any(app, body).await
}

/// Whether the body of a request is lines of JSON, by its head.
pub(super) fn check_lines(headers: &HeaderMap) -> Result<(), Refusal> {
    check_type(headers, &LINES)
}

fn check_type(headers: &HeaderMap, taken: &[&str]) -> Result<(), Refusal> {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    // Pages of other origins can send forms and plain text without being asked; not this.
    if !taken.iter().any(|taken| essence.eq_ignore_ascii_case(taken)) {
        let message = format!("the content type must be {}", taken.join(" or "));
        return Err(Refusal::new(Code::UnsupportedMediaType, message));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Refusal::new(Code::UnsupportedMediaType, "compressed bodies are not taken"));
    }
    Ok(())
}

async fn read_any(app: &App, body: Body) -> Result<Bytes, Refusal> {
    let http = &app.settings().http;
    match timeout(http.body_timeout, collect(body, http.request_bytes_max)).await {
        Ok(Ok(Some(collected))) => Ok(collected),
        Ok(Ok(None)) => {
            let message = format!("the body is too large. bytes_max={}", http.request_bytes_max);
            Err(Refusal::new(Code::RequestTooLarge, message))
        }
        Ok(Err(error)) => Err(Refusal::input("", format!("the body could not be read: {error}"))),
        Err(_) => Err(Refusal::new(Code::RequestTimeout, "the body did not come in time")),
    }
}

/// All of a body; nothing if it is too large.
async fn collect(mut body: Body, bytes_max: usize) -> Result<Option<Bytes>, axum::Error> {
    let mut collected = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if collected.len() + data.len() > bytes_max {
            return Ok(None);
        }
        collected.extend_from_slice(&data);
    }
    Ok(Some(collected.into()))
}

/// An answer that goes on as a run does.
pub(super) fn events(encoding: Encoding, reader: RunReader) -> Response<Body> {
    with_events(encoding, Body::from_stream(reader.into_stream()))
}

/// An answer of events that are all there.
pub(super) fn all_events(encoding: Encoding, frames: Vec<u8>) -> Response<Body> {
    with_events(encoding, Body::from(frames))
}

/// An answer of events in any body.
pub(super) fn with_events(encoding: Encoding, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, encoding.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that collect answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
