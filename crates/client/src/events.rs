//! A run at an agent, and the events that it gives.

use crate::answer::{self, Framing, SSE};
use crate::exchange::{self, Body};
use crate::{ClientError, Endpoint, Phase};
use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http_body_util::Full;
use std::fmt;
use threadline_protocol::codec::{DecodeError, PrefixedDecoder, SseDecoder};
use threadline_protocol::limits::Limits;
use threadline_protocol::proto::{self, Decoded};
use tokio::time::timeout;

/// What is said to an agent that may answer in either form.
const ACCEPT_BOTH: &str = "application/vnd.ag-ui.event+proto, text/event-stream;q=0.9";

/// An event, in the bytes that it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEvent {
    /// What they are is said by `form`.
    pub bytes: Bytes,
    /// What the bytes are.
    pub form: Form,
}

/// What the bytes of an event are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The data of an SSE frame, exactly. Whether it is JSON, and an event, has not been looked at.
    Json,
    /// Our JSON for a protobuf frame.
    FromProtobuf,
    /// A protobuf frame, without its length, that is no event or one of a type that AG-UI 1.0 does not have. Why is said by
    /// [`proto::decode`].
    Undecodable,
}

impl Endpoint {
    /// Opens a run: posts `body`, which is JSON, and gives the stream of events once the agent has begun to answer.
    ///
    /// Of the `forwarded` headers, which the caller has chosen, those that are configured for the endpoint or that say how a
    /// message is sent and what is in it stay behind.
    ///
    /// An answer that names no content type is taken for SSE. Protobuf is read whether it was asked for or not.
    ///
    /// # Errors
    /// If the agent cannot be reached, takes too long, refuses, or answers with something that is no stream of events.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection. The agent may have seen the request.
    pub async fn run(&self, body: Bytes, forwarded: &HeaderMap) -> Result<EventStream, ClientError> {
        self.stream(&self.address.run, body, forwarded).await
    }

    /// The same at another place.
    pub(crate) async fn stream(
        &self,
        path: &PathAndQuery,
        body: Bytes,
        forwarded: &HeaderMap,
    ) -> Result<EventStream, ClientError> {
        let options = &self.options;
        let mut request = self.request(Method::POST, path, Full::new(body), forwarded);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if options.accept_protobuf { ACCEPT_BOTH } else { SSE };
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));

        let io = self.connect().await?;
        let after = options.response_timeout;
        let response = timeout(after, exchange::send(io, request, options.idle_timeout)).await;
        let response = response.unwrap_or(Err(ClientError::Timeout { phase: Phase::Response, after }))?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            return Err(answer::refusal(head, body).await);
        }
        answer::expect_plain(&head.headers)?;
        let decoder = Decoder::new(Framing::of(&head.headers)?, options.limits);
        let body_bytes_max = options.body_bytes_max;
        Ok(EventStream {
            body,
            decoder,
            body_bytes_max,
            body_bytes_left: body_bytes_max,
            rest: Rest::MayCome,
        })
    }
}

/// The events of a run, as the agent sends them.
///
/// Nothing is read that is not asked for; at most one event and a small buffer are held. Dropping it closes the connection.
pub struct EventStream {
    body: Body,
    decoder: Decoder,
    body_bytes_max: u64,
    /// How much may still come.
    body_bytes_left: u64,
    rest: Rest,
}

/// What follows when the decoder has nothing more.
enum Rest {
    /// More of the body.
    MayCome,
    /// Nothing: the body has ended, or an error was given.
    Over,
    /// The error that the body is too large.
    TooLarge,
}

impl EventStream {
    /// The next event, or `None` when the answer has ended. After an error there is nothing more.
    ///
    /// An SSE frame that the end of the answer cuts off is given like any other, as in the reference client; one that a broken
    /// connection cuts off is not. Whether the run has ended with the answer is for the caller to see.
    ///
    /// # Errors
    /// If the agent sends nothing for too long, sends too much, or the connection breaks. Events that came before are given
    /// before.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped, and the idle time goes on: an agent that is silent is found out even by a
    /// caller who asks again and again.
    pub async fn next(&mut self) -> Option<Result<SourceEvent, ClientError>> {
        loop {
            match self.decoder.next_event() {
                Some(Ok(event)) => return Some(Ok(event)),
                Some(Err(error)) => return self.fail(error.into()),
                None => {}
            }
            match self.rest {
                Rest::MayCome => {}
                Rest::Over => return None,
                Rest::TooLarge => return self.fail(ClientError::TooLarge { limit: self.body_bytes_max }),
            }
            match self.body.next().await {
                Some(Ok(piece)) => self.push(&piece),
                Some(Err(error)) => return self.fail(error),
                None => {
                    self.decoder.finish();
                    self.rest = Rest::Over;
                }
            }
        }
    }

    /// The `id` of the frame that the last event came in, if it had one: where to go on if the server knows such places.
    pub(crate) fn cursor(&self) -> Option<&str> {
        match &self.decoder {
            Decoder::Sse { id, .. } => str::from_utf8(id).ok().filter(|id| !id.is_empty()),
            Decoder::Protobuf { .. } | Decoder::Done => None,
        }
    }

    /// Whether the body has ended, so that the last event may be a piece of one.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.rest, Rest::Over)
    }

    /// How much of the answer has come.
    pub(crate) const fn body_bytes(&self) -> u64 {
        self.body_bytes_max - self.body_bytes_left
    }

    /// Takes what may still come of the body, so that how it is cut does not change which events are given.
    fn push(&mut self, piece: &[u8]) {
        let left = usize::try_from(self.body_bytes_left).unwrap_or(usize::MAX);
        if piece.len() > left {
            self.rest = Rest::TooLarge;
        }
        let taken = &piece[..piece.len().min(left)];
        self.body_bytes_left -= taken.len() as u64;
        self.decoder.push(taken);
    }

    fn fail(&mut self, error: ClientError) -> Option<Result<SourceEvent, ClientError>> {
        self.rest = Rest::Over;
        self.decoder = Decoder::Done;
        Some(Err(error))
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

/// From the bytes of a body to events.
enum Decoder {
    Sse {
        decoder: SseDecoder,
        /// Of the frame that was given last; empty if it had none.
        id: Vec<u8>,
    },
    Protobuf {
        decoder: PrefixedDecoder,
        /// Of an event as JSON too, which may be several times as long as its frame.
        event_bytes_max: usize,
    },
    /// After an error, which ends everything.
    Done,
}

impl Decoder {
    fn new(framing: Framing, limits: Limits) -> Self {
        match framing {
            Framing::Sse => Self::Sse { decoder: SseDecoder::new(limits), id: Vec::new() },
            Framing::Protobuf => Self::Protobuf {
                decoder: PrefixedDecoder::new(limits),
                event_bytes_max: limits.event_bytes_max,
            },
        }
    }

    fn push(&mut self, piece: &[u8]) {
        match self {
            Self::Sse { decoder, .. } => decoder.push(piece),
            Self::Protobuf { decoder, .. } => decoder.push(piece),
            Self::Done => {}
        }
    }

    fn finish(&mut self) {
        match self {
            Self::Sse { decoder, .. } => decoder.finish(),
            Self::Protobuf { decoder, .. } => decoder.finish(),
            Self::Done => {}
        }
    }

    fn next_event(&mut self) -> Option<Result<SourceEvent, DecodeError>> {
        match self {
            Self::Sse { decoder, id } => Some(decoder.next_event()?.map(|frame| {
                id.clear();
                id.extend_from_slice(frame.id.unwrap_or_default());
                SourceEvent { bytes: Bytes::copy_from_slice(frame.data), form: Form::Json }
            })),
            Self::Protobuf { decoder, event_bytes_max } => Some(decoder.next_event()?.and_then(|frame| {
                let (event, limit) = (from_protobuf(frame.bytes), *event_bytes_max);
                if event.bytes.len() > limit {
                    return Err(DecodeError::EventTooLarge { limit, place: frame.place });
                }
                Ok(event)
            })),
            Self::Done => None,
        }
    }
}

fn from_protobuf(frame: &[u8]) -> SourceEvent {
    match proto::decode(frame) {
        Ok(Decoded::Event { event, .. }) => {
            SourceEvent { bytes: Bytes::copy_from_slice(event.json().as_bytes()), form: Form::FromProtobuf }
        }
        Ok(Decoded::UnknownArm) | Err(_) => {
            SourceEvent { bytes: Bytes::copy_from_slice(frame), form: Form::Undecodable }
        }
    }
}
