//! `GET /v1/threads/{thread}/messages`, `/state` and `/runs`: how things are, or were.

use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::error::Refusal;
use crate::input::run_of_query;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use threadline_log::run::RunInfo;
use threadline_log::{At, RunId, Snapshot, ThreadKey};
use threadline_protocol::Message;

/// Which point in time.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// After this run.
    run: Option<String>,
    /// After the record of this offset.
    at: Option<u64>,
}

/// The messages of a branch.
pub(super) async fn messages(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (thread, snapshot, run) = snapshot(&app, &caller, &thread, &options, &headers).await?;
    let messages: Vec<String> = snapshot.fold.messages().map(Message::to_json).collect();
    Ok(answer(&thread, &snapshot, run.as_ref(), "messages", &format!("[{}]", messages.join(","))))
}

/// The state of a branch.
pub(super) async fn state(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (thread, snapshot, run) = snapshot(&app, &caller, &thread, &options, &headers).await?;
    let state = snapshot.fold.state();
    Ok(answer(&thread, &snapshot, run.as_ref(), "state", state.as_str()))
}

async fn snapshot(
    app: &App,
    caller: &Caller,
    thread: &str,
    options: &Options,
    headers: &HeaderMap,
) -> Result<(ThreadKey, Snapshot, Option<RunId>), Refusal> {
    let thread = app.thread_named(caller, headers, thread)?;
    let engine = app.engine();
    let run = match &options.run {
        Some(id) => {
            let id = run_of_query(id)?;
            Some(engine.run_named(&thread, &id).await?.no)
        }
        None => None,
    };
    let at = match (run, options.at) {
        (None, None) => At::Head,
        (Some(run), None) => At::Run(run),
        (None, Some(offset)) => At::Offset(offset),
        (Some(run), Some(offset)) => At::RunAndOffset(run, offset),
    };
    let snapshot = engine.snapshot(&thread, at).await?;
    let run = match snapshot.run {
        Some(run) => Some(engine.run(&thread, run).await?.id),
        None => None,
    };
    Ok((thread, snapshot, run))
}

/// Written by hand, since text of agents need not be Unicode.
fn answer(thread: &ThreadKey, snapshot: &Snapshot, run: Option<&RunId>, name: &str, value: &str) -> Response {
    let head = json!({ "threadId": thread.thread.as_str(), "runId": run.map(RunId::as_str), "next": snapshot.offset });
    let head = head.to_string();
    let body = format!(r#"{},"{name}":{value}}}"#, head.trim_end_matches('}'));
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The runs of a thread.
pub(super) async fn runs(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let runs = app.engine().store().runs(&thread).await?;
    let shown: Vec<Value> = runs.iter().map(|run| shown(run, &runs)).collect();
    Ok(Json(json!({ "threadId": thread.thread.as_str(), "runs": shown })))
}

fn shown(run: &RunInfo, runs: &[RunInfo]) -> Value {
    let parent = run.parent.and_then(|parent| runs.get(parent.index())).map(|parent| parent.id.as_str());
    let end = run.end.as_ref();
    json!({
        "runId": run.id.as_str(),
        "parentRunId": parent,
        "spawnedBy": run.spawned_by,
        "status": run.status().name(),
        "outcome": end.and_then(|end| end.outcome.clone()),
        "errorCode": end.and_then(|end| end.error_code.clone()),
        "usage": end.and_then(|end| end.usage.clone()),
        "first": run.offsets.start,
        "next": run.offsets.end,
        "records": run.records,
        "started": run.started.0,
        "ended": run.ended.map(|ended| ended.0),
        "compacted": run.compacted,
    })
}
