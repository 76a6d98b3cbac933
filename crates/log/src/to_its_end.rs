//! Work that is done to its end, though whoever asked for it may have gone.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Work that goes on as a task of its own if the future is dropped: what became durable is told to those who follow. As long as
/// somebody waits it costs no task.
pub(crate) struct ToItsEnd<T: Send + 'static>(Option<Work<T>>);

/// Begins when it is first waited for.
pub(crate) fn to_its_end<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> ToItsEnd<T> {
    ToItsEnd(Some(Box::pin(work)))
}

impl<T: Send + 'static> fmt::Debug for ToItsEnd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToItsEnd")
    }
}

impl<T: Send + 'static> Future for ToItsEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let work = self.0.as_mut().expect("it is not polled after its end");
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for ToItsEnd<T> {
    fn drop(&mut self) {
        // Outside a runtime nobody follows, either.
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}
