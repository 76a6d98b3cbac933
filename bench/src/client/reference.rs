//! The reference's client in Node, which times itself: starting it is not counted.

use super::plans::Read;
use super::run::Played;
use serde::Deserialize;
use serde_json::json;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/node/client.mjs");
const PACKAGE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../interop/peers/node/node_modules/@ag-ui/client/package.json");

/// A process that reads one run after the other, so that it is as warm as a page would be.
pub(super) struct Reference {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Reply {
    ns: u64,
    messages: usize,
    chars: usize,
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
        let stdin = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        Ok(Some(Self { process, stdin, stdout }))
    }

    pub(super) fn read(&mut self, played: &Played) -> io::Result<Read> {
        let asked = json!({ "url": played.url(), "threadId": played.thread, "runId": played.run });
        writeln!(self.stdin, "{asked}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let Reply { ns, messages, chars } = serde_json::from_str(&line)?;
        Ok(Read { took: Duration::from_nanos(ns), messages, chars })
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // Whatever it is at, nobody waits for it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
