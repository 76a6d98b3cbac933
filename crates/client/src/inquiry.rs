//! A request as somebody wants it, and the answer as it is: for who looks at how a server behaves, whatever that is.

use crate::exchange::{self, Body};
use crate::{ClientError, Endpoint, Phase};
use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, StatusCode};
use http_body_util::Full;
use std::fmt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

/// The answer to a request, whatever its status and its type. Dropping it closes the connection.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Body,
}

impl Reply {
    /// The next piece of the body, of whatever size it came in, or `None` at the end. Nothing is read that is not asked for.
    ///
    /// # Errors
    /// If nothing comes for `idle_timeout`, or the connection breaks.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        self.body.next().await
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Sends a request to the URL with these headers beside the configured ones, and judges nothing about the answer: refusals,
    /// redirects and compressed bodies are given as they are.
    ///
    /// # Errors
    /// If the server cannot be reached, takes longer than `response_timeout`, or does not speak HTTP/1.1.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection. The server may have seen the request.
    pub async fn inquire(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Reply, ClientError> {
        let mut request = self.request(method, &self.address.run, Full::new(body), &HeaderMap::new());
        for (name, value) in headers {
            request.headers_mut().insert(name, value.clone());
        }
        let io = self.connect().await?;
        let after = self.options.response_timeout;
        let sent = timeout(after, exchange::send(io, request, self.options.idle_timeout)).await;
        let response = sent.unwrap_or(Err(ClientError::Timeout { phase: Phase::Response, after }))?;
        let (head, body) = response.into_parts();
        Ok(Reply { status: head.status, headers: head.headers, body })
    }

    /// A connection to the URL's host, with TLS if the URL is one of https, for what is spoken in place of HTTP.
    ///
    /// # Errors
    /// If the server cannot be reached in time.
    pub async fn dial(&self) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, ClientError> {
        self.connect().await
    }
}
