//! Google's ADK behind the published `ag-ui-adk` middleware, with a model that plays a script.

use crate::peer::python;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A server of ADK agents, which ends when it is dropped. `interop/peers/python/adk.py` says which agents there are.
#[derive(Debug)]
pub struct Adk {
    child: Child,
    url: String,
}

impl Adk {
    /// Starts it, on a port of loopback.
    ///
    /// # Panics
    /// If the peer is not set up: a test cannot go on without it.
    #[must_use]
    pub fn start() -> Self {
        let (program, scripts) = python();
        let mut child = Command::new(program)
            .arg(scripts.join("adk.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The tracebacks of the errors that its agents are asked for.
            .stderr(Stdio::null())
            .spawn()
            .expect("the peer starts; run interop/peers/setup first");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut url).expect("it says where it is");
        url.truncate(url.trim_end().len());
        assert!(url.starts_with("http://127.0.0.1:"), "it did not start; run interop/peers/setup first");
        Self { child, url }
    }

    /// Where an agent is. `agent` is its name, with `/snapshot` behind it if it is to send MESSAGES_SNAPSHOT.
    #[must_use]
    pub fn url(&self, agent: &str) -> String {
        format!("{}/{agent}", self.url)
    }
}

impl Drop for Adk {
    fn drop(&mut self) {
        // What cannot be killed has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
