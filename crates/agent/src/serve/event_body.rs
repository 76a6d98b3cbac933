//! The body of a response: the events of a run.

use super::encoding::Encoding;
use crate::outlet::RunEvent;
use crate::run::Run;
use bytes::Bytes;
use futures_core::Stream;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use threadline_protocol::Event;
use threadline_protocol::codec::encode_comment;
use threadline_protocol::event::RunError;
use threadline_protocol::stages::downgrade::Downgrader;
use tokio::time::{Instant, Sleep, sleep};

/// The events of a run as bytes. Dropping it cancels the run.
pub(super) struct EventBody {
    /// None when the last event was sent.
    run: Option<Run>,
    encoding: Encoding,
    /// For clients that do not say that they speak 1.0.
    downgrader: Option<Downgrader>,
    keep_alive: Duration,
    /// Until something must be sent, so that nobody between takes the connection for dead.
    silence: Pin<Box<Sleep>>,
}

impl EventBody {
    pub(super) fn new(run: Run, encoding: Encoding, speaks_1_0: bool, keep_alive: Duration) -> Self {
        let downgrader = (!speaks_1_0).then(Downgrader::new);
        Self { run: Some(run), encoding, downgrader, keep_alive, silence: Box::pin(sleep(keep_alive)) }
    }

    fn encode(&mut self, event: &RunEvent) -> Vec<u8> {
        let mut out = Vec::new();
        let encoded = match &mut self.downgrader {
            None => self.encoding.encode(&mut out, event.event(), event.json()),
            // The writer makes no chunks, which alone can fail.
            Some(downgrader) => downgrader.downgrade(event.event()).map_or(Ok(()), |downgraded| {
                let mut all = downgraded.output.iter();
                all.try_for_each(|event| self.encoding.encode(&mut out, event, event.to_json().as_bytes()))
            }),
        };
        if let Err(error) = encoded {
            let failed = Event::from(RunError::new(error.to_string()).with_code("no_binary_form"));
            // A few words always have one.
            let _ = self.encoding.encode(&mut out, &failed, failed.to_json().as_bytes());
            self.run = None;
        }
        out
    }
}

impl Stream for EventBody {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(run) = &mut self.run else { return Poll::Ready(None) };
            match Pin::new(run).poll_next(context) {
                Poll::Ready(None) => self.run = None,
                Poll::Ready(Some(event)) => {
                    let deadline = Instant::now() + self.keep_alive;
                    self.silence.as_mut().reset(deadline);
                    let bytes = self.encode(&event);
                    // An event that an old client does not know leaves nothing.
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes.into())));
                    }
                }
                Poll::Pending if self.encoding == Encoding::Sse => {
                    ready!(self.silence.as_mut().poll(context));
                    let deadline = Instant::now() + self.keep_alive;
                    self.silence.as_mut().reset(deadline);
                    let mut out = Vec::new();
                    encode_comment(&mut out, "keep-alive");
                    return Poll::Ready(Some(Ok(out.into())));
                }
                // The binary form has no words for that.
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
