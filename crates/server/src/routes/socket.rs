//! `GET /agents/{agent}/ws`: runs, attaching and stopping over one WebSocket.

use super::parameters::AgentName;
use super::table::router;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::listener::Held;
use crate::openapi::Operation;
use crate::socket::{Connection, Handshake, Session};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::Response;
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// What a message may have beside its input, so that an input that is too large is refused like any other.
const AROUND_INPUT_BYTES_MAX: usize = 64 * 1024;

/// What is about the socket, and not about what is asked over it.
const OF_THE_SOCKET: [HeaderName; 8] = [
    header::CONNECTION,
    header::UPGRADE,
    header::SEC_WEBSOCKET_EXTENSIONS,
    header::SEC_WEBSOCKET_KEY,
    header::SEC_WEBSOCKET_PROTOCOL,
    header::SEC_WEBSOCKET_VERSION,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("x-request-id"),
];

pub(super) fn about() -> Operation {
    Operation::new("A WebSocket: runs, connects and cancels, many over one connection")
        .answers(StatusCode::SWITCHING_PROTOCOLS, "Messages, as docs/http.md has them.", [])
        .refuses(&[Code::AgentNotFound, Code::InvalidInput, Code::UpgradeRequired])
}

/// A socket.
pub(super) async fn open(
    State(app): State<App>,
    caller: Caller,
    AgentName(agent): AgentName,
    mut request: Request,
) -> Result<Response, Refusal> {
    let (agent, _) = app.agents().get(agent.as_deref())?;
    let handshake = Handshake::read(&mut request)?;
    let answer = handshake.answer();
    let held = request.extensions().get::<Held>().cloned();
    let session = Session {
        routes: router(app.clone()),
        agent: format!(
            "{}/agents/{}",
            app.settings().paths.base.trim_end_matches('/'),
            utf8_percent_encode(agent, NON_ALPHANUMERIC)
        ),
        headers: asked_with(request.headers()),
        caller,
    };
    let http = &app.settings().http;
    let (bytes_max, now) =
        (http.request_bytes_max.saturating_add(AROUND_INPUT_BYTES_MAX), app.engine().now());
    let connection = Connection::new(session, http.keep_alive, app.stopping().clone());
    tokio::spawn(async move {
        // The place among the connections is kept until the socket ends.
        let _held = held;
        match handshake.upgrade.await {
            Ok(upgraded) => connection.serve(TokioIo::new(upgraded), bytes_max, now).await,
            Err(error) => tracing::debug!(%error, "a connection did not become a socket"),
        }
    });
    Ok(answer)
}

fn asked_with(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in OF_THE_SOCKET {
        headers.remove(name);
    }
    headers
}
