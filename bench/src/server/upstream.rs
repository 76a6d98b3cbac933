//! An agent that plays a script: as fast as it is read, by a clock, or up to the middle.

use super::hosted::Hosted;
use crate::corpus::Deltas;
use crate::store::load::{BATCH_EVENTS_MAX, batches};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, header};
use axum::routing::post;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::BodyExt;
use serde::Deserialize;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadline_protocol::codec::encode_frame;
use threadline_protocol::{Event, Received};
use tokio::time::{MissedTickBehavior, interval};

/// Plays the whole script.
pub(super) const FLOOD: &str = "flood";
pub(super) const FLOOD_PATH: &str = "/agents/flood";
/// Plays an event at a time, each with the time it was sent at.
pub(super) const TICK: &str = "tick";
/// Plays all but the end, and is then silent.
pub(super) const HOLD: &str = "hold";

/// Plays the first script under whatever ids are asked for.
pub(super) const FRESH: &str = "fresh";
/// Plays events of 64 KiB.
pub(super) const BULK: &str = "bulk";
/// How many: about 11 MiB.
const BULK_EVENTS: usize = 160;
/// How long the text of each is.
const BULK_TEXT_BYTES: usize = 64 * 1024;

/// The path of an agent, the same here as on the server in front of it.
pub(super) fn path(agent: &str) -> String {
    format!("/agents/{agent}")
}

/// One run of a thread.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) thread: u32,
    run: String,
    pub(super) events: Vec<String>,
}

impl Script {
    /// So many events.
    pub(super) fn new(thread: u32, events: usize) -> io::Result<Self> {
        let events = Deltas::of_thread(thread).run(events);
        let first =
            events.first().map(|first| Received::read(first)).transpose().map_err(io::Error::other)?;
        match first.map(Received::into_event) {
            Some(Event::RunStarted(started)) => Ok(Self { thread, run: started.run_id.to_string(), events }),
            _ => Err(io::Error::other("a run begins with something else")),
        }
    }

    /// What a client sends.
    pub(super) fn request(&self) -> String {
        let Self { thread, run, .. } = self;
        format!(
            r#"{{"threadId":"{thread}","runId":"{run}","protocolVersion":"1.0","messages":[],"tools":[],"context":[],"state":{{}},"forwardedProps":{{}}}}"#
        )
    }

    /// How many events come before the end of the last message.
    pub(super) fn middle(&self) -> usize {
        self.events.len() - 2
    }

    /// In pieces of one to eight events, as `store` appends them.
    fn pieces(&self, events: &[String]) -> Vec<Bytes> {
        let piece = |batch| {
            let mut piece = Vec::new();
            let events: &[String] = &events[batch];
            events.iter().for_each(|event| encode_frame(&mut piece, event.as_bytes(), None));
            Bytes::from(piece)
        };
        batches(self.thread, events.len(), BATCH_EVENTS_MAX).into_iter().map(piece).collect()
    }
}

/// What is played.
pub(super) struct Repertoire {
    /// By thread.
    pub(super) scripts: Vec<Script>,
    /// How many events are played by the clock, and how long after each other.
    pub(super) ticks: usize,
    pub(super) every: Duration,
    /// Times are since then.
    pub(super) origin: Instant,
}

struct Playing {
    repertoire: Repertoire,
    /// Cut before anybody asks.
    floods: Vec<Vec<Bytes>>,
}

/// Begins to play on loopback.
pub(super) fn start(repertoire: Repertoire) -> io::Result<Hosted> {
    let floods = repertoire.scripts.iter().map(|script| script.pieces(&script.events)).collect();
    let routes = Router::new()
        .route(FLOOD_PATH, post(flood))
        .route(&path(TICK), post(tick))
        .route(&path(HOLD), post(hold))
        .route(&path(FRESH), post(fresh))
        .route(&path(BULK), post(bulk))
        .with_state(Arc::new(Playing { repertoire, floods }));
    Hosted::start("upstream", routes)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    thread_id: String,
    run_id: String,
}

/// Whatever else the request has.
async fn asked(body: Body) -> Result<Asked, StatusCode> {
    let body = body.collect().await.or(Err(StatusCode::BAD_REQUEST))?.to_bytes();
    serde_json::from_slice(&body).or(Err(StatusCode::BAD_REQUEST))
}

impl Playing {
    fn index(&self, asked: &Asked) -> Result<usize, StatusCode> {
        let index = asked.thread_id.parse().or(Err(StatusCode::NOT_FOUND))?;
        if index < self.floods.len() { Ok(index) } else { Err(StatusCode::NOT_FOUND) }
    }
}

async fn flood(State(playing): State<Arc<Playing>>, body: Body) -> Result<Response<Body>, StatusCode> {
    let index = playing.index(&asked(body).await?)?;
    let count = playing.floods[index].len();
    Ok(events(stream::iter((0..count).map(move |at| playing.floods[index][at].clone()))))
}

async fn hold(State(playing): State<Arc<Playing>>, body: Body) -> Result<Response<Body>, StatusCode> {
    let script = &playing.repertoire.scripts[playing.index(&asked(body).await?)?];
    let pieces = script.pieces(&script.events[..script.middle()]);
    Ok(events(stream::iter(pieces).chain(stream::pending())))
}

fn started(Asked { thread_id, run_id }: &Asked) -> Bytes {
    framed(&format!(r#"{{"type":"RUN_STARTED","threadId":"{thread_id}","runId":"{run_id}"}}"#))
}

fn finished(Asked { thread_id, run_id }: &Asked) -> Bytes {
    framed(&format!(r#"{{"type":"RUN_FINISHED","threadId":"{thread_id}","runId":"{run_id}"}}"#))
}

fn framed(event: &str) -> Bytes {
    let mut frame = Vec::new();
    encode_frame(&mut frame, event.as_bytes(), None);
    frame.into()
}

async fn fresh(State(playing): State<Arc<Playing>>, body: Body) -> Result<Response<Body>, StatusCode> {
    let asked = asked(body).await?;
    let script = playing.repertoire.scripts.first().ok_or(StatusCode::NOT_FOUND)?;
    let mut pieces = vec![started(&asked)];
    pieces.extend(script.pieces(&script.events[1..script.events.len() - 1]));
    pieces.push(finished(&asked));
    Ok(events(stream::iter(pieces)))
}

async fn bulk(body: Body) -> Result<Response<Body>, StatusCode> {
    let asked = asked(body).await?;
    let mut text = Deltas::of_thread(0).run(BULK_TEXT_BYTES / 64).join(" ");
    let end = (0..=BULK_TEXT_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.truncate(end);
    let text = serde_json::to_string(&text).or(Err(StatusCode::INTERNAL_SERVER_ERROR))?;
    let event = framed(&format!(r#"{{"type":"CUSTOM","name":"bulk","value":{text}}}"#));
    let (first, last) = (started(&asked), finished(&asked));
    let middle = stream::repeat(event).take(BULK_EVENTS);
    Ok(events(stream::iter([first]).chain(middle).chain(stream::iter([last]))))
}

async fn tick(State(playing): State<Arc<Playing>>, body: Body) -> Result<Response<Body>, StatusCode> {
    let Asked { thread_id, run_id } = asked(body).await?;
    let Repertoire { ticks, every, origin, .. } = playing.repertoire;
    let before = [
        format!(r#"{{"type":"RUN_STARTED","threadId":"{thread_id}","runId":"{run_id}"}}"#),
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#.to_owned(),
    ];
    let after = [
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#.to_owned(),
        format!(r#"{{"type":"RUN_FINISHED","threadId":"{thread_id}","runId":"{run_id}"}}"#),
    ];
    let mut clock = interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let timed = stream::unfold((clock, 0), move |(mut clock, played)| async move {
        if played == ticks {
            return None;
        }
        clock.tick().await;
        let sent = origin.elapsed().as_nanos();
        // About as long as the events of a script.
        let event = format!(
            r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","timestamp":1760000000000,"delta":"{sent} is when this was sent, in nanoseconds since the program began to play "}}"#
        );
        Some((event, (clock, played + 1)))
    });
    let all = stream::iter(before).chain(timed).chain(stream::iter(after));
    Ok(events(all.map(|event| {
        let mut frame = Vec::new();
        encode_frame(&mut frame, event.as_bytes(), None);
        Bytes::from(frame)
    })))
}

fn events(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(pieces.map(Ok::<_, Infallible>)));
    let value = header::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}
