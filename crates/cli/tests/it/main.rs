//! The `threadline` binary as a person uses it.

mod bench;
mod check;
mod cluster;
mod compact;
mod convert;
mod enforce;
mod evidence;
mod faults;
mod fold;
mod live;
mod manual;
mod migrating;
mod normalise;
mod published_clients;
mod readme;
mod repair;
mod serving;
mod store;
mod talking;
mod translate;
mod usage;
mod workspace;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a command left behind.
struct Ran {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Ran {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("text")
    }
}

/// Runs `threadline` with these arguments and this standard input.
fn threadline(args: &[&str], stdin: impl AsRef<[u8]> + Send) -> Ran {
    run(Command::new(env!("CARGO_BIN_EXE_threadline")).args(args), stdin)
}

/// Runs a command with this standard input.
fn run(command: &mut Command, stdin: impl AsRef<[u8]> + Send) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("threadline starts");
    let mut pipe = child.stdin.take().expect("piped");
    let output: Output = std::thread::scope(|scope| {
        // It may stop reading at the first bad line; that is not our concern here.
        scope.spawn(move || drop(pipe.write_all(stdin.as_ref())));
        child.wait_with_output().expect("threadline ends")
    });
    Ran {
        code: output.status.code().expect("an exit code"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The recorded streams: every `.sse` file with its `.jsonl` twin.
fn captures() -> Vec<(PathBuf, PathBuf)> {
    let mut captures = Vec::new();
    for folder in ["0.6.0", "0.11.0"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/adk").join(folder);
        for entry in std::fs::read_dir(folder).expect("the recorded streams") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "sse") {
                captures.push((path.clone(), path.with_extension("jsonl")));
            }
        }
    }
    assert_eq!(captures.len(), 13);
    captures
}
