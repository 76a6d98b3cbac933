//! `POST /v1/threads/{thread}/events`: the events of a run that somebody outside executes.

use super::body;
use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::{run_of_query, unreadable};
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use threadline_log::run::RunEnd;
use threadline_log::{AppendKey, Contributed, Contribution, Error, RunId, ThreadId, ThreadKey};
use threadline_protocol::limits::Limits;
use threadline_protocol::{Event, Received, Text};

/// The most events of a request.
const EVENTS_MAX: usize = 10_000;

/// What a request may say in its query.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// The run that the events belong to.
    run: String,
    /// Where the caller thinks that the tail is.
    expected_tail: Option<u64>,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    let appended = [
        ("threadId", shapes::id()),
        ("runId", shapes::id()),
        ("status", shapes::status()),
        ("first", shapes::count()),
        ("next", shapes::count()),
        ("tail", shapes::count()),
        ("repeated", shapes::flag()),
    ];
    Operation::new("Appends the events of a run that somebody outside executes, all of them or none")
        .needs_query("run", "The run that the events belong to.", shapes::id())
        .query("expected_tail", "Only if the thread ends there.", shapes::count())
        .header("Idempotency-Key", "Makes a repetition land once.", shapes::id())
        .takes(&body::LINES, &shapes::lines())
        .answers_json(
            "They lie from `first` up to `next`, and the thread ends at `tail`.",
            shapes::object(&appended, &[]),
        )
        .keeps()
        .refuses(&[Code::RunActive, Code::RunEnded, Code::RunIdReused, Code::TailMoved, Code::Fenced])
        .refuses(&[Code::InterruptsOpen, Code::InterruptAnswered, Code::ThreadNotFound, Code::ThreadReplaced])
}

/// Appends events, all of them or none.
pub(super) async fn append(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let (run, key) = (run_of_query(&options.run)?, key(&headers)?);
    let events = read(&body::read_lines(&app, &headers, body).await?, &thread.thread, &run)?;
    if app.runs().is_stopping() {
        return Err(Refusal::new(Code::ShuttingDown, "the server is about to stop"));
    }
    app.load().quota.admit_events(app.engine(), &thread).await?;
    check_is_outside(&app, &thread, &run).await?;
    let silence = app.settings().runs.append_timeout.as_millis();
    let contribution = Contribution {
        thread: thread.clone(),
        run: run.clone(),
        events,
        key,
        expected_tail: options.expected_tail,
        silence_ms_max: i64::try_from(silence).unwrap_or(i64::MAX),
    };
    let Contributed { run: no, ack } = app.engine().contribute(contribution).await?;
    let info = app.engine().run(&thread, no).await?;
    Ok(Json(json!({
        "threadId": thread.thread.as_str(),
        "runId": run.as_str(),
        "status": info.status().name(),
        "first": ack.offsets().start,
        "next": ack.offsets().end,
        "tail": app.engine().store().thread(&thread).await?.offsets.end,
        "repeated": ack.repeated,
    })))
}

fn key(headers: &HeaderMap) -> Result<Option<AppendKey>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let refused = |what: &str| Refusal::new(Code::InvalidParameter, format!("idempotency-key: {what}"));
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_other| refused("not UTF-8"))?;
    AppendKey::new(text).map(Some).map_err(|error| refused(&error.to_string()))
}

/// A run that is executed by a server, here or elsewhere, takes no events from outside.
async fn check_is_outside(app: &App, thread: &ThreadKey, run: &RunId) -> Result<(), Refusal> {
    let engine = app.engine();
    let is_executed = async {
        let incarnation = engine.store().thread(thread).await?.incarnation;
        let run = engine.run_named(thread, run).await?;
        if !run.is_running() || app.runs().phase(incarnation, run.no).is_some() {
            return Ok(run.is_running());
        }
        // Only where several instances have the store can another have it.
        Ok(engine.store().shared().is_some() && !engine.is_contributed(thread, &run).await?)
    };
    match is_executed.await {
        Ok(true) => Err(Error::RunActive(run.clone()).into()),
        Ok(false) | Err(Error::NoThread(_) | Error::NoRun(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The events of a body, all of which must be right.
fn read(body: &Bytes, thread: &ThreadId, run: &RunId) -> Result<Vec<Bytes>, Refusal> {
    let event_bytes_max = Limits::default().event_bytes_max;
    let (mut events, mut is_over) = (Vec::new(), false);
    for (number, line) in (1..).zip(body.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let wrong = |pointer: &str, message: &str| Refusal::input(pointer, message).at_line(number);
        if is_over {
            return Err(wrong("", "an event after the end of its run"));
        }
        if events.len() == EVENTS_MAX {
            let message = format!("too many events at once. max={EVENTS_MAX}");
            return Err(Refusal::new(Code::RequestTooLarge, message).at_line(number));
        }
        if line.len() > event_bytes_max {
            let message = format!("the event is too large. bytes={}, max={event_bytes_max}", line.len());
            return Err(Refusal::new(Code::RequestTooLarge, message).at_line(number));
        }
        let received = Received::read_bytes(line).map_err(|error| unreadable(&error).at_line(number))?;
        match received.event() {
            Event::RunStarted(_) if !events.is_empty() => {
                return Err(wrong("/type", "a start that is not the first"));
            }
            Event::RunStarted(started) => {
                check_ids(&started.thread_id, &started.run_id, thread, run)
                    .map_err(|at| wrong(at, ANOTHER))?;
            }
            Event::RunFinished(finished) => {
                check_ids(&finished.thread_id, &finished.run_id, thread, run)
                    .map_err(|at| wrong(at, ANOTHER))?;
            }
            _ => {}
        }
        is_over = RunEnd::of(received.event()).is_some();
        events.push(body.slice_ref(line));
    }
    match events.is_empty() {
        true => Err(Refusal::input("", "nothing to append")),
        false => Ok(events),
    }
}

const ANOTHER: &str = "another one than the request is for";

/// Where an event says that it belongs elsewhere.
fn check_ids(
    thread_id: &Text<'_>,
    run_id: &Text<'_>,
    thread: &ThreadId,
    run: &RunId,
) -> Result<(), &'static str> {
    if thread_id.as_str() != Some(thread.as_str()) {
        return Err("/threadId");
    }
    if run_id.as_str() != Some(run.as_str()) { Err("/runId") } else { Ok(()) }
}
