//! Sends requests, and takes down what comes back. Everything that is decided is decided elsewhere.

use super::collect::Collector;
use super::exchange::{Answer, Ending, Exchange, HttpAnswer, Request, Sent, Stream};
use super::step::Sends;
use crate::address::as_http;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Method};
use std::error::Error;
use std::time::Duration;
use threadline_client::{ClientError, Endpoint, EndpointError, EndpointOptions, ErrorKind, Reply};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_websockets::{ClientBuilder, Message, WebSocketStream};

/// How long a body may stay open after its run has ended.
const END_GRACE: Duration = Duration::from_secs(2);

/// How long a request that starts no run may take.
const ASIDE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a WebSocket is listened to before something else is said.
const LISTEN: Duration = Duration::from_secs(3);

/// The same after a run has ended, which is nearly always the last word.
const LISTEN_AFTER_END: Duration = Duration::from_millis(500);

/// Who sends requests.
#[derive(Clone, Debug)]
pub(crate) struct Courier {
    /// Sent with every request.
    pub(crate) headers: HeaderMap,
    /// How long a run may take.
    pub(crate) timeout: Duration,
}

impl Courier {
    /// Sends a request and waits for all of its answer, but no longer than it may take.
    pub(crate) async fn carry(&self, request: Request) -> Result<Exchange, EndpointError> {
        let limit = match request.step.sends() {
            Sends::Requests => self.timeout.min(ASIDE_TIMEOUT),
            Sends::Runs | Sends::Refusals | Sends::Sockets => self.timeout,
        };
        let options = EndpointOptions {
            headers: self.headers.clone(),
            response_timeout: limit,
            idle_timeout: limit,
            ..EndpointOptions::default()
        };
        let endpoint = Endpoint::new(&as_http(&request.url), options)?;
        let begun = Instant::now();
        let deadline = begun + limit;
        let answer = match &request.sent {
            Sent::Http { method, headers, body } => {
                let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
                let headers = headers.iter().map(|&(name, value)| {
                    (http::HeaderName::from_static(name), HeaderValue::from_static(value))
                });
                let (headers, body) = (headers.collect(), Bytes::from(body.clone()));
                match endpoint.inquire(method, &headers, body).await {
                    Ok(reply) => Answer::Http(read(reply, begun, deadline).await),
                    Err(error) => nothing(&error),
                }
            }
            Sent::Socket { messages } => {
                let talked = self.talk(&endpoint, &request.url, messages, (begun, deadline));
                // Whatever is wrong with it, it is none.
                timeout_at(deadline + END_GRACE * 2, talked).await.unwrap_or_else(|_elapsed| {
                    Answer::Nothing { why: "the handshake takes too long".to_owned(), is_unreachable: false }
                })
            }
        };
        Ok(Exchange { request, answer })
    }

    async fn talk(
        &self,
        endpoint: &Endpoint,
        url: &str,
        messages: &[String],
        (begun, deadline): (Instant, Instant),
    ) -> Answer {
        let io = match endpoint.dial().await {
            Ok(io) => io,
            Err(error) => return nothing(&error),
        };
        let not = |error: &tokio_websockets::Error| Answer::Nothing {
            why: format!("no WebSocket: {}", told(error)),
            is_unreachable: false,
        };
        let mut builder = match ClientBuilder::new().uri(url) {
            Ok(builder) => builder,
            Err(error) => return Answer::Nothing { why: error.to_string(), is_unreachable: false },
        };
        for (name, value) in &self.headers {
            builder = match builder.add_header(name.clone(), value.clone()) {
                Ok(builder) => builder,
                Err(error) => return not(&error),
            };
        }
        match builder.connect_on(io).await {
            Ok((socket, _)) => Answer::Socket(converse(socket, messages, begun, deadline).await),
            Err(error) => not(&error),
        }
    }
}

/// Takes down an answer until it ends, or until its time is over.
async fn read(mut reply: Reply, begun: Instant, deadline: Instant) -> HttpAnswer {
    let headers = reply.headers.iter();
    let headers = headers
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let mut answer = HttpAnswer { status: reply.status.as_u16(), headers, body: Stream::default() };
    let mut collector = Collector::new(answer.essence().as_deref(), begun.elapsed());
    let mut until = deadline;
    let ending = loop {
        match timeout_at(until, reply.next()).await {
            Ok(None) => break Ending::Ended,
            Ok(Some(Ok(piece))) => collector.push(&piece, begun.elapsed()),
            Ok(Some(Err(error))) if matches!(error.kind(), ErrorKind::Timeout(_)) => break Ending::Silent,
            Ok(Some(Err(error))) => break Ending::Broken(told(&error)),
            Err(_elapsed) if collector.has_ended() => break Ending::OpenAfterEnd,
            Err(_elapsed) => break Ending::Silent,
        }
        if collector.is_too_much() {
            break Ending::TooMuch;
        }
        // Comments do not make it any longer; another run does.
        until = match collector.has_ended() {
            true if until == deadline => deadline.min(Instant::now() + END_GRACE),
            true => until,
            false => deadline,
        };
    };
    answer.body = collector.finish(ending, begun.elapsed());
    answer
}

/// Says one thing after the other until a run has ended.
async fn converse<S>(
    mut socket: WebSocketStream<S>,
    messages: &[String],
    begun: Instant,
    deadline: Instant,
) -> Stream
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut collector = Collector::new(None, begun.elapsed());
    let mut ending = Ending::Silent;
    'said: for (nth, message) in messages.iter().enumerate() {
        if socket.send(Message::text(message.clone())).await.is_err() {
            ending = Ending::Broken("the WebSocket was closed".to_owned());
            break;
        }
        collector.said();
        let is_last = nth + 1 == messages.len();
        loop {
            let patience = if collector.has_ended() { LISTEN_AFTER_END } else { LISTEN };
            let until = match is_last && !collector.has_ended() {
                true => deadline,
                false => deadline.min(Instant::now() + patience),
            };
            match timeout_at(until, socket.next()).await {
                Ok(Some(Ok(message))) if message.is_text() || message.is_binary() => {
                    collector.message(message.as_payload(), begun.elapsed());
                }
                Ok(Some(Ok(message))) if message.is_close() => {
                    ending = Ending::Ended;
                    break 'said;
                }
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => {
                    ending = Ending::Broken(told(&error));
                    break 'said;
                }
                Ok(None) => {
                    ending = Ending::Ended;
                    break 'said;
                }
                // A run that has ended in an error may not have been understood.
                Err(_elapsed) if collector.has_ended() && !collector.has_failed() => {
                    // Sockets are for many runs, and stay open.
                    ending = Ending::Ended;
                    break 'said;
                }
                Err(_elapsed) => break,
            }
            if collector.is_too_much() {
                break 'said;
            }
        }
    }
    // Nobody waits for its answer.
    let _closed = timeout(END_GRACE, socket.close()).await;
    collector.finish(ending, begun.elapsed())
}

fn nothing(error: &ClientError) -> Answer {
    Answer::Nothing { why: told(error), is_unreachable: error.kind() == ErrorKind::Unreachable }
}

/// An error with everything that led to it.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some errors repeat their cause.
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
