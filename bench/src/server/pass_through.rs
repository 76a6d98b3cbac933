//! What people use instead: a proxy that sends on what it gets, and keeps nothing.

use super::exchange::{Answer, post};
use super::hosted::Hosted;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;
use std::io;
use std::net::SocketAddr;

/// Stands in front of an agent.
pub(super) fn start(agent: SocketAddr) -> io::Result<Hosted> {
    Hosted::start("pass-through", Router::new().fallback(pass).with_state(agent))
}

async fn pass(State(agent): State<SocketAddr>, uri: Uri, body: Body) -> Result<Response<Body>, StatusCode> {
    let body = body.collect().await.or(Err(StatusCode::BAD_REQUEST))?.to_bytes();
    let Answer(body) = post(agent, uri.path(), body).await.or(Err(StatusCode::BAD_GATEWAY))?;
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}
