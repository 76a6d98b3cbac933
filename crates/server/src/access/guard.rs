//! Answers that end when their caller is no longer who it was.

use super::Caller;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use threadline_log::Timestamp;

/// A body that is cut when its caller's token is revoked, or its time is over.
pub(super) fn guarded(body: Body, caller: &Caller, now: Timestamp) -> Body {
    Body::new(Guarded { body, end: Some(Box::pin(caller.no_longer(now))) })
}

struct Guarded {
    body: Body,
    /// None when it is over.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// Why an answer was cut.
#[derive(Debug, thiserror::Error)]
#[error("the caller may no longer see this")]
struct Revoked;

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(end) = &mut self.end else { return Poll::Ready(None) };
        if end.as_mut().poll(context).is_ready() {
            self.end = None;
            return Poll::Ready(Some(Err(axum::Error::new(Revoked))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.end.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guarded").finish_non_exhaustive()
    }
}
