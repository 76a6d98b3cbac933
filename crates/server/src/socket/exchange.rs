//! One request of a socket, and its answers.

use super::answers::{Answers, Gone};
use super::message::{self, Call, Form, Kind};
use crate::access::Caller;
use crate::stream::{PROTOBUF, SSE};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use threadline_protocol::Limits;
use threadline_protocol::codec::{DecodeError, PrefixedDecoder, SseDecoder};
use tokio_websockets::Message;
use tower::ServiceExt;

/// What the requests of a socket have in common.
#[derive(Debug)]
pub(crate) struct Session {
    /// The routes of the server, all of their checks included.
    pub(crate) routes: Router,
    /// The path of the agent.
    pub(crate) agent: String,
    /// The headers that the socket was opened with.
    pub(crate) headers: HeaderMap,
    /// Who opened it.
    pub(crate) caller: Caller,
}

impl Session {
    /// Sends a request through the routes, and tells what comes of it.
    ///
    /// # Errors
    /// If nobody listens any more.
    pub(super) async fn exchange(&self, call: &Call, answers: &Answers) -> Result<(), Gone> {
        let id = &call.id;
        let Some(request) = self.request(call) else {
            return answers.last(message::cut(id, "the request cannot be written")).await;
        };
        let response = self.routes.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let frames = match content_type {
            Some(SSE) => Frames::Text(SseDecoder::new(Limits::default())),
            Some(PROTOBUF) => Frames::Binary(PrefixedDecoder::new(Limits::default())),
            _ => return answers.last(answer(id, response).await).await,
        };
        let last = match send_on(id, frames, response.into_body(), answers).await? {
            Ok(()) => message::end(id),
            Err(reason) => message::cut(id, &reason),
        };
        answers.last(last).await
    }

    /// The request that it would be over HTTP.
    fn request(&self, call: &Call) -> Option<Request<Body>> {
        let route = match call.kind {
            Kind::Run | Kind::Detach => "",
            Kind::Connect => "/connect",
            Kind::Cancel => "/cancel",
        };
        let asked = [("after", &call.after), ("run", &call.run)];
        let query: Vec<String> = asked
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)))
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        let uri: Uri = format!("{}{route}?{}", self.agent, query.join("&")).parse().ok()?;
        let mut request = Request::new(Body::from(call.input.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        let accepted = match call.encoding {
            Form::Json => SSE,
            Form::Protobuf => PROTOBUF,
        };
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accepted));
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.extensions_mut().insert(self.caller.clone());
        Some(request)
    }
}

/// An answer that is there as a whole.
async fn answer(id: &str, response: Response<Body>) -> Message {
    let status = response.status();
    let Ok(body) = response.into_body().collect().await else {
        return message::cut(id, "the answer could not be read");
    };
    let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_else(|_| json!({}));
    match status.is_success() {
        true => message::result(id, &body),
        false => message::refused(Some(id), status.as_u16(), &body),
    }
}

/// Sends the events of an answer on, as they come. The inner error is why they did not all come.
async fn send_on(
    id: &str,
    mut frames: Frames,
    mut body: Body,
    answers: &Answers,
) -> Result<Result<(), String>, Gone> {
    while let Some(frame) = body.frame().await {
        let data = match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => data,
            Ok(Err(_trailers)) => continue,
            Err(error) => return Ok(Err(error.to_string())),
        };
        frames.push(&data);
        while let Some(event) = frames.next(id) {
            match event {
                Ok(event) => answers.tell(event).await?,
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
    }
    Ok(Ok(()))
}

/// The events in an answer.
#[derive(Debug)]
enum Frames {
    Text(SseDecoder),
    Binary(PrefixedDecoder),
}

impl Frames {
    fn push(&mut self, data: &[u8]) {
        match self {
            Self::Text(decoder) => decoder.push(data),
            Self::Binary(decoder) => decoder.push(data),
        }
    }

    fn next(&mut self, id: &str) -> Option<Result<Message, DecodeError>> {
        match self {
            Self::Text(decoder) => decoder.next_event().map(|frame| {
                frame.map(|frame| {
                    let cursor = frame.id.map(String::from_utf8_lossy);
                    message::event(id, cursor.as_deref(), &String::from_utf8_lossy(frame.data))
                })
            }),
            Self::Binary(decoder) => decoder
                .next_event()
                .map(|payload| payload.map(|payload| message::binary_event(id, payload.bytes))),
        }
    }
}
