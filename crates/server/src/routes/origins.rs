//! Pages of which origins may call, by the `Origin` header and the rules of CORS.

use super::hosts;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::settings::HttpSettings;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, header};
use std::time::Duration;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// For how long a browser need not ask again.
const MAX_AGE: Duration = Duration::from_hours(1);

/// Answers browsers that ask whether a page may call, and tells them on every answer, refusals included.
pub(super) fn cors(http: &HttpSettings) -> CorsLayer {
    let origins = http.origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        // The check of origins decides; what a page sends beyond that is between it and the agent.
        .allow_headers(AllowHeaders::mirror_request())
        .allow_credentials(http.credentials)
        .expose_headers([header::ETAG, header::RETRY_AFTER, HeaderName::from_static("x-request-id")])
        .max_age(MAX_AGE)
}

/// Refuses requests of pages that are not on the list. A page of this server itself may always call.
pub(super) fn check(app: &App, request: &Request) -> Result<(), Refusal> {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    if is_allowed(origin, hosts::named(request), &app.settings().http.origins) {
        return Ok(());
    }
    Err(Refusal::new(Code::OriginNotAllowed, "pages of that origin may not call this server"))
}

fn is_allowed(origin: &HeaderValue, host: Option<&str>, allowed: &[String]) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let of_ours = origin.split_once("://").is_some_and(|(scheme, name)| {
        matches!(scheme, "http" | "https") && host.is_some_and(|host| host.eq_ignore_ascii_case(name))
    });
    of_ours || allowed.iter().any(|allowed| allowed == origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_origins_and_our_own_may_call() {
        let allowed = ["https://chat.example".to_owned(), "http://localhost:3000".to_owned()];
        let may = |origin: &str, host| is_allowed(&HeaderValue::from_str(origin).unwrap(), host, &allowed);
        let host = Some("localhost:8000");
        for origin in ["https://chat.example", "http://localhost:3000", "http://localhost:8000"] {
            assert!(may(origin, host), "{origin}");
        }
        for origin in [
            "",
            "null",
            "*",
            "http://chat.example",
            "https://chat.example:444",
            "https://chat.example.evil.example",
            "https://evil.example/https://chat.example",
            "http://localhost:3001",
            "file://localhost:8000",
        ] {
            assert!(!may(origin, host), "{origin}");
        }
        assert!(!may("http://localhost:8000", None));
    }
}
