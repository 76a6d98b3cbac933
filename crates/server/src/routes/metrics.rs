//! `GET /metrics`: figures for Prometheus.

use crate::app::App;
use crate::metrics::Seen;
use crate::openapi::{Operation, shapes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

/// The format that is written, by its name.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is said about it.
pub(super) fn about() -> Operation {
    Operation::new("Figures for Prometheus").answers(
        StatusCode::OK,
        "All of them.",
        [(FORMAT, shapes::text())],
    )
}

/// All figures.
pub(super) async fn figures(State(app): State<App>) -> impl IntoResponse {
    let store = app.engine().store();
    let seen = Seen {
        runs: app.load().runs.taken(),
        streams: app.load().streams.taken(),
        store_available: store.trouble().is_none(),
        store_ailments: store.ailments().len(),
    };
    ([(header::CONTENT_TYPE, FORMAT)], app.metrics().text(seen))
}
