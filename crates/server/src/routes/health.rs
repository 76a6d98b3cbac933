//! `GET /healthz` and `GET /readyz`.

use crate::app::App;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Whether the process answers.
pub(super) async fn alive() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok" }))
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
