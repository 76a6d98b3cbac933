//! The agents of a server.

use crate::report::Failure;
use std::sync::Arc;
use threadline_agent::RunOptions;
use threadline_agent::demo::Demo;
use threadline_server::agents::{Hosted, Upstream};
use threadline_server::{Agents, Settings};

/// The name of the built-in agent.
const DEMO: &str = "demo";

/// The agents that the settings name; the demo agent, if they name none.
pub(crate) fn of(settings: &Settings) -> Result<Agents, Failure> {
    let mut agents = Agents::new();
    for (name, agent) in &settings.agents {
        let upstream = Upstream::new(agent, settings.runs.run_bytes_max)
            .map_err(|error| Failure::Usage(format!("agent {name}: {error}")))?;
        agents = agents.with(name, Arc::new(upstream));
    }
    if settings.agents.is_empty() {
        agents = agents.with(DEMO, Arc::new(Hosted::new(Arc::new(Demo::new()), RunOptions::new())));
    }
    if let Some(name) = &settings.default_agent {
        agents = agents.with_default(name);
        agents.get(None).map_err(|error| Failure::Usage(format!("default_agent: {error}")))?;
    }
    Ok(agents)
}
