//! An agent made of the npm encoder, which knows nothing of what Threadline adds.

use crate::served::Served;
use std::process::Command;

/// An agent that ends when it is dropped. `interop/peers/node/agent.mjs` says what it does.
#[derive(Debug)]
pub struct NodeAgent(Served);

impl NodeAgent {
    /// Starts it, on a port of loopback.
    ///
    /// # Panics
    /// If the peer is not set up: a test cannot go on without it.
    #[must_use]
    pub fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/node/agent.mjs");
        Self(Served::start(Command::new("node").arg(script)))
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }
}
