//! One request and its answer, over a connection of their own.

use crate::connect::Io;
use crate::{ClientError, Phase};
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// How much of an answer is held that nobody has asked for yet, and how large its head may be.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// What reads and writes a connection. It is not a task of its own but is driven by whoever reads the body: nothing is read
/// that nobody asks for, and the connection ends with its reader.
type Connection = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// Sends a request and gives the answer once its head is there.
pub(crate) async fn send<B>(
    io: Box<dyn Io>,
    request: Request<B>,
    idle_timeout: Duration,
) -> Result<Response<Body>, ClientError>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let handshake = http1::Builder::new().max_buf_size(READ_BUFFER_BYTES).handshake(TokioIo::new(io));
    let (mut sender, connection) = handshake.await.map_err(ClientError::from_hyper)?;
    let mut connection: Option<Connection> = Some(Box::pin(connection));
    let mut response = pin!(sender.send_request(request));
    let response = poll_fn(|cx| {
        drive(&mut connection, cx);
        response.as_mut().poll(cx)
    });
    let response = response.await.map_err(ClientError::from_hyper)?;
    let idle = Box::pin(sleep(idle_timeout));
    Ok(response.map(|incoming| Body { incoming, connection, idle, idle_timeout }))
}

/// Lets the connection do what it can. How it ended, if it did, is also said by the response or its body.
fn drive(connection: &mut Option<Connection>, cx: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|connection| connection.as_mut().poll(cx).is_ready()) {
        *connection = None;
    }
}

/// The body of an answer, and the connection that it comes from.
pub(crate) struct Body {
    incoming: Incoming,
    /// Gone once it has ended. What it has read by then can still be taken.
    connection: Option<Connection>,
    idle: Pin<Box<Sleep>>,
    idle_timeout: Duration,
}

impl Body {
    /// The next piece, of whatever size it came in, or `None` at the end of the body.
    ///
    /// # Cancel safety
    /// Nothing is lost, and the idle time goes on, if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        // Asking comes first: the connection reads only for a body that was asked for.
        let mut piece = self.poll_piece(cx);
        if piece.is_pending() {
            drive(&mut self.connection, cx);
            piece = self.poll_piece(cx);
        }
        // Only then is the clock looked at: what came while nobody asked is not late.
        if piece.is_pending() && self.idle.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(ClientError::Timeout {
                phase: Phase::Idle,
                after: self.idle_timeout,
            })));
        }
        piece
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        while let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            let item = match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => {
                        self.idle.as_mut().set(sleep(self.idle_timeout));
                        Some(Ok(piece))
                    }
                    // Trailers say nothing to us.
                    Err(_) => continue,
                },
                Some(Err(error)) => Some(Err(ClientError::from_hyper(error))),
                None => None,
            };
            return Poll::Ready(item);
        }
        Poll::Pending
    }
}
