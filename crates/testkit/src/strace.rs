//! Real system calls that fail, where strace can be used.

use crate::faults::leave_out;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is watched, whatever fails.
const WATCHED: &str = "fdatasync,fsync,pwrite64,rename,unlink,ftruncate";

/// A system call that fails the `nth` time that a thread calls it.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name.
    pub call: &'static str,
    /// The name of the error.
    pub error: &'static str,
    /// Which time, from 1.
    pub nth: u32,
}

/// A system call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// It failed because it was told to.
    pub is_injected: bool,
    /// Where it begins in the trace.
    pub begin: usize,
    /// Where it ends in the trace.
    pub end: usize,
}

/// Whether strace is here and may be used. If not, a test is left out.
#[must_use]
pub fn is_usable() -> bool {
    let mut command = Command::new("strace");
    let traced = command.args(["-f", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let is_usable = traced.is_ok_and(|status| status.success());
    if !is_usable {
        leave_out("strace is not here or may not be used");
    }
    is_usable
}

impl Fault {
    /// The words that come before a command that is to have this fault. The trace goes to a file.
    #[must_use]
    pub fn wrapper(&self, trace: &Path) -> Vec<String> {
        let Self { call, error, nth } = self;
        let trace = trace.display().to_string();
        let inject = format!("inject={call}:error={error}:when={nth}");
        ["strace", "-f", "-y", "-o", &trace, "-e", &format!("trace={WATCHED}"), "-e", &inject, "--"]
            .map(str::to_owned)
            .into()
    }
}

/// Reads a trace: the calls in the order in which they ended.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn read(trace: &Path) -> Vec<Call> {
    let text = std::fs::read_to_string(trace).expect("a trace");
    let mut begun: BTreeMap<&str, Call> = BTreeMap::new();
    let mut calls = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if !rest.starts_with('<') {
            let Some((name, arguments)) = rest.split_once('(') else { continue };
            let path = path(arguments).into();
            let call = Call { name: name.to_owned(), path, is_injected: false, begin: at, end: at };
            begun.insert(thread, call);
        }
        if rest.contains("<unfinished ...>") {
            continue;
        }
        if let Some(call) = begun.remove(thread) {
            calls.push(Call { is_injected: rest.ends_with("(INJECTED)"), end: at, ..call });
        }
    }
    calls
}

/// The first file among arguments: that of a descriptor, or one by its name.
fn path(arguments: &str) -> &str {
    let Some(at) = arguments.find(['<', '"']) else { return "" };
    let rest = &arguments[at + 1..];
    &rest[..rest.find(['>', '"']).unwrap_or(rest.len())]
}
