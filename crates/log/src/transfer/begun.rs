//! Appends on their way.

use crate::error::Error;
use crate::store::Ack;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// How many appends may be on their way.
pub(super) const APPENDS_MAX: usize = 64;

/// Appends that were begun, in order, so that one sync serves many of them.
#[derive(Default)]
pub(super) struct Begun(VecDeque<BoxedAppend>);

type BoxedAppend = Pin<Box<dyn Future<Output = Result<Ack, Error>> + Send>>;

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Begun({})", self.0.len())
    }
}

impl Begun {
    /// Begins an append, and waits for earlier ones if there are too many.
    pub(super) async fn push(
        &mut self,
        append: impl Future<Output = Result<Ack, Error>> + Send + 'static,
    ) -> Result<(), Error> {
        let mut append: BoxedAppend = Box::pin(append);
        // A store decides about an append when it is first asked, but for when it has to wait before that.
        match poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await {
            Poll::Ready(result) => result.map(|_| ()),
            Poll::Pending => {
                self.0.push_back(append);
                self.finish(APPENDS_MAX).await
            }
        }
    }

    /// Waits until at most so many are not done.
    pub(super) async fn finish(&mut self, rest: usize) -> Result<(), Error> {
        while self.0.len() > rest
            && let Some(append) = self.0.pop_front()
        {
            append.await?;
        }
        Ok(())
    }
}
