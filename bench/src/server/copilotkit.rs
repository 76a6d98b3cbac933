//! CopilotKit's runtime in Node, with its in-memory runner: another thing that people use instead.

use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where the script is.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/node/copilotkit.mjs");

/// A process that serves.
pub(super) struct CopilotKit {
    pub(super) address: SocketAddr,
    process: Child,
}

impl CopilotKit {
    /// The path of the agent on it.
    pub(super) const PATH: &str = "/agent/flood/run";

    /// In front of the agent at this URL, with the packages of this folder.
    pub(super) fn start(folder: &Path, url: &str) -> io::Result<Self> {
        let mut process = Command::new("node")
            .arg(SCRIPT)
            .arg(folder.canonicalize()?)
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        // If it has not started, it has said why.
        let port: u16 = line.trim().parse().map_err(io::Error::other)?;
        Ok(Self { address: (Ipv4Addr::LOCALHOST, port).into(), process })
    }
}

impl Drop for CopilotKit {
    fn drop(&mut self) {
        // It ends when its standard input does.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
