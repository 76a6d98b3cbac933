//! HTTP/1 and HTTP/2, over one connection that has said which.

use super::greeting::Speech;
use super::held::Holding;
use crate::settings::HttpSettings;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::pin::pin;
use tokio_util::sync::CancellationToken;

/// The most streams of one HTTP/2 connection.
const STREAMS_MAX: u32 = 128;
/// The largest head of a request over HTTP/2.
const HEAD_BYTES_MAX: u32 = 16 * 1024;

/// How connections are served.
#[derive(Debug)]
pub(super) struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    closing: CancellationToken,
}

impl Protocols {
    /// Until `closing`, when connections end with the answers that they are at.
    pub(super) fn new(http: &HttpSettings, closing: CancellationToken) -> Self {
        let mut http1 = http1::Builder::new();
        http1.timer(TokioTimer::new()).header_read_timeout(http.header_timeout);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEAD_BYTES_MAX)
            .keep_alive_interval(Some(http.write_timeout));
        Self { http1, http2, closing }
    }

    /// Serves a connection to its end.
    ///
    /// # Errors
    /// If it breaks.
    pub(super) async fn serve<I>(&self, speech: Speech, io: I, service: Holding) -> hyper::Result<()>
    where
        I: Read + Write + Unpin + Send + 'static,
    {
        let Self { http1, http2, closing } = self;
        match speech {
            Speech::Http1 => {
                let mut connection = pin!(http1.serve_connection(io, service).with_upgrades());
                if let Some(ended) = closing.run_until_cancelled(connection.as_mut()).await {
                    return ended;
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            Speech::Http2 => {
                // Most connections are of the other kind, and need no room for this one.
                let mut connection = Box::pin(http2.serve_connection(io, service));
                if let Some(ended) = closing.run_until_cancelled(connection.as_mut()).await {
                    return ended;
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    }
}
