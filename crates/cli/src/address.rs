//! Where an endpoint is, and what lies beside it.

use crate::report::Failure;
use http::Uri;
use std::net::IpAddr;

/// The URL of an endpoint, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    is_tls: bool,
    /// Whether the URL is one of a WebSocket.
    pub(crate) is_socket: bool,
    authority: String,
    path: String,
    query: Option<String>,
}

impl Address {
    /// Whether a text is meant to be the URL of an endpoint, and not the name of a file.
    pub(crate) fn is_meant(text: &str) -> bool {
        ["http://", "https://", "ws://", "wss://"]
            .iter()
            .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
    }

    pub(crate) fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let scheme = uri.scheme_str()?;
        Some(Self {
            is_tls: matches!(scheme, "https" | "wss"),
            is_socket: matches!(scheme, "ws" | "wss"),
            authority: uri.authority()?.to_string(),
            path: uri.path().to_owned(),
            query: uri.query().map(str::to_owned),
        })
    }

    /// The URL itself, of HTTP. A WebSocket at `/ws` stands below it.
    pub(crate) fn http(&self) -> String {
        self.url("http", self.path_of_http())
    }

    /// One segment below the URL.
    pub(crate) fn below(&self, segment: &str) -> String {
        self.url("http", &format!("{}/{segment}", self.path_of_http().trim_end_matches('/')))
    }

    /// One segment below the host, if that is somewhere else.
    pub(crate) fn at_root(&self, segment: &str) -> Option<String> {
        let path = self.path_of_http().trim_end_matches('/');
        (!path.is_empty()).then(|| self.url("http", &format!("/{segment}")))
    }

    /// Where a WebSocket may be: at the URL, and below one of HTTP.
    pub(crate) fn sockets(&self) -> Vec<String> {
        let mut sockets = vec![self.url("ws", &self.path)];
        if !self.is_socket {
            sockets.push(self.url("ws", &format!("{}/ws", self.path.trim_end_matches('/'))));
        }
        sockets
    }

    fn path_of_http(&self) -> &str {
        let above = self.path.strip_suffix("/ws").filter(|_| self.is_socket);
        match above {
            Some("") => "/",
            Some(above) => above,
            None => &self.path,
        }
    }

    fn url(&self, scheme: &str, path: &str) -> String {
        let secure = if self.is_tls { "s" } else { "" };
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}{secure}://{}{path}{query}", self.authority)
    }

    /// Whether it is on this machine, by its name. A name that only resolves to this machine may be another's tomorrow.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.authority.rsplit_once('@').map_or(self.authority.as_str(), |(_, host)| host);
        let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, _)) => host,
            None => host.split(':').next().unwrap_or_default(),
        };
        let host = host.to_ascii_lowercase();
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// The same place over HTTP, for who connects.
pub(crate) fn as_http(url: &str) -> String {
    url.strip_prefix("ws").map_or_else(|| url.to_owned(), |rest| format!("http{rest}"))
}

/// What makes the ids of one command different from those of every other.
pub(crate) fn nonce() -> Result<String, Failure> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Environment(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_files() {
        assert!(["http://a", "HTTPS://a/b", "ws://a", "wss://a"].into_iter().all(Address::is_meant));
        assert!(
            !["events.jsonl", "-", "http:/a", "file://a", "http", "ü"].into_iter().any(Address::is_meant)
        );
    }

    #[test]
    fn what_lies_beside_a_url() {
        let address = Address::parse("https://a:1/x/?k=v").unwrap();
        assert_eq!(address.http(), "https://a:1/x/?k=v");
        assert_eq!(address.below("capabilities"), "https://a:1/x/capabilities?k=v");
        assert_eq!(address.at_root("capabilities").as_deref(), Some("https://a:1/capabilities?k=v"));
        assert_eq!(address.sockets(), ["wss://a:1/x/?k=v", "wss://a:1/x/ws?k=v"]);
        assert_eq!(as_http(&address.sockets()[0]), address.http());
        let address = Address::parse("ws://a/agui/ws?k").unwrap();
        assert_eq!(
            (address.http().as_str(), address.sockets()),
            ("http://a/agui?k", vec!["ws://a/agui/ws?k".to_owned()])
        );
        assert_eq!(Address::parse("ws://a/ws").unwrap().http(), "http://a/");
        assert_eq!(Address::parse("http://a/x/ws").unwrap().http(), "http://a/x/ws");
        let address = Address::parse("ws://a").unwrap();
        assert_eq!(
            (address.http().as_str(), address.at_root("x"), address.is_socket),
            ("http://a/", None, true)
        );
    }

    #[test]
    fn loopback_is_known_by_name_or_number() {
        for (url, is) in [
            ("http://localhost:8000/", true),
            ("http://LOCALHOST", true),
            ("http://a.localhost/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:80/", true),
            ("http://localhost.example/", false),
            ("http://0.0.0.0/", false),
            ("http://192.168.1.1/", false),
            ("https://example.com/localhost", false),
            ("http://localhost@example.com/", false),
        ] {
            assert_eq!(Address::parse(url).unwrap().is_loopback(), is, "{url}");
        }
    }
}
