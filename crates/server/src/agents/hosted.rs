//! Agents written in Rust, which run in this process.

use super::{AgentRequest, Backend};
use crate::runs::source::{Failure, Given, Source};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use threadline_agent::{Agent, Run, RunOptions, run_agent};
use threadline_protocol::RunAgentInput;

/// An agent of this process.
#[derive(Clone)]
pub struct Hosted {
    agent: Arc<dyn Agent>,
    options: RunOptions,
}

impl Hosted {
    /// Hosts an agent.
    #[must_use]
    pub fn new(agent: Arc<dyn Agent>, options: RunOptions) -> Self {
        Self { agent, options }
    }
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosted").field("options", &self.options).finish_non_exhaustive()
    }
}

#[async_trait]
impl Backend for Hosted {
    fn source(&self, request: AgentRequest) -> Box<dyn Source> {
        let text = String::from_utf8_lossy(&request.body);
        let run = match RunAgentInput::read_json(&text) {
            Ok((input, _)) => {
                Ok(run_agent(Arc::clone(&self.agent), input.into_owned(), self.options.clone()))
            }
            Err(error) => Err(Failure { code: "invalid_input".to_owned(), message: error.to_string() }),
        };
        Box::new(HostedRun { run: Some(run) })
    }

    async fn capabilities(&self) -> Map<String, Value> {
        serde_json::from_str(&self.agent.capabilities().to_json()).unwrap_or_default()
    }
}

#[derive(Debug)]
struct HostedRun {
    /// None when it has failed.
    run: Option<Result<Run, Failure>>,
}

#[async_trait]
impl Source for HostedRun {
    async fn next(&mut self) -> Option<Result<Given, Failure>> {
        match self.run.as_mut()? {
            Ok(run) => run.next().await.map(|event| Ok(Given::Json(event.into_parts().1))),
            Err(_) => self.run.take().and_then(Result::err).map(Err),
        }
    }
}
