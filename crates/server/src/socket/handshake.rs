//! The request that turns a connection into a WebSocket, by RFC 6455.

use crate::error::{Code, Refusal};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::upgrade::OnUpgrade;
use ring::digest;

/// What every server appends to a client's key.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The only version that there is.
const VERSION: &str = "13";
/// How many bytes a key has before it is encoded.
const KEY_LEN: usize = 16;

/// A request that may go on as a WebSocket.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// The connection, once the answer is sent.
    pub(crate) upgrade: OnUpgrade,
    /// Proves that the key was understood.
    accept: HeaderValue,
}

impl Handshake {
    /// Takes the connection out of a request.
    ///
    /// # Errors
    /// If it does not ask for a WebSocket, or its connection cannot become one, as over HTTP/2.
    pub(crate) fn read(request: &mut Request) -> Result<Self, Refusal> {
        let headers = request.headers();
        let asks = has_token(headers, &header::CONNECTION, "upgrade")
            && has_token(headers, &header::UPGRADE, "websocket")
            && has_token(headers, &header::SEC_WEBSOCKET_VERSION, VERSION);
        let key = headers.get(header::SEC_WEBSOCKET_KEY).cloned();
        let upgrade = request.extensions_mut().remove::<OnUpgrade>();
        let (true, Some(upgrade)) = (asks, upgrade) else {
            let message = "this is a WebSocket of version 13, over HTTP/1.1";
            return Err(Refusal::new(Code::UpgradeRequired, message));
        };
        let key = key.filter(is_key).ok_or_else(|| {
            Refusal::new(
                Code::InvalidInput,
                "the header Sec-WebSocket-Key is missing, or not 16 bytes in base64",
            )
        })?;
        Ok(Self { upgrade, accept: proof(key.as_bytes()) })
    }

    /// The answer after which the connection is a WebSocket.
    pub(crate) fn answer(&self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept.clone());
        response
    }
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
}

fn is_key(key: &HeaderValue) -> bool {
    BASE64_STANDARD.decode(key.as_bytes()).is_ok_and(|key| key.len() == KEY_LEN)
}

fn proof(key: &[u8]) -> HeaderValue {
    // Not for secrecy: a proxy that does not know WebSocket would answer otherwise.
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID].concat());
    HeaderValue::from_str(&BASE64_STANDARD.encode(digest)).expect("base64 is ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_is_that_of_the_rfc() {
        assert_eq!(proof(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn only_sixteen_bytes_are_a_key() {
        let is_key = |key| is_key(&HeaderValue::from_static(key));
        assert!(is_key("dGhlIHNhbXBsZSBub25jZQ=="));
        assert!(!is_key("dGhlIHNhbXBsZSBub25j"));
        assert!(!is_key("not base64 at all"));
        assert!(!is_key(""));
    }

    #[test]
    fn a_request_that_asks_for_nothing_is_told_what_it_could_ask_for() {
        let mut request = Request::new(Body::empty());
        assert_eq!(Handshake::read(&mut request).unwrap_err().code, Code::UpgradeRequired);
    }
}
