//! Google's ADK behind the published `ag-ui-adk` middleware, with a model that plays a script.

use crate::peer::python;
use crate::served::Served;
use std::process::{Command, Stdio};

/// A server of ADK agents, which ends when it is dropped. `interop/peers/python/adk.py` says which agents there are.
#[derive(Debug)]
pub struct Adk(Served);

impl Adk {
    /// Starts it, on a port of loopback.
    ///
    /// # Panics
    /// If the peer is not set up: a test cannot go on without it.
    #[must_use]
    pub fn start() -> Self {
        let (program, scripts) = python();
        // What goes to stderr are the tracebacks of the errors that its agents are asked for.
        Self(Served::start(Command::new(program).arg(scripts.join("adk.py")).stderr(Stdio::null())))
    }

    /// Where an agent is. `agent` is its name, with `/snapshot` behind it if it is to send MESSAGES_SNAPSHOT.
    #[must_use]
    pub fn url(&self, agent: &str) -> String {
        format!("{}/{agent}", self.0.url)
    }
}
