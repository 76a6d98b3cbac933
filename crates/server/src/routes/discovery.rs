//! `GET /agents` and `GET /agents/{agent}/capabilities`: who is there, and what they can do.

use super::parameters::Name;
use crate::app::App;
use crate::capabilities::with_ours;
use crate::error::Refusal;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// All agents.
pub(super) async fn agents(State(app): State<App>) -> Json<Value> {
    let default = app.agents().default_name();
    let agents: Vec<Value> =
        app.agents().names().map(|name| json!({ "name": name, "default": Some(name) == default })).collect();
    Json(json!({ "agents": agents }))
}

/// What a named agent can do.
pub(super) async fn named(State(app): State<App>, Name(agent): Name) -> Result<Json<Value>, Refusal> {
    capabilities(&app, Some(&agent)).await
}

/// What the default agent can do.
pub(super) async fn default(State(app): State<App>) -> Result<Json<Value>, Refusal> {
    capabilities(&app, None).await
}

async fn capabilities(app: &App, agent: Option<&str>) -> Result<Json<Value>, Refusal> {
    let (_, agent) = app.agents().get(agent)?;
    Ok(Json(Value::Object(with_ours(agent.capabilities().await))))
}
