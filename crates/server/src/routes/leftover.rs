//! What is left of the body of a request that was refused. Who still sends when nobody reads any more is cut off, and never sees why.

use crate::app::App;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, Version, header};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Reads what a refusal has left of a body, as much as a body may have and for as long as one may take, and forgets it.
pub(super) async fn read<F: Future<Output = Response>>(
    app: &App,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    // Streams of HTTP/2 do not stand in each other's way, and who waits to be told to go on has sent nothing.
    let is_sent = request.version() < Version::HTTP_2 && !request.headers().contains_key(header::EXPECT);
    if !is_sent || request.body().is_end_stream() {
        return answer(request).await;
    }
    let (sender, mut left) = oneshot::channel();
    let response = answer(request.map(|body| Body::new(Watched { body, left: Some(sender) }))).await;
    let status = response.status();
    let is_refused = status.is_client_error() || status.is_server_error();
    if is_refused
        && status != StatusCode::REQUEST_TIMEOUT
        && let Ok(left) = left.try_recv()
    {
        let http = &app.settings().http;
        // Who takes longer or sends more is cut off.
        let _ = timeout(http.body_timeout, forget(left, http.request_bytes_max)).await;
    }
    response
}

async fn forget(mut body: Body, bytes_max: usize) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > bytes_max {
            return;
        }
    }
}

/// A body that comes back if it is let go before its end.
#[derive(Debug)]
struct Watched {
    body: Body,
    left: Option<oneshot::Sender<Body>>,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(left) = self.left.take().filter(|_| !self.body.is_end_stream()) {
            // Nobody waits for it unless the request is refused.
            let _ = left.send(std::mem::take(&mut self.body));
        }
    }
}
