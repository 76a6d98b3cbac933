//! Going through somebody else: HTTP proxies, and who is reached without one.

use crate::EndpointError;
use crate::address::Address;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::{HeaderValue, PROXY_AUTHORIZATION};
use http::uri::{Authority, Scheme};
use std::fmt;
use std::io;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How large the head of a proxy's answer may be.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// An HTTP proxy. Requests of http are sent to it; for those of https it opens a tunnel (`CONNECT`), and sees nothing of what
/// goes through.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    authorization: Option<HeaderValue>,
}

impl Proxy {
    /// The proxy at a URL: `http://host:port`, with `user:password@` before the host if it wants that. The port is 80 if the URL has
    /// none.
    ///
    /// # Errors
    /// If the URL is no such one. Proxies that are spoken to by TLS or SOCKS are not known.
    pub fn new(url: &str) -> Result<Self, EndpointError> {
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(EndpointError::Proxy { what: "it must begin with http://" });
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (credentials, host) =
            rest[..end].rsplit_once('@').map_or((None, &rest[..end]), |(user, host)| (Some(user), host));
        let address = Address::parse(&format!("http://{host}"))
            .map_err(|_other| EndpointError::Proxy { what: "it has no host and port" })?;
        let authorization = match credentials {
            None => None,
            Some(credentials) => {
                Some(basic(credentials).ok_or(EndpointError::Proxy { what: "its user is none" })?)
            }
        };
        Ok(Self { host: address.host, port: address.port, authorization })
    }

    /// The proxy that the environment names for a URL, as most programs read it: `http_proxy` or `https_proxy`, else `all_proxy`, each
    /// in small or capital letters, unless `no_proxy` lists the host. This machine is never reached through a proxy.
    /// `HTTP_PROXY` in capitals does not count where `REQUEST_METHOD` is set, because there it is a header of somebody's request.
    ///
    /// # Errors
    /// If the URL is none of an agent, or what the environment names is no proxy.
    pub fn of_environment(
        url: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, EndpointError> {
        let address = Address::parse(url)?;
        let set = |name: &str| {
            let capitals = name.to_ascii_uppercase();
            let is_forged = capitals == "HTTP_PROXY" && environment("REQUEST_METHOD").is_some();
            let value = environment(name).or_else(|| environment(&capitals).filter(|_| !is_forged));
            value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let own = if address.is_tls { "https_proxy" } else { "http_proxy" };
        let Some(proxy) = set(own).or_else(|| set("all_proxy")) else { return Ok(None) };
        if is_exempt(&address.host, address.port, &set("no_proxy").unwrap_or_default()) {
            return Ok(None);
        }
        Self::new(&proxy).map(Some)
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Says to the proxy whom a request is for.
    pub(crate) fn address_request<B>(&self, request: &mut Request<B>, authority: &Authority) {
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(authority.clone());
        *request.uri_mut() = parts.try_into().expect("a scheme, a host and a path are a url");
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    }

    /// Has the proxy connect to a host, over a connection to the proxy.
    pub(crate) async fn open_tunnel(&self, tcp: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
        if let Some(authorization) = &self.authorization {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(authorization.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        tcp.write_all(&request).await?;
        let head = read_head(tcp).await?;
        match status(&head) {
            Some(200..=299) => Ok(()),
            Some(status) => Err(io::Error::other(format!("the proxy refuses. status={status}"))),
            None => Err(io::Error::other("the proxy does not answer as one")),
        }
    }
}

/// The head of an answer, and nothing of what follows: that is for whoever speaks through the tunnel. One byte at a time, which
/// happens once a connection.
async fn read_head(tcp: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX {
            return Err(io::Error::other("the proxy says too much"));
        }
        head.push(tcp.read_u8().await?);
    }
    Ok(head)
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let (version, rest) = str::from_utf8(line).ok()?.split_once(' ')?;
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    rest.get(..3)?.parse().ok()
}

/// The value of a header that says who one is. In a URL, some characters are escaped.
fn basic(credentials: &str) -> Option<HeaderValue> {
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(credentials).collect();
    let decoded = if decoded.contains(&b':') { decoded } else { [decoded.as_slice(), b":"].concat() };
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(decoded))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether a host is reached without a proxy: one of the listed names and what is below it, an address, a network in CIDR notation, each
/// with a port or without; `*` is everybody.
fn is_exempt(host: &str, port: u16, list: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    if host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    list.split(',').map(str::trim).any(|entry| {
        let (name, wanted) = split_port(entry);
        let is_port = wanted.is_none_or(|wanted| wanted == port);
        is_port && (name == "*" || is_listed(host, address, name))
    })
}

fn is_listed(host: &str, address: Option<IpAddr>, name: &str) -> bool {
    match address {
        Some(address) => is_in_network(address, name),
        None => {
            let name = name.trim_start_matches('.');
            let (host, name) = (host.to_ascii_lowercase(), name.to_ascii_lowercase());
            !name.is_empty()
                && (host == name || host.strip_suffix(&name).is_some_and(|rest| rest.ends_with('.')))
        }
    }
}

/// The name and the port of an entry, which may be an address of IPv6 with brackets or without.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[')
        && let Some((name, rest)) = rest.split_once(']')
    {
        return (name, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.split_once(':') {
        Some((name, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

fn is_in_network(address: IpAddr, network: &str) -> bool {
    let (base, bits) = match network.split_once('/') {
        Some((base, bits)) => (base, bits.parse::<u32>().ok()),
        None => (network, Some(u32::MAX)),
    };
    let bytes = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let (Ok(base), Some(bits)) = (base.parse::<IpAddr>(), bits) else { return false };
    let ((address, width), (base, base_width)) = (bytes(address), bytes(base));
    let different = u128::BITS - bits.min(width);
    width == base_width && (address ^ base).checked_shr(different).unwrap_or(0) == 0
}

/// Without the password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn found(url: &str, environment: &[(&str, &str)]) -> Option<(String, u16)> {
        let environment: HashMap<&str, &str> = environment.iter().copied().collect();
        let proxy = Proxy::of_environment(url, |name| environment.get(name).map(|value| (*value).to_owned()));
        proxy.unwrap().map(|proxy| (proxy.host, proxy.port))
    }

    #[test]
    fn urls_of_proxies_are_taken_apart() {
        let proxy = Proxy::new("http://me:p%40ss@proxy.example:3128/").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        assert_eq!(proxy.authorization.as_ref().unwrap(), "Basic bWU6cEBzcw==");
        assert!(!format!("{proxy:?}").contains("bWU6"));
        let plain = Proxy::new("[::1]:8080").unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.authorization), ("::1", 8080, None));
        for url in ["https://a", "socks5://a", "http://", "http://a:b", ""] {
            assert!(matches!(Proxy::new(url), Err(EndpointError::Proxy { .. })), "{url:?}");
        }
    }

    #[test]
    fn the_environment_names_one_for_each_scheme() {
        let both = [("http_proxy", "http://plain:1"), ("HTTPS_PROXY", "safe:2"), ("ALL_PROXY", "all:3")];
        assert_eq!(found("http://a.example/", &both), Some(("plain".to_owned(), 1)));
        assert_eq!(found("https://a.example/", &both), Some(("safe".to_owned(), 2)));
        assert_eq!(found("http://a.example/", &both[2..]), Some(("all".to_owned(), 3)));
        assert_eq!(found("http://a.example/", &[]), None);
        assert_eq!(found("http://a.example/", &[("http_proxy", " ")]), None);
        let small = [("http_proxy", "http://small:1"), ("HTTP_PROXY", "http://capital:2")];
        assert_eq!(found("http://a.example/", &small), Some(("small".to_owned(), 1)));
        assert_eq!(found("http://a.example/", &[small[1], ("REQUEST_METHOD", "GET")]), None);
        assert!(Proxy::of_environment("http://a", |_| Some("ftp://b".to_owned())).is_err());
    }

    #[test]
    fn some_are_reached_without() {
        let reached =
            |url: &str, list: &str| found(url, &[("ALL_PROXY", "p:1"), ("no_proxy", list)]).is_none();
        for url in ["http://localhost/", "http://127.0.0.1:80/", "http://127.9.9.9/", "https://[::1]/"] {
            assert!(reached(url, ""), "{url}");
        }
        let exempt = [
            ("http://a.example/", "*"),
            ("http://a.example/", "b, a.example"),
            ("http://A.Example/", "example"),
            ("http://a.example/", ".example"),
            ("http://a.example:8080/", "a.example:8080"),
            ("http://10.1.2.3/", "10.1.2.3"),
            ("http://10.1.2.3/", "10.0.0.0/8"),
            ("http://[fd00::1]/", "[fd00::1]"),
            ("http://[fd00::1]/", "fd00::/16"),
            ("http://10.1.2.3/", "0.0.0.0/0"),
        ];
        for (url, list) in exempt {
            assert!(reached(url, list), "{url} {list}");
        }
        let others = [
            ("http://a.example/", ""),
            ("http://a.example/", "b.example,,"),
            ("http://notexample/", "example"),
            ("http://a.example:8080/", "a.example:80"),
            ("http://10.1.2.3/", "10.1.2.4"),
            ("http://10.1.2.3/", "11.0.0.0/8"),
            ("http://10.1.2.3/", "10.1.2.3/x"),
            ("http://[fd00::1]/", "10.0.0.0/0"),
        ];
        for (url, list) in others {
            assert!(!reached(url, list), "{url} {list}");
        }
    }
}
