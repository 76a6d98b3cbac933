//! The URL of an agent, taken apart.

use crate::EndpointError;
use http::Uri;
use http::uri::{Authority, InvalidUri, PathAndQuery};

/// Where an agent is.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) is_tls: bool,
    /// Host and port as the URL has them.
    pub(crate) authority: Authority,
    /// Without the brackets of IPv6.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) run: PathAndQuery,
    pub(crate) capabilities: PathAndQuery,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, EndpointError> {
        let invalid = |what| EndpointError::Url { what };
        let uri: Uri = url.parse().map_err(|_what: InvalidUri| invalid("it is not one"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(invalid("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        let host = authority.host();
        let port = match authority.as_str().get(host.len()..) {
            None | Some("") => {
                if is_tls {
                    443
                } else {
                    80
                }
            }
            Some(port) => {
                let port = port.strip_prefix(':').and_then(|port| port.parse().ok());
                port.ok_or_else(|| invalid("its port is not a number up to 65535"))?
            }
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(invalid("it has no host"));
        }
        let run = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self {
            is_tls,
            authority: authority.clone(),
            host: host.to_owned(),
            port,
            capabilities: below(&run, "capabilities").ok_or_else(|| invalid("it is too long"))?,
            run,
        })
    }
}

impl Address {
    /// Something below the URL, which has a query of its own if it needs one.
    pub(crate) fn path_below(&self, rest: &str) -> Option<PathAndQuery> {
        format!("{}{rest}", self.run.path().trim_end_matches('/')).try_into().ok()
    }
}

/// The path with one more segment, before the query.
fn below(path: &PathAndQuery, segment: &str) -> Option<PathAndQuery> {
    let mut text = format!("{}/{segment}", path.path().trim_end_matches('/'));
    if let Some(query) = path.query() {
        text.push('?');
        text.push_str(query);
    }
    text.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let parts = |url| {
            let Address { is_tls, authority, host, port, run, capabilities } = Address::parse(url).unwrap();
            (is_tls, authority.to_string(), host, port, run.to_string(), capabilities.to_string())
        };
        let parts_are = |url, is_tls, authority: &str, host: &str, port, run: &str, capabilities: &str| {
            let expected = (is_tls, authority.into(), host.into(), port, run.into(), capabilities.into());
            assert_eq!(parts(url), expected, "{url}");
        };
        parts_are("http://a", false, "a", "a", 80, "/", "/capabilities");
        parts_are("https://a.b/", true, "a.b", "a.b", 443, "/", "/capabilities");
        parts_are("http://a:8000/x?k=/v/", false, "a:8000", "a", 8000, "/x?k=/v/", "/x/capabilities?k=/v/");
        parts_are("http://a?k", false, "a", "a", 80, "/?k", "/capabilities?k");
        parts_are("http://a/x//#part", false, "a", "a", 80, "/x//", "/x/capabilities");
        parts_are("https://[::1]:1/%20", true, "[::1]:1", "::1", 1, "/%20", "/%20/capabilities");
        parts_are("HTTP://A", false, "A", "A", 80, "/", "/capabilities");
    }

    #[test]
    fn what_is_no_url_of_an_agent_is_refused() {
        for url in [
            "",
            "/x",
            "a",
            "a:80",
            "ftp://a/",
            "ws://a/",
            "unix:/x",
            "http://",
            "http:///x",
            "http://:80/",
            "http://[]/",
            "http://a:/",
            "http://a:65536/",
            "http://a:-1/",
            "http://a:8x/",
            "http://a b/",
            "http://a/\r\nx: y",
            "http://\u{e4}/",
        ] {
            assert!(matches!(Address::parse(url), Err(EndpointError::Url { .. })), "{url:?}");
        }
        for url in ["http://user@a/", "https://user:secret@a/", "http://:secret@a:80/", "http://@a/"] {
            let error = Address::parse(url).err().unwrap();
            assert_eq!(error, EndpointError::Credentials, "{url:?}");
            assert!(!error.to_string().contains("secret"));
        }
        assert_eq!(
            Address::parse("ftp://a").err().unwrap().to_string(),
            "not the url of an agent: it must begin with http:// or https://"
        );
    }
}
