//! `GET /`: the inspector, which is a page and the files that it loads. Anybody may have them: what the page shows, it asks for like everybody.

use super::parameters::Name;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, shapes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use threadline_inspector::{ABSENT, File, POLICY};

const PAGE: &str = "index.html";
/// The page names its files by what is in them, and is the one that must be asked for again.
const PAGE_CACHE: &str = "no-cache";
const ASSET_CACHE: &str = "public, max-age=31536000, immutable";

/// What is said about it.
pub(super) fn about_page() -> Operation {
    Operation::new("The inspector, for browsers")
        .answers(StatusCode::OK, "The page.", [("text/html; charset=utf-8", shapes::text())])
        .refuses(&[Code::NotFound])
}

/// What is said about it.
pub(super) fn about_asset() -> Operation {
    let forms = ["text/javascript; charset=utf-8", "text/css; charset=utf-8", "image/svg+xml"];
    Operation::new("A file of the inspector")
        .answers(StatusCode::OK, "The file.", forms.map(|form| (form, shapes::text())))
        .refuses(&[Code::NotFound])
}

/// The page.
pub(super) async fn page(headers: HeaderMap) -> Result<Response, Refusal> {
    let page = File::named(PAGE).ok_or_else(|| Refusal::new(Code::NotFound, ABSENT))?;
    Ok(sent(page, &headers))
}

/// A file that it loads.
pub(super) async fn asset(Name(name): Name, headers: HeaderMap) -> Result<Response, Refusal> {
    let file = File::named(&format!("assets/{name}"));
    let file = file.ok_or_else(|| Refusal::new(Code::NotFound, "the inspector has no such file"))?;
    Ok(sent(file, &headers))
}

fn sent(file: &'static File, asked: &HeaderMap) -> Response {
    let (encoding, bytes) = match () {
        () if accepts(asked, "br") => (Some("br"), file.brotli),
        () if accepts(asked, "gzip") => (Some("gzip"), file.gzip),
        () => (None, file.plain),
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    let cache = if file.is_immutable() { ASSET_CACHE } else { PAGE_CACHE };
    for (name, value) in [
        (header::CONTENT_TYPE, file.media_type()),
        (header::CACHE_CONTROL, cache),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// Whether a browser takes this encoding. What it does not name, it does not take; `q=0` is a refusal.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let said = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    said.flat_map(|value| value.split(',')).any(|part| {
        let mut parts = part.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let is_refused = parts.any(|parameter| {
            let weight = parameter.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            weight.is_some_and(|weight| weight <= 0.0)
        });
        is_it && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_accepted() {
        for (said, brotli, gzip) in [
            ("gzip, deflate, br, zstd", true, true),
            ("gzip;q=0.5,BR;q=0", false, true),
            ("identity", false, false),
            ("*", false, false),
            ("", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(said));
            assert_eq!((accepts(&headers, "br"), accepts(&headers, "gzip")), (brotli, gzip), "{said}");
        }
        assert!(!accepts(&HeaderMap::new(), "gzip"));
    }
}
