//! A peer is a process that answers each line of JSON with one line of JSON. `interop/peers/README.md` has the words.

use serde_json::Value;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which implementation to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// `@ag-ui/core`, `@ag-ui/client` and `@ag-ui/proto`, the reference.
    Node,
    /// `ag-ui-protocol`.
    Python,
}

impl Peer {
    /// Asks all the questions and gives the answers, in order.
    ///
    /// # Panics
    /// If the peer is not set up or does not answer every question: a test cannot go on without it.
    #[must_use]
    pub fn ask(self, questions: &[Value]) -> Vec<Value> {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let (program, script): (PathBuf, PathBuf) = match self {
            Self::Node => ("node".into(), peers.join("node/oracle.mjs")),
            Self::Python => (peers.join("python/.venv/bin/python"), peers.join("python/oracle.py")),
        };
        let mut child = Command::new(program)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts; run interop/peers/setup first");
        let mut stdin = BufWriter::new(child.stdin.take().expect("piped"));
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        // Written from a thread of its own, or both sides could wait for the other to read.
        let answers: Vec<Value> = std::thread::scope(|scope| {
            scope.spawn(move || {
                for question in questions {
                    writeln!(stdin, "{question}").expect("the peer reads its questions");
                }
                stdin.flush().expect("the peer reads its questions");
            });
            let lines = stdout.lines().map(|line| line.expect("the peer writes UTF-8"));
            lines.map(|line| serde_json::from_str(&line).expect("the peer answers in JSON")).collect()
        });
        let status = child.wait().expect("the peer ends");
        assert!(status.success(), "{self:?} ended with {status}; run interop/peers/setup first");
        assert_eq!(answers.len(), questions.len(), "{self:?} left questions unanswered");
        answers
    }
}
