//! `GET /healthz` and `GET /readyz`.

use super::body;
use crate::app::App;
use crate::error::Code;
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What is said about it.
pub(super) fn about_alive() -> Operation {
    let alive = shapes::object(&[("status", shapes::word(&["ok"]))], &[]);
    Operation::new("Whether the process answers").answers_json("It does.", alive)
}

/// Whether the process answers.
pub(super) async fn alive() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok" }))
}

/// What is said about it.
pub(super) fn about_ready() -> Operation {
    let ready = [("status", shapes::word(&["ready"])), ("runs", shapes::count())];
    let trouble = [Code::StoreUnavailable, Code::ShuttingDown].map(Code::name);
    let unready = [
        ("status", shapes::word(&["unavailable"])),
        ("code", shapes::word(&trouble)),
        ("message", shapes::text()),
    ];
    let unready = [(body::JSON[0], shapes::object(&unready, &[]))];
    Operation::new("Whether runs can be started")
        .answers_json("They can.", shapes::object(&ready, &[]))
        .answers(StatusCode::SERVICE_UNAVAILABLE, "They cannot.", unready)
}

/// Whether runs can be started: the store takes writes, and the server is not about to stop.
pub(super) async fn ready(State(app): State<App>) -> Response {
    let trouble = match app.engine().store().trouble() {
        Some(trouble) => Some(("store_unavailable", trouble)),
        None if app.runs().is_stopping() => Some(("shutting_down", "the server is about to stop".to_owned())),
        None => None,
    };
    match trouble {
        Some((code, message)) => {
            let body = Json(json!({ "status": "unavailable", "code": code, "message": message }));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
        None => Json(json!({ "status": "ready", "runs": app.runs().len() })).into_response(),
    }
}
