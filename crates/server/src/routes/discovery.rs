//! `GET /agents` and `GET /agents/{agent}/capabilities`: who is there, and what they can do.

use super::parameters::AgentName;
use crate::app::App;
use crate::capabilities::with_ours;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// What is said about it.
pub(super) fn about_agents() -> Operation {
    let agent = shapes::object(&[("name", shapes::text()), ("default", shapes::flag())], &[]);
    let agents = shapes::object(&[("agents", shapes::list(agent))], &[]);
    Operation::new("The agents").answers_json("All of them.", agents)
}

/// All agents.
pub(super) async fn agents(State(app): State<App>) -> Json<Value> {
    let default = app.agents().default_name();
    let agents: Vec<Value> =
        app.agents().names().map(|name| json!({ "name": name, "default": Some(name) == default })).collect();
    Json(json!({ "agents": agents }))
}

/// What is said about it.
pub(super) fn about_capabilities() -> Operation {
    Operation::new("What an agent says it can do, and what the server adds")
        .answers_json("AG-UI's AgentCapabilities.", json!({ "type": "object" }))
        .refuses(&[Code::AgentNotFound])
}

/// What an agent can do.
pub(super) async fn capabilities(
    State(app): State<App>,
    AgentName(agent): AgentName,
) -> Result<Json<Value>, Refusal> {
    let (_, agent) = app.agents().get(agent.as_deref())?;
    Ok(Json(Value::Object(with_ours(agent.capabilities().await, app.settings().http.websocket))))
}
