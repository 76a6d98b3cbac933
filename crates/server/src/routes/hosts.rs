//! The `Host` header: only who means this server is answered, so that no page can reach it by a name of its own.

use crate::app::App;
use crate::error::{Code, Refusal};
use axum::extract::Request;
use axum::http::header;

/// Refuses requests for other servers.
pub(super) fn check(app: &App, request: &Request) -> Result<(), Refusal> {
    if is_allowed(named(request).unwrap_or_default(), &app.settings().http.hosts) {
        return Ok(());
    }
    Err(Refusal::new(Code::HostNotAllowed, "this server does not answer to that host"))
}

/// The host that a request is for.
pub(super) fn named(request: &Request) -> Option<&str> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    // In HTTP/2 it is part of the address.
    named.or_else(|| request.uri().authority().map(|authority| authority.as_str()))
}

fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let name = without_port(host);
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || name.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    is_loopback
        || allowed
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => {
            if name.contains(':') && !name.starts_with('[') {
                host
            } else {
                name
            }
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn only_names_of_this_server_are_answered() {
        let allowed = ["chat.example".to_owned(), "other.example:8443".to_owned()];
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1",
            "127.0.0.1:8000",
            "[::1]:8000",
            "[::1]",
            "chat.example",
            "Chat.Example:9",
            "other.example:8443",
        ] {
            assert!(is_allowed(host, &allowed), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "other.example",
            "other.example:1",
            "10.0.0.1",
            "localhost:8000:x",
            "[::2]:1",
        ] {
            assert!(!is_allowed(host, &allowed), "{host}");
        }
    }
}
