//! The agents that this server stands in front of.

mod hosted;
mod registry;
mod upstream;

pub use hosted::Hosted;
pub use registry::Agents;
pub use upstream::Upstream;

use crate::runs::source::Source;
use async_trait::async_trait;
use axum::http::HeaderMap;
use bytes::Bytes;
use serde_json::{Map, Value};
use std::fmt;

/// What an agent is asked.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// A RunAgentInput as JSON.
    pub body: Bytes,
    /// The headers of the client's request.
    pub headers: HeaderMap,
}

/// An agent, wherever it is.
#[async_trait]
pub trait Backend: Send + Sync + fmt::Debug + 'static {
    /// A run of it. What keeps it from starting is the first thing that the source says.
    fn source(&self, request: AgentRequest) -> Box<dyn Source>;

    /// What it says that it can do; nothing, if it does not say.
    async fn capabilities(&self) -> Map<String, Value>;
}
