//! `POST /v1/tickets`: a way in for browsers that cannot send a header.

use super::body;
use crate::access::{Caller, TICKET_MS};
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use threadline_log::ThreadId;

/// What a ticket is for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wanted {
    /// The only thread that can be seen with it.
    thread_id: Option<String>,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    let wanted = shapes::object(&[], &[("threadId", shapes::nullable(shapes::id()))]);
    let ticket = [("ticket", shapes::text()), ("expiresInMs", shapes::count())];
    Operation::new("A ticket, for who cannot send a header: good for one request")
        .takes(&body::JSON, &shapes::closed(wanted))
        .answers_json("The ticket.", shapes::object(&ticket, &[]))
        .refuses(&[Code::NotFound])
}

/// A ticket, good for one request by who asks for it.
pub(super) async fn issue(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let body = body::read(&app, &headers, body).await?;
    let wanted: Wanted =
        serde_json::from_slice(&body).map_err(|error| Refusal::input("", error.to_string()))?;
    let thread = match wanted.thread_id {
        Some(id) => Some(ThreadId::new(id).map_err(|error| Refusal::input("/threadId", error.to_string()))?),
        None => None,
    };
    let Some(authority) = app.authority() else {
        return Err(Refusal::new(Code::NotFound, "tickets are for servers whose callers have tokens"));
    };
    let ticket = authority.tickets().issue(&caller, thread, app.engine().now());
    let ticket = ticket.map_err(|error| {
        tracing::error!(%error, "there are no random numbers");
        Refusal::new(Code::Internal, "there are no random numbers")
    })?;
    Ok(Json(json!({ "ticket": ticket, "expiresInMs": TICKET_MS })))
}
