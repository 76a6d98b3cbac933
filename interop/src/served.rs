//! A peer that is a server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that says in its first line at which URL of loopback it is, and is ended when it is dropped.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
}

impl Served {
    /// Starts it, and waits until it is there.
    pub(crate) fn start(command: &mut Command) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.expect("the peer starts; run interop/peers/setup first");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut url).expect("it says where it is");
        url.truncate(url.trim_end().len());
        assert!(url.starts_with("http://127.0.0.1:"), "it did not start; run interop/peers/setup first");
        Self { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // What cannot be killed has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
