//! Bodies of requests, and of answers that go on.

use super::decoding::Decoding;
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
    read_any(app, headers, body).await
}

/// The same for lines of JSON.
pub(super) async fn read_lines(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
    check_lines(headers)?;
    read_any(app, headers, body).await
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
    Ok(())
}

async fn read_any(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
    let http = &app.settings().http;
    let decoding = Decoding::of(headers, &http.request_encodings)?;
    let collected = timeout(http.body_timeout, collect(body, decoding, http.request_bytes_max)).await;
    collected
        .unwrap_or_else(|_elapsed| Err(Refusal::new(Code::RequestTimeout, "the body did not come in time")))
}

/// All of a body, which may be so large, as it came and decoded.
async fn collect(mut body: Body, mut decoding: Decoding, bytes_max: usize) -> Result<Bytes, Refusal> {
    let too_large =
        || Refusal::new(Code::RequestTooLarge, format!("the body is too large. bytes_max={bytes_max}"));
    let (mut collected, mut came_bytes) = (Vec::new(), 0);
    let mut take = |piece: &[u8]| {
        if collected.len() + piece.len() > bytes_max {
            return Err(too_large());
        }
        collected.extend_from_slice(piece);
        Ok(())
    };
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Refusal::input("", format!("the body could not be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        came_bytes += data.len();
        if came_bytes > bytes_max {
            return Err(too_large());
        }
        let mut came = &data[..];
        while let Some(piece) = decoding.step(&mut came)? {
            take(&piece)?;
        }
    }
    take(&decoding.finish()?)?;
    Ok(collected.into())
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
