//! The run that is read, and the server that plays it.

use crate::corpus::Deltas;
use crate::server::hosted::Hosted;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, header};
use axum::routing::post;
use bytes::Bytes;
use futures_util::stream;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use threadline_protocol::codec::encode_frame;
use threadline_protocol::{Event, Received};

/// How many events a piece of the answer has.
const PIECE_EVENTS: usize = 4;

/// A server that answers every request with the same run, as fast as it is read.
pub(super) struct Played {
    server: Hosted,
    pub(super) thread: String,
    pub(super) run: String,
    pub(super) events: usize,
}

impl Played {
    pub(super) fn start(events: usize) -> io::Result<Self> {
        let texts = Deltas::of_thread(1).run(events);
        let first = texts.first().map(|first| Received::read(first)).transpose().map_err(io::Error::other)?;
        let Some(Event::RunStarted(started)) = first.map(Received::into_event) else {
            return Err(io::Error::other("a run begins with something else"));
        };
        let (thread, run) = (started.thread_id.to_string(), started.run_id.to_string());
        let pieces = texts.chunks(PIECE_EVENTS).map(|events| {
            let mut piece = Vec::new();
            events.iter().for_each(|event| encode_frame(&mut piece, event.as_bytes(), None));
            Bytes::from(piece)
        });
        let pieces: Arc<[Bytes]> = pieces.collect();
        let server = Hosted::start("played", Router::new().route("/", post(play)).with_state(pieces))?;
        Ok(Self { server, thread, run, events })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.server.address)
    }
}

async fn play(State(pieces): State<Arc<[Bytes]>>) -> Response<Body> {
    let pieces = (0..pieces.len()).map(move |at| Ok::<_, Infallible>(pieces[at].clone()));
    let mut response = Response::new(Body::from_stream(stream::iter(pieces)));
    let sse = header::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, sse);
    response
}
