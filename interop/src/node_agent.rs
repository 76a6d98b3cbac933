//! An agent made of the npm encoder, which knows nothing of what Threadline adds.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// An agent that ends when it is dropped. `interop/peers/node/agent.mjs` says what it does.
#[derive(Debug)]
pub struct NodeAgent {
    child: Child,
    url: String,
}

impl NodeAgent {
    /// Starts it, on a port of loopback.
    ///
    /// # Panics
    /// If the peer is not set up: a test cannot go on without it.
    #[must_use]
    pub fn start() -> Self {
        let mut child = Command::new("node")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/node/agent.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts; run interop/peers/setup first");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut url).expect("it says where it is");
        url.truncate(url.trim_end().len());
        assert!(url.starts_with("http://127.0.0.1:"), "it did not start; run interop/peers/setup first");
        Self { child, url }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for NodeAgent {
    fn drop(&mut self) {
        // What cannot be killed has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
