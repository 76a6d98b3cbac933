//! `GET /v1/threads/{thread}/events`: the records of a thread as they are, of all its runs and branches.

use super::attach::cursor;
use super::body;
use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::cursor::{Cursor, Frame};
use crate::error::{Code, Refusal};
use crate::input::run_of_query;
use crate::stream::Encoding;
use crate::stream::reader::Cut;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use threadline_log::transfer::record_json;
use threadline_log::{Engine, Error, Follower, Incarnation, Record, RunId, RunNo, ThreadKey};
use threadline_protocol::codec::{encode_comment, encode_frame};
use tokio::time::timeout;

/// How many records a page has, if the request does not say.
const LIMIT_DEFAULT: usize = 1_000;
/// The most that it may say.
const LIMIT_MAX: usize = 10_000;
/// About how many bytes of records a page has at most.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// What a request may say in its query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// A cursor, or an offset, behind which it begins.
    after: Option<String>,
    /// An offset before which it ends.
    until: Option<u64>,
    /// Only records of this run.
    run: Option<String>,
    limit: Option<usize>,
}

/// A page of records, or with `Accept: text/event-stream` all of them and then those to come.
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let info = app.engine().store().thread(&thread).await?;
    let from = match after(&headers, options.after.as_deref())? {
        After::Start => info.offsets.start,
        After::Offset(offset) => offset.saturating_add(1),
        After::Cursor(cursor) if cursor.incarnation == info.incarnation => cursor.offset.saturating_add(1),
        After::Cursor(_) => return Err(Error::OtherIncarnation(thread).into()),
    };
    let run = match &options.run {
        Some(id) => {
            let id = run_of_query(id)?;
            Some(app.engine().run_named(&thread, &id).await?.no)
        }
        None => None,
    };
    if wants_stream(&headers) {
        let follower = app.engine().follow(&thread, Some(info.incarnation), from).await?;
        return Ok(live(&app, thread, follower, run));
    }
    page(app.engine(), &thread, info.incarnation, from, run, &options).await
}

enum After {
    Start,
    Offset(u64),
    Cursor(Cursor),
}

fn after(headers: &HeaderMap, after: Option<&str>) -> Result<After, Refusal> {
    if let Some(offset) = after.and_then(|after| after.parse().ok()) {
        return Ok(After::Offset(offset));
    }
    Ok(cursor(headers, after)?.map_or(After::Start, After::Cursor))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    ranges.any(|value| value.contains("text/event-stream"))
}

async fn page(
    engine: &Engine,
    thread: &ThreadKey,
    incarnation: Incarnation,
    from: u64,
    run: Option<RunNo>,
    options: &Options,
) -> Result<Response, Refusal> {
    let limit = options.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let until = options.until.unwrap_or(u64::MAX);
    let mut names = Names::default();
    let mut page = engine.read(thread, from..until, run, PAGE_BYTES).await?;
    let cut = page.records.len() > limit;
    page.records.truncate(limit);
    let next = match page.records.last() {
        Some(last) if cut => last.offset + 1,
        _ => page.next,
    };
    let tail = engine.store().thread(thread).await?.offsets.end;
    let mut records = Vec::with_capacity(page.records.len());
    for record in &page.records {
        let json = names.envelope(engine, thread, record).await?;
        records.push(
            RawValue::from_string(json)
                .map_err(|_other| Refusal::new(Code::Internal, "a record is no JSON"))?,
        );
    }
    let more = next < tail.min(until);
    let cursor = next.checked_sub(1).map(|offset| cursor_at(incarnation, offset).to_string());
    let page = Page { thread_id: thread.thread.as_str(), records, tail, next: cursor.filter(|_| more) };
    Ok(Json(page).into_response())
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    thread_id: &'a str,
    records: Vec<Box<RawValue>>,
    /// The offset of the record that comes next.
    tail: u64,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn cursor_at(incarnation: Incarnation, offset: u64) -> Cursor {
    Cursor { incarnation, run: None, offset, frame: Frame::Whole }
}

/// The ids of runs, which records have only the numbers of.
#[derive(Debug, Default)]
struct Names(HashMap<RunNo, RunId>);

impl Names {
    async fn envelope(
        &mut self,
        engine: &Engine,
        thread: &ThreadKey,
        record: &Record,
    ) -> Result<String, Error> {
        let id = match self.0.entry(record.run) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(engine.run(thread, record.run).await?.id),
        };
        Ok(record_json(record, id))
    }
}

struct Live {
    app: App,
    thread: ThreadKey,
    follower: Follower,
    run: Option<RunNo>,
    names: Names,
    is_cut: bool,
}

fn live(app: &App, thread: ThreadKey, follower: Follower, run: Option<RunNo>) -> Response {
    let live = Live { app: app.clone(), thread, follower, run, names: Names::default(), is_cut: false };
    let frames = unfold(live, async |mut live| {
        let frames = live.next().await?;
        live.is_cut = frames.is_err();
        Some((frames, live))
    });
    body::with_events(Encoding::Sse, Body::from_stream(frames))
}

impl Live {
    async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        let silence = self.app.settings().http.keep_alive;
        while !self.is_cut {
            let stopping = self.app.stopping().clone();
            let next = async {
                tokio::select! {
                    records = self.follower.next() => Some(records),
                    () = stopping.cancelled() => None,
                }
            };
            let records = match silence {
                Some(silence) => match timeout(silence, next).await {
                    Ok(records) => records?,
                    Err(_) => {
                        let mut comment = Vec::new();
                        encode_comment(&mut comment, "keep-alive");
                        return Some(Ok(comment.into()));
                    }
                },
                None => next.await?,
            };
            match self.frames(records).await {
                Ok(frames) if frames.is_empty() => {}
                frames => return Some(frames.map(Bytes::from)),
            }
        }
        None
    }

    async fn frames(&mut self, records: Result<std::sync::Arc<[Record]>, Error>) -> Result<Vec<u8>, Cut> {
        let mut frames = Vec::new();
        for record in records?.iter().filter(|record| self.run.is_none_or(|run| record.run == run)) {
            let json = self.names.envelope(self.app.engine(), &self.thread, record).await?;
            let cursor = cursor_at(self.follower.incarnation(), record.offset);
            encode_frame(&mut frames, json.as_bytes(), Some(&cursor.into()));
        }
        Ok(frames)
    }
}
