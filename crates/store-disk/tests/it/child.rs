//! A process with a load.

use crate::load::{LOAD, Load, Said};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// A process that says nothing for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A process with a load. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    said: Receiver<Said>,
}

impl Child {
    pub(crate) fn start(load: &Load) -> Self {
        Self::start_under::<&str>(load, &[])
    }

    /// Starts it as the argument of another command.
    pub(crate) fn start_under<S: AsRef<OsStr>>(load: &Load, wrapper: &[S]) -> Self {
        let program = std::env::current_exe().expect("a program");
        let test = ["--exact", "load::process", "--ignored", "--nocapture"].map(OsStr::new);
        let words = wrapper.iter().map(AsRef::as_ref).chain([program.as_os_str()]).chain(test);
        let words: Vec<&OsStr> = words.collect();
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .env(LOAD, serde_json::to_string(load).expect("strings and numbers"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = process.stdout.take().expect("a pipe");
        let (sender, said) = sync_channel(1024);
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                // The test harness also talks, and a line may be cut by the end of the process.
                let Ok(line) = line else { return };
                if let Ok(said) = serde_json::from_slice::<Said>(&line)
                    && sender.send(said).is_err()
                {
                    return;
                }
            }
        });
        Self { process, said }
    }

    /// What it says next. None if it has ended.
    pub(crate) fn next(&self) -> Option<Said> {
        match self.said.recv_timeout(SILENCE_MAX) {
            Ok(said) => Some(said),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the process hangs"),
        }
    }

    /// Kills it. What it had said before is returned.
    pub(crate) fn kill(mut self) -> Vec<Said> {
        self.process.kill().expect("a process that can be killed");
        self.process.wait().expect("a process that has ended");
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Waits until it ends.
    pub(crate) fn finish(mut self) -> (Vec<Said>, ExitStatus) {
        let said = std::iter::from_fn(|| self.next()).collect();
        (said, self.process.wait().expect("a process that has ended"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
