//! Which headers go to the agent.

use http::header::{self, HeaderMap, HeaderName};

/// Headers that are between us and the agent, or that say what the body is and what we can read. Nobody else sets them.
const OURS: [HeaderName; 17] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::HOST,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Whether nobody but us may set the header.
pub(crate) fn is_ours(name: &HeaderName) -> bool {
    OURS.contains(name)
}

/// What is sent beside our own headers: those that are configured, and of the forwarded ones those that may pass. Where both
/// name one, only the configured values are sent, so that no user speaks for the operator.
pub(crate) fn merge(configured: &HeaderMap, forwarded: &HeaderMap) -> HeaderMap {
    let mut headers = configured.clone();
    for (name, value) in forwarded {
        if !is_ours(name) && !configured.contains_key(name) && !is_for_one_hop(forwarded, name) {
            headers.append(name, value.clone());
        }
    }
    headers
}

/// Whether `Connection` says that the header goes no further than to us.
fn is_for_one_hop(headers: &HeaderMap, name: &HeaderName) -> bool {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|option| option.trim().eq_ignore_ascii_case(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn configured_headers_stand_over_forwarded_ones() {
        let configured = map(&[("authorization", "ours"), ("x-team", "a"), ("x-team", "b")]);
        let forwarded =
            map(&[("x-team", "c"), ("authorization", "theirs"), ("x-user", "u"), ("x-user", "v")]);
        let expected = map(&[
            ("authorization", "ours"),
            ("x-team", "a"),
            ("x-team", "b"),
            ("x-user", "u"),
            ("x-user", "v"),
        ]);
        assert_eq!(merge(&configured, &forwarded), expected);
    }

    #[test]
    fn what_belongs_to_one_hop_or_to_the_body_does_not_pass() {
        let mut forwarded = map(&[
            ("connection", "close, X-Hop"),
            ("connection", "x-other"),
            ("x-hop", "1"),
            ("x-other", "2"),
        ]);
        for name in OURS {
            forwarded.append(name, "theirs".parse().unwrap());
        }
        assert_eq!(merge(&HeaderMap::new(), &forwarded), HeaderMap::new());
    }
}
