//! `POST /agents/{agent}/cancel`: stopping a run.

use super::body;
use super::parameters::AgentName;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::Input;
use crate::openapi::{Operation, agui, shapes};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// What is said about it.
pub(super) fn about() -> Operation {
    let stopped = [("threadId", shapes::id()), ("runId", shapes::id()), ("status", shapes::status())];
    Operation::new("Stops a run")
        .takes(&body::JSON, &agui::thread_and_run())
        .answers_json("It has ended, now or before.", shapes::object(&stopped, &[]))
        .writes()
        .refuses(&[Code::AgentNotFound, Code::InvalidParameter, Code::ThreadNotFound, Code::RunNotFound])
        .refuses(&[Code::NoActiveRun, Code::SeveralActiveRuns])
}

/// Stops a run.
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    AgentName(agent): AgentName,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    app.agents().get(agent.as_deref())?;
    let input = Input::read(&body::read(&app, &headers, body).await?)?;
    let thread = app.thread(&caller, &headers, &input)?;
    let cancelled = app.runs().cancel(&thread, input.run.as_ref()).await?;
    Ok(Json(json!({
        "threadId": thread.thread.as_str(),
        "runId": cancelled.run.as_str(),
        "status": cancelled.status.name(),
    })))
}
