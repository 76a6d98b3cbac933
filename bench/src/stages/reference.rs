//! The reference in Node, which times itself: starting it is not counted.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// As interop/peers pins it.
pub(super) const CLIENT: &str = "@ag-ui/client 1.0.0";

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/node/stages.mjs");
const PACKAGE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../interop/peers/node/node_modules/@ag-ui/client/package.json");

/// A process that runs one stage after the other, so that it is as warm as a server would be.
#[derive(Debug)]
pub(super) struct Reference {
    process: Child,
    pipes: RefCell<(ChildStdin, BufReader<ChildStdout>)>,
}

/// What to run, on which file.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Request<'a> {
    pub(super) stage: &'static str,
    pub(super) file: &'a Path,
    /// Where to write what a client holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<&'a Path>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Reply {
    ns: u64,
    /// How many events are left after compaction.
    #[serde(default)]
    pub(super) events: usize,
}

impl Reply {
    pub(super) const fn took(self) -> Duration {
        Duration::from_nanos(self.ns)
    }
}

impl Reference {
    /// Starts it; none if it is not installed.
    pub(super) fn start() -> io::Result<Option<Self>> {
        if !Path::new(PACKAGE).exists() {
            return Ok(None);
        }
        let node = Command::new("node").arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = match node {
            Ok(process) => process,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stdin = process.stdin.take().expect("it is piped");
        let stdout = process.stdout.take().expect("it is piped");
        Ok(Some(Self { process, pipes: RefCell::new((stdin, BufReader::new(stdout))) }))
    }

    pub(super) fn run(&self, request: Request<'_>) -> io::Result<Reply> {
        let (stdin, stdout) = &mut *self.pipes.borrow_mut();
        writeln!(stdin, "{}", serde_json::to_string(&request)?)?;
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // Whatever it is at, nobody waits for it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
