//! `GET /v1/threads/{thread}/messages` and `/state`: how things are, or were.

use super::conditional::Tag;
use super::message_mark::MessageMark;
use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::run_of_query;
use crate::moment::Moment;
use crate::openapi::{Operation, agui, shapes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use threadline_log::{At, Engine, Error, Located, ThreadKey, Timestamp};
use threadline_protocol::Message;
use threadline_protocol::stages::fold::{FOLD_VERSION, Fold};

/// How many messages a page has, if the request does not say.
const LIMIT_DEFAULT: usize = 1_000;
/// The most that it may say.
const LIMIT_MAX: usize = 10_000;
/// About how many bytes of messages a page has at most.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Which point in time.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// After this run.
    run: Option<String>,
    /// After the record of this offset, or at this time.
    at: Option<Moment>,
}

/// Which messages.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Messages {
    run: Option<String>,
    at: Option<Moment>,
    /// Where the page before it has begun. It says when, too.
    before: Option<MessageMark>,
    limit: Option<usize>,
}

/// What is said about it.
pub(super) fn about_messages() -> Operation {
    let messages = ("messages", shapes::list(agui::message()));
    about("The messages of a thread, by pages, the last one first", messages, &[("before", shapes::text())])
        .query("before", "`before` of the page behind it.", shapes::text())
        .query("limit", "The most messages of a page.", shapes::limit(LIMIT_DEFAULT, LIMIT_MAX))
        .refuses(&[Code::ThreadReplaced])
}

/// What is said about it.
pub(super) fn about_state() -> Operation {
    about("The state of a thread", ("state", json!({})), &[])
}

fn about(summary: &'static str, held: (&str, Value), more: &[(&str, Value)]) -> Operation {
    let members = [
        ("threadId", shapes::id()),
        ("runId", shapes::nullable(shapes::id())),
        ("next", shapes::count()),
        held,
    ];
    Operation::new(summary)
        .query("run", "At the end of this run; of the last one, if nothing is said.", shapes::id())
        .query("at", "With everything up to this offset or time.", shapes::moment())
        .answers_json("How things are, or were.", shapes::object(&members, more))
        .conditional()
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::Trimmed, Code::Compacted])
}

/// The messages of a branch: the last page, or one before.
pub(super) async fn messages(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Messages>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let located = match &options.before {
        Some(_) if options.run.is_some() || options.at.is_some() => {
            return Err(Refusal::new(Code::InvalidParameter, "before says which run and when"));
        }
        Some(before) => before.locate(app.engine(), &thread).await?,
        None => locate(app.engine(), &thread, options.run.as_deref(), options.at).await?,
    };
    let limit = options.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let end = options.before.map_or(usize::MAX, |before| before.place);
    answer(app.engine(), &thread, located.as_ref(), &headers, |fold| {
        let page = Page::read(fold, end, limit);
        let before = located.as_ref().filter(|_| page.first > 0);
        let before = before.map(|located| MessageMark::new(located, page.first));
        let before = before.map_or_else(String::new, |before| format!(r#""before":"{before}","#));
        format!(r#"{before}"messages":[{}]"#, page.messages.join(","))
    })
    .await
}

/// The state of a branch.
pub(super) async fn state(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let located = locate(app.engine(), &thread, options.run.as_deref(), options.at).await?;
    answer(app.engine(), &thread, located.as_ref(), &headers, |fold| {
        format!(r#""state":{}"#, fold.state().as_str())
    })
    .await
}

/// Some messages, in order.
struct Page {
    /// The place of the first one.
    first: usize,
    messages: Vec<String>,
}

impl Page {
    /// The messages before a place, as many as may be.
    fn read(fold: &Fold, end: usize, limit: usize) -> Self {
        let all: Vec<&Message<'_>> = fold.messages().take(end).collect();
        let (mut first, mut bytes, mut messages) = (all.len(), 0, Vec::new());
        while first > 0 && messages.len() < limit && bytes < PAGE_BYTES {
            first -= 1;
            let json = all[first].to_json();
            bytes += json.len();
            messages.push(json);
        }
        messages.reverse();
        Self { first, messages }
    }
}

/// The point that a request asks for.
async fn locate(
    engine: &Engine,
    thread: &ThreadKey,
    run: Option<&str>,
    at: Option<Moment>,
) -> Result<Option<Located>, Refusal> {
    let run = match run {
        Some(id) => Some(engine.run_named(thread, &run_of_query(id)?).await?.no),
        None => None,
    };
    let (at, time) = match at {
        Some(Moment::Offset(offset)) => (Some(offset), None),
        Some(Moment::Time(time)) => {
            let next = engine.offset_at(thread, Timestamp(time.0.saturating_add(1))).await?;
            let Some(offset) = next.checked_sub(1) else { return Ok(None) };
            (Some(offset), Some(time))
        }
        None => (None, None),
    };
    let at = match (run, at) {
        (None, None) => At::Head,
        (Some(run), None) => At::Run(run),
        (None, Some(offset)) => At::Offset(offset),
        (Some(run), Some(offset)) => At::RunAndOffset(run, offset),
    };
    match (engine.locate(thread, at).await, time) {
        // What was said in it cannot be told apart any more; at a time when it was over, that is not asked.
        (Err(Error::Compacted { run, offset }), Some(time)) => {
            let info = engine.run_named(thread, &run).await?;
            match info.ended.is_some_and(|ended| ended <= time) {
                true => Ok(engine.locate(thread, At::Run(info.no)).await?),
                false => Err(Error::Compacted { run, offset }.into()),
            }
        }
        (located, _) => Ok(located?),
    }
}

/// What is held at a point. Written by hand, since text of agents need not be Unicode.
async fn answer(
    engine: &Engine,
    thread: &ThreadKey,
    located: Option<&Located>,
    headers: &HeaderMap,
    shown: impl FnOnce(&Fold) -> String,
) -> Result<Response, Refusal> {
    let tag = located.map(|Located { incarnation, run, offset }| {
        Tag::new(&[&format!("{:x}", incarnation.0), &run.no.0, offset, &FOLD_VERSION])
    });
    if let Some(tag) = tag.clone().filter(|tag| tag.is_held(headers)) {
        return Ok(tag.not_modified());
    }
    let fold = match located {
        Some(located) => engine.fold_at(thread, located).await?,
        None => Fold::new(),
    };
    let head = json!({
        "threadId": thread.thread.as_str(),
        "runId": located.map(|located| located.run.id.as_str()),
        "next": located.map_or(0, |located| located.offset),
    });
    let body = format!("{},{}}}", head.to_string().trim_end_matches('}'), shown(&fold));
    let response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    Ok(match tag {
        Some(tag) => tag.on(response),
        None => response,
    })
}
