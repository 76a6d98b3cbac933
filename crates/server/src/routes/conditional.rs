//! Answers that a client may have already: `ETag` and `If-None-Match`.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt;

/// What tells an answer from the others of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    text: String,
    is_weak: bool,
}

impl Tag {
    /// Of parts that are digits and letters.
    pub(super) fn new(parts: &[&dyn fmt::Display]) -> Self {
        let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        Self { text: format!("\"{}\"", parts.join(".")), is_weak: false }
    }

    /// Of an answer that may say something in passing that has changed since.
    pub(super) fn weak(parts: &[&dyn fmt::Display]) -> Self {
        Self { is_weak: true, ..Self::new(parts) }
    }

    /// Whether the client says that it has this answer.
    pub(super) fn is_held(&self, headers: &HeaderMap) -> bool {
        let said = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut tags = said.flat_map(|value| value.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.text)
    }

    /// An answer with this tag. It may be kept, and must be asked for again: the thread may be deleted.
    pub(super) fn on(self, mut response: Response) -> Response {
        let tag = if self.is_weak { format!("W/{}", self.text) } else { self.text };
        let tag = HeaderValue::try_from(tag).expect("a tag is visible ASCII");
        response.headers_mut().insert(header::ETAG, tag);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        response
    }

    /// That the client has it already.
    pub(super) fn not_modified(self) -> Response {
        self.on(StatusCode::NOT_MODIFIED.into_response())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_among_others() {
        let tag = Tag::new(&[&7, &"ab"]);
        for (said, is_held) in [
            ("\"7.ab\"", true),
            ("W/\"7.ab\"", true),
            ("\"x\", \"7.ab\"", true),
            ("*", true),
            ("7.ab", false),
            ("\"7.a\"", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(said));
            assert_eq!(tag.is_held(&headers), is_held, "{said}");
        }
        assert!(!tag.is_held(&HeaderMap::new()));
    }
}
