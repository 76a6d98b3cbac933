//! Work that is done to its end, though whoever asked for it may have gone.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Work that goes on as a task of its own if the future is dropped: what became durable is told to those who follow. As long as
/// somebody waits it costs no task.
pub(crate) struct ToItsEnd<W: Work>(Option<W>);

/// What can go on elsewhere.
pub(crate) trait Work: Future<Output: Send> + Send + Unpin + 'static {}

impl<W: Future<Output: Send> + Send + Unpin + 'static> Work for W {}

/// Does work to its end that begins when it is first waited for.
pub(crate) fn to_its_end<F: Future<Output: Send> + Send + 'static>(work: F) -> ToItsEnd<Pin<Box<F>>> {
    ToItsEnd::new(Box::pin(work))
}

impl<W: Work> ToItsEnd<W> {
    /// Does work to its end that can be moved as it is.
    pub(crate) fn new(work: W) -> Self {
        Self(Some(work))
    }
}

impl<W: Work> fmt::Debug for ToItsEnd<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToItsEnd")
    }
}

impl<W: Work> Future for ToItsEnd<W> {
    type Output = W::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<W::Output> {
        let work = self.0.as_mut().expect("it is not polled after its end");
        let polled = Pin::new(work).poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<W: Work> Drop for ToItsEnd<W> {
    fn drop(&mut self) {
        // Asking for the runtime counts a reference to it, which all processors share: only who needs it does.
        let Some(work) = self.0.take() else { return };
        // Outside a runtime nobody follows, either.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(work);
        }
    }
}
