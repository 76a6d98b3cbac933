//! What a server can be asked beside runs.

use crate::answer::{self, expect_plain};
use crate::exchange::{self, Body};
use crate::{ClientError, Endpoint, EndpointError, Phase};
use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use hyper::body::Frame;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

/// The body of a request.
#[derive(Debug)]
pub enum Payload {
    /// None.
    Nothing,
    /// A JSON document.
    Json(Bytes),
    /// A message of protobuf.
    Protobuf(Bytes),
    /// Lines of JSON, in pieces as they come. An error cuts the request off, so that it is not taken for whole.
    Lines(Receiver<io::Result<Bytes>>),
}

impl Payload {
    const fn content_type(&self) -> Option<HeaderValue> {
        match self {
            Self::Nothing => None,
            Self::Json(_) => Some(HeaderValue::from_static("application/json")),
            Self::Protobuf(_) => Some(HeaderValue::from_static("application/x-protobuf")),
            Self::Lines(_) => Some(HeaderValue::from_static("application/x-ndjson")),
        }
    }
}

impl hyper::body::Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match &mut *self {
            Self::Nothing => Poll::Ready(None),
            Self::Lines(pieces) => pieces.poll_recv(cx),
            Self::Json(whole) | Self::Protobuf(whole) => Poll::Ready(Some(Ok(std::mem::take(whole)))),
        };
        if let Self::Json(_) | Self::Protobuf(_) = &*self {
            *self = Self::Nothing;
        }
        next.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Nothing => hyper::body::SizeHint::with_exact(0),
            Self::Json(whole) | Self::Protobuf(whole) => {
                hyper::body::SizeHint::with_exact(whole.len() as u64)
            }
            Self::Lines(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// The body of an answer. Nothing is read that is not asked for. Dropping it closes the connection.
pub struct Answer(Body);

impl Answer {
    /// The next piece, of whatever size it came in, or `None` at the end.
    ///
    /// # Errors
    /// If nothing comes for too long, or the connection breaks.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        self.0.next().await
    }

    /// All of it.
    ///
    /// # Errors
    /// As [`next`](Self::next), and if it has more than `bytes_max`.
    pub async fn all(mut self, bytes_max: usize) -> Result<Vec<u8>, ClientError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await {
            all.extend_from_slice(&piece?);
            if all.len() > bytes_max {
                return Err(ClientError::TooLarge { limit: bytes_max as u64 });
            }
        }
        Ok(all)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

impl Endpoint {
    /// Asks for something below the URL: `path` begins with a slash, is escaped, and may have a query. The answer may be as long as it
    /// likes. Lines may take as long as they need; for anything else the answer must begin within `response_timeout`.
    ///
    /// # Errors
    /// If the server cannot be reached, takes too long, or refuses.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection. The server may have seen the request.
    pub async fn ask(&self, method: Method, path: &str, payload: Payload) -> Result<Answer, ClientError> {
        let path = self.address.path_below(path).ok_or_else(|| ClientError::Http {
            source: EndpointError::Url { what: "it is not one with this path" }.into(),
        })?;
        self.ask_at(method, &path, payload).await
    }

    /// The same, of a path that is whole.
    pub(crate) async fn ask_at(
        &self,
        method: Method,
        path: &PathAndQuery,
        payload: Payload,
    ) -> Result<Answer, ClientError> {
        let (content_type, is_endless) = (payload.content_type(), matches!(payload, Payload::Lines(_)));
        let mut request = self.request(method, path, payload, &HeaderMap::new());
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
        if let Some(content_type) = content_type {
            request.headers_mut().insert(CONTENT_TYPE, content_type);
        }
        let io = self.connect().await?;
        let sent = exchange::send(io, request, self.options.idle_timeout);
        let after = self.options.response_timeout;
        let response = match is_endless {
            true => sent.await?,
            false => match timeout(after, sent).await {
                Ok(response) => response?,
                Err(_) => return Err(ClientError::Timeout { phase: Phase::Response, after }),
            },
        };
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            return Err(answer::refusal(head, body).await);
        }
        expect_plain(&head.headers)?;
        Ok(Answer(body))
    }
}
