//! `GET /openapi.json`: what the server says about itself.

use super::body;
use super::table::description;
use crate::app::App;
use crate::openapi::Operation;
use axum::http::header;
use axum::response::IntoResponse;
use bytes::Bytes;
use serde_json::json;
use std::sync::{Arc, OnceLock};

/// The document, made when it is first asked for. It stays as it is while the server runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Document(Arc<OnceLock<Bytes>>);

/// What is said about it.
pub(super) fn about() -> Operation {
    Operation::new("This document").answers_json("OpenAPI 3.1.", json!({ "type": "object" }))
}

/// The document.
pub(super) fn described(app: &App, Document(document): &Document) -> impl IntoResponse + use<> {
    let document = document.get_or_init(|| description(app).to_string().into()).clone();
    ([(header::CONTENT_TYPE, body::JSON[0])], document)
}
