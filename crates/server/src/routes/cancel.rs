//! `POST /agents/{agent}/cancel`: stopping a run.

use super::body;
use super::parameters::Name;
use crate::app::App;
use crate::error::Refusal;
use crate::input::Input;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// Stops a run of a named agent.
pub(super) async fn named(
    State(app): State<App>,
    Name(agent): Name,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    cancel(&app, Some(&agent), &headers, body).await
}

/// Stops a run of the default agent.
pub(super) async fn default(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    cancel(&app, None, &headers, body).await
}

async fn cancel(
    app: &App,
    agent: Option<&str>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    app.agents().get(agent)?;
    let input = Input::read(&body::read(app, headers, body).await?)?;
    let thread = app.thread(headers, &input)?;
    let cancelled = app.runs().cancel(&thread, input.run.as_ref()).await?;
    Ok(Json(json!({
        "threadId": thread.thread.as_str(),
        "runId": cancelled.run.as_str(),
        "status": cancelled.status.name(),
    })))
}
