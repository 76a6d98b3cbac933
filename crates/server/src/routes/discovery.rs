//! `GET /agents` and `GET /agents/{agent}/capabilities`: who is there, and what they can do.

use super::parameters::AgentName;
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

/// What an agent can do.
pub(super) async fn capabilities(
    State(app): State<App>,
    AgentName(agent): AgentName,
) -> Result<Json<Value>, Refusal> {
    let (_, agent) = app.agents().get(agent.as_deref())?;
    Ok(Json(Value::Object(with_ours(agent.capabilities().await, app.settings().http.websocket))))
}
