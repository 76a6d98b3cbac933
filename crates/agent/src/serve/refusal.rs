//! Why a request starts nothing.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use threadline_protocol::ReadError;

/// Why a request starts nothing: JSON with a stable code.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The body is no request.
    Input(ReadError),
    /// The body is no text.
    NotUtf8,
    /// The body says that it is something else.
    MediaType,
    /// The body is larger than it may be, or was cut off.
    Body {
        /// How large it may be.
        limit: usize,
    },
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Input(error) => (
                StatusCode::BAD_REQUEST,
                json!({
                    "code": "invalid_input",
                    "message": error.to_string(),
                    "details": {"pointer": error.pointer()},
                }),
            ),
            Self::NotUtf8 => (
                StatusCode::BAD_REQUEST,
                json!({"code": "invalid_input", "message": "not UTF-8", "details": {"pointer": ""}}),
            ),
            Self::MediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                json!({"code": "unsupported_media_type", "message": "the body must be application/json"}),
            ),
            Self::Body { limit } => (
                StatusCode::PAYLOAD_TOO_LARGE,
                json!({
                    "code": "body_too_large",
                    "message": format!("the body is cut off or too large. limit={limit}"),
                }),
            ),
        };
        let body = json!({"error": error}).to_string();
        (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
