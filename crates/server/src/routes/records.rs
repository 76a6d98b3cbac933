//! `GET /v1/threads/{thread}/events`: the records of a thread as they are, of all its runs and branches.

use super::attach::cursor;
use super::body;
use super::conditional::Tag;
use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::cursor::{Cursor, Frame};
use crate::error::{Code, Refusal};
use crate::input::run_of_query;
use crate::load::Listening;
use crate::moment::{Moment, NotAMoment};
use crate::openapi::{Operation, shapes};
use crate::stream::reader::Cut;
use crate::stream::{Encoding, SSE};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use threadline_log::record::Kind;
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
    /// A cursor, an offset or a time, behind which it begins.
    after: Option<String>,
    /// An offset or a time, before which it ends.
    until: Option<Moment>,
    /// Only records of this run.
    run: Option<String>,
    limit: Option<usize>,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    let kinds = [Kind::Event, Kind::Transcoded, Kind::Made, Kind::Rejected].map(Kind::name);
    let record = [
        ("offset", shapes::count()),
        ("time", shapes::time()),
        ("run", shapes::id()),
        ("kind", shapes::word(&kinds)),
    ];
    // As it came; as a text where that is no JSON of one line, in hexadecimal digits where it is no text.
    let came = [("event", json!({})), ("text", shapes::text()), ("hex", shapes::text())];
    let record = shapes::named("Record", shapes::object(&record, &came));
    let page =
        [("threadId", shapes::id()), ("records", shapes::list(record.clone())), ("tail", shapes::count())];
    let page = shapes::object(&page, &[("next", shapes::text())]);
    let forms = [(body::JSON[0], page), (SSE, shapes::frame(record))];
    Operation::new("The records of a thread, of all runs and branches")
        .query("after", "A cursor, an offset or a time, behind which it begins.", shapes::text())
        .query("until", "An offset or a time, before which it ends.", shapes::moment())
        .query("run", "Only records of this run.", shapes::id())
        .query("limit", "The most records of a page.", shapes::limit(LIMIT_DEFAULT, LIMIT_MAX))
        .header("Last-Event-ID", "A cursor, if the query does not say where it begins.", shapes::text())
        .answers(
            StatusCode::OK,
            "A page; for who accepts event streams all of them, and those to come.",
            forms,
        )
        .conditional()
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::InvalidCursor, Code::TooMany])
        .refuses(&[Code::ThreadReplaced, Code::Trimmed, Code::Compacted])
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
    let engine = app.engine();
    let info = engine.store().thread(&thread).await?;
    let from = match after(&headers, options.after.as_deref())? {
        After::Start => info.offsets.start,
        After::Moment(Moment::Offset(offset)) => offset.saturating_add(1),
        After::Moment(Moment::Time(time)) => {
            readable(engine, &thread, engine.offset_after(&thread, time).await).await?
        }
        After::Cursor(cursor) if cursor.incarnation == info.incarnation => cursor.offset.saturating_add(1),
        After::Cursor(_) => return Err(Error::OtherIncarnation(thread).into()),
    };
    let run = match &options.run {
        Some(id) => Some(engine.run_named(&thread, &run_of_query(id)?).await?.no),
        None => None,
    };
    if wants_stream(&headers) {
        let follower = engine.follow(&thread, Some(info.incarnation), from).await;
        let follower = readable(engine, &thread, follower).await?;
        return live(&app, thread, follower, run, options.until);
    }
    let until = match options.until {
        Some(Moment::Offset(offset)) => offset,
        Some(Moment::Time(time)) => engine.offset_at(&thread, time).await?,
        None => u64::MAX,
    };
    let limit = options.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let page = Read { engine, thread: &thread, incarnation: info.incarnation, run, limit };
    page.answer(from..until, &headers).await
}

enum After {
    Start,
    Moment(Moment),
    Cursor(Cursor),
}

fn after(headers: &HeaderMap, after: Option<&str>) -> Result<After, Refusal> {
    match after {
        Some(text) if text.contains(':') || text.bytes().all(|byte| byte.is_ascii_digit()) => {
            let moment = text.parse();
            moment
                .map(After::Moment)
                .map_err(|error: NotAMoment| Refusal::new(Code::InvalidParameter, format!("after: {error}")))
        }
        after => Ok(cursor(headers, after)?.map_or(After::Start, After::Cursor)),
    }
}

/// Says where what can be read begins again, if the question was about something that is gone.
async fn readable<T>(engine: &Engine, thread: &ThreadKey, result: Result<T, Error>) -> Result<T, Refusal> {
    let error = match result {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let Error::Compacted { run, offset } = &error else { return Err(error.into()) };
    let behind = engine.store().read(thread, *offset..u64::MAX, None, 1).await?;
    let details =
        json!({ "runId": run.as_str(), "first": behind.records.first().map(|record| record.offset) });
    Err(Refusal::from(error).with_details(details))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    ranges.any(|value| value.contains("text/event-stream"))
}

/// A page to be read.
struct Read<'a> {
    engine: &'a Engine,
    thread: &'a ThreadKey,
    incarnation: Incarnation,
    run: Option<RunNo>,
    limit: usize,
}

impl Read<'_> {
    async fn answer(&self, offsets: Range<u64>, headers: &HeaderMap) -> Result<Response, Refusal> {
        let Range { start: from, end: until } = offsets;
        let page = self.engine.read(self.thread, from..until, self.run, PAGE_BYTES).await;
        let mut page = readable(self.engine, self.thread, page).await?;
        let mut is_cut = page.records.len() > self.limit;
        page.records.truncate(self.limit);
        if self.run.is_none() {
            // Stores pass over what is gone: the next page will say so.
            let is_next = |(offset, record): &(u64, &Record)| *offset == record.offset;
            let dense = (from..).zip(&page.records).take_while(is_next).count();
            is_cut |= dense < page.records.len();
            page.records.truncate(dense);
        }
        let next = match page.records.last() {
            Some(last) if is_cut => last.offset + 1,
            _ => page.next,
        };
        let tail = self.engine.store().thread(self.thread).await?.offsets.end;
        let has_more = next < tail.min(until);
        // The tail may move on behind a page that is full.
        let tag = Tag::weak(&[
            &format!("{:x}", self.incarnation.0),
            &from,
            &next,
            &page.records.len(),
            &u8::from(has_more),
        ]);
        if tag.is_held(headers) {
            return Ok(tag.not_modified());
        }
        let mut names = Names::default();
        let mut records = Vec::with_capacity(page.records.len());
        for record in &page.records {
            let json = names.envelope(self.engine, self.thread, record).await?;
            records.push(
                RawValue::from_string(json)
                    .map_err(|_other| Refusal::new(Code::Internal, "a record is no JSON"))?,
            );
        }
        let cursor = next.checked_sub(1).map(|offset| cursor_at(self.incarnation, offset).to_string());
        let next = cursor.filter(|_| has_more);
        let page = Page { thread_id: self.thread.thread.as_str(), records, tail, next };
        Ok(tag.on(Json(page).into_response()))
    }
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
    until: Option<Moment>,
    names: Names,
    /// It was cut off, or has come to where it was to end.
    is_over: bool,
    listening: Listening,
}

fn live(
    app: &App,
    thread: ThreadKey,
    follower: Follower,
    run: Option<RunNo>,
    until: Option<Moment>,
) -> Result<Response, Refusal> {
    let listening = app.listen(&thread.scope)?;
    let names = Names::default();
    let live = Live { app: app.clone(), thread, follower, run, until, names, listening, is_over: false };
    let frames = unfold(live, async |mut live| {
        let frames = live.next().await?;
        live.is_over |= frames.is_err();
        Some((frames, live))
    });
    Ok(body::with_events(Encoding::Sse, Body::from_stream(frames)))
}

impl Live {
    async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        let silence = self.app.settings().http.keep_alive;
        while !self.is_over && !self.is_at_end() {
            self.listening.lag.set(self.follower.is_behind());
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

    /// Whether what follows is not wanted, whatever it will be.
    const fn is_at_end(&self) -> bool {
        matches!(self.until, Some(Moment::Offset(until)) if self.follower.next_offset() >= until)
    }

    async fn frames(&mut self, records: Result<std::sync::Arc<[Record]>, Error>) -> Result<Vec<u8>, Cut> {
        let mut frames = Vec::new();
        for record in records?.iter() {
            self.is_over = match self.until {
                Some(Moment::Offset(until)) => record.offset >= until,
                Some(Moment::Time(until)) => record.time >= until,
                None => false,
            };
            if self.is_over {
                break;
            }
            if self.run.is_some_and(|run| record.run != run) {
                continue;
            }
            let json = self.names.envelope(self.app.engine(), &self.thread, record).await?;
            let cursor = cursor_at(self.follower.incarnation(), record.offset);
            encode_frame(&mut frames, json.as_bytes(), Some(&cursor.into()));
        }
        Ok(frames)
    }
}
