//! `GET /v1/threads/{thread}/runs` and `/runs/{run}`: the runs of a thread.

use super::conditional::Tag;
use super::parameters::Name;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::run_of_query;
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use threadline_log::RunId;
use threadline_log::run::RunInfo;

/// What is said about it.
pub(super) fn about_list() -> Operation {
    let runs = shapes::object(&[("threadId", shapes::id()), ("runs", shapes::list(schema()))], &[]);
    Operation::new("The runs of a thread, in the order they were opened")
        .answers_json("All of them.", runs)
        .reads()
        .refuses(&[Code::ThreadNotFound])
}

/// All runs, in the order they were opened.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let runs = app.engine().store().runs(&thread).await?;
    let parent =
        |run: &RunInfo| run.parent.and_then(|parent| runs.get(parent.index())).map(|parent| &parent.id);
    let shown: Vec<Value> = runs.iter().map(|run| shown(run, parent(run))).collect();
    Ok(Json(json!({ "threadId": thread.thread.as_str(), "runs": shown })))
}

/// What is said about it.
pub(super) fn about_one() -> Operation {
    Operation::new("A run of a thread")
        .answers_json("As it is.", schema())
        .conditional()
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound])
}

/// One of them.
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    Name((thread, run)): Name<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let engine = app.engine();
    let incarnation = engine.store().thread(&thread).await?.incarnation;
    let run = engine.run_named(&thread, &run_of_query(&run)?).await?;
    // When it has ended, only retention changes it, and what it rejects afterwards.
    let tag = (!run.is_running()).then(|| {
        Tag::new(&[&format!("{:x}", incarnation.0), &run.no.0, &run.offsets.end, &u8::from(run.compacted)])
    });
    if let Some(tag) = tag.clone().filter(|tag| tag.is_held(&headers)) {
        return Ok(tag.not_modified());
    }
    let parent = match run.parent {
        Some(parent) => Some(engine.run(&thread, parent).await?.id),
        None => None,
    };
    let answer = Json(shown(&run, parent.as_ref())).into_response();
    Ok(match tag {
        Some(tag) => tag.on(answer),
        None => answer,
    })
}

/// How [`shown`] shows a run.
fn schema() -> Value {
    let members = [
        ("runId", shapes::id()),
        ("parentRunId", shapes::nullable(shapes::id())),
        ("spawnedBy", shapes::nullable(shapes::text())),
        ("status", shapes::status()),
        ("outcome", json!({})),
        ("errorCode", shapes::nullable(shapes::text())),
        ("usage", json!({})),
        ("first", shapes::count()),
        ("next", shapes::count()),
        ("records", shapes::count()),
        ("started", shapes::time()),
        ("ended", shapes::nullable(shapes::time())),
        ("compacted", shapes::flag()),
    ];
    shapes::named("Run", shapes::object(&members, &[]))
}

fn shown(run: &RunInfo, parent: Option<&RunId>) -> Value {
    let end = run.end.as_ref();
    json!({
        "runId": run.id.as_str(),
        "parentRunId": parent.map(RunId::as_str),
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
