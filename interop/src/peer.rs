//! A peer is a process that answers each line of JSON with one line of JSON. `interop/peers/README.md` has the words.

use serde_json::Value;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where they are.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// The interpreter that has the Python packages, and the folder of the scripts.
pub(crate) fn python() -> (PathBuf, PathBuf) {
    let folder = Path::new(PEERS).join("python");
    (folder.join(".venv/bin/python"), folder)
}

/// Which implementation to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// `@ag-ui/core`, `@ag-ui/client` and `@ag-ui/proto`, the reference.
    Node,
    /// `ag-ui-protocol`.
    Python,
    /// The agents of `@ag-ui/client` 1.0.0 and 0.0.59, pointed at a server.
    NodeClients,
    /// Plain HTTP with the models of `ag-ui-protocol`, pointed at a server.
    PythonClients,
}

impl Peer {
    /// Asks all the questions and gives the answers, in order.
    ///
    /// # Panics
    /// If the peer is not set up or does not answer every question: a test cannot go on without it.
    #[must_use]
    pub fn ask(self, questions: &[Value]) -> Vec<Value> {
        self.start().ask(questions)
    }

    /// Starts the process, for a test that asks many times.
    ///
    /// # Panics
    /// If the peer is not set up.
    #[must_use]
    pub fn start(self) -> Session {
        let (python, scripts) = python();
        let node = Path::new(PEERS).join("node");
        let (program, script): (PathBuf, PathBuf) = match self {
            Self::Node => ("node".into(), node.join("oracle.mjs")),
            Self::NodeClients => ("node".into(), node.join("clients.mjs")),
            Self::Python => (python, scripts.join("oracle.py")),
            Self::PythonClients => (python, scripts.join("clients.py")),
        };
        let mut child = Command::new(program)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts; run interop/peers/setup first");
        let stdin = BufWriter::new(child.stdin.take().expect("piped"));
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Session { stdin: Some(stdin), stdout, child }
    }
}

/// A peer that runs until it is dropped.
#[derive(Debug)]
pub struct Session {
    /// None when it ends: that it is closed is what ends the peer.
    stdin: Option<BufWriter<ChildStdin>>,
    stdout: BufReader<ChildStdout>,
    child: Child,
}

impl Session {
    /// Asks all the questions and gives the answers, in order.
    ///
    /// # Panics
    /// If the peer does not answer every question.
    pub fn ask(&mut self, questions: &[Value]) -> Vec<Value> {
        let Self { stdin, stdout, .. } = self;
        let stdin = stdin.as_mut().expect("open until the session ends");
        // Written from a thread of its own, or both sides could wait for the other to read.
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for question in questions {
                    writeln!(stdin, "{question}").expect("the peer reads its questions");
                }
                stdin.flush().expect("the peer reads its questions");
            });
            let answers = stdout.lines().take(questions.len()).map(|line| {
                let line = line.expect("the peer writes UTF-8");
                serde_json::from_str(&line).expect("the peer answers in JSON")
            });
            let answers: Vec<Value> = answers.collect();
            let (asked, answered) = (questions.len(), answers.len());
            assert_eq!(answered, asked, "the peer left questions unanswered; run interop/peers/setup first");
            answers
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stdin = None;
        // What it still had to say, and how it ended, is nobody's business any more.
        let _ = self.child.wait();
    }
}
