//! A server as a person starts it.

use super::client::{Client, PATIENCE};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How often a process is asked whether it has ended.
const GLANCE: Duration = Duration::from_millis(5);

/// A server in a process of its own. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) client: Client,
    process: Child,
    log: PathBuf,
}

impl Served {
    /// Serves the store of a directory, with these settings, once it is ready.
    pub(crate) fn start(dir: &Path, settings: &str) -> Self {
        Self::start_with_log(dir, settings, "info")
    }

    /// The same, with a log that says so much.
    pub(crate) fn start_with_log(dir: &Path, settings: &str, level: &str) -> Self {
        Self::start_on("store", dir, settings, level)
    }

    /// Serves a store that may be elsewhere.
    pub(crate) fn start_on(store: &str, dir: &Path, settings: &str, level: &str) -> Self {
        std::fs::write(dir.join("threadline.toml"), settings).expect("a file");
        let log = dir.join("stderr");
        // With as few files as a system may give to begin with; it has to help itself to more.
        let mut process = Command::new("sh")
            .args(["-c", "ulimit -S -n 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_threadline")])
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store, "--log", level])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a file"))
            .spawn()
            .expect("threadline starts");
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let address = first.rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{first:?}, {:?}", std::fs::read_to_string(&log)));
        // It may say more, and must find somebody who listens.
        std::thread::spawn(move || lines.for_each(drop));
        Self { client: Client { address }, process, log }
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.client.address
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a file")
    }

    /// The most memory that it ever had, in bytes. None where that cannot be known.
    pub(crate) fn memory_peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("a process that can be killed");
        self.process.wait().expect("a process that has ended");
    }

    /// Tells it to stop.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.process.id());
        let status = Command::new("sh").args(["-c", &command]).status().expect("a shell");
        assert!(status.success(), "{status}");
    }

    /// Makes it hold still, as a freezer does: none of its threads does anything when this returns.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
        while !self.is_frozen() {
            std::thread::yield_now();
        }
    }

    fn is_frozen(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("a process");
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
        // Its state follows its name, which may be anything.
        stats.into_iter().all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// Waits until it has ended, and says how, and how long that took.
    pub(crate) async fn ended(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let ended = async {
            loop {
                if let Some(status) = self.process.try_wait().expect("a process") {
                    return status;
                }
                sleep(GLANCE).await;
            }
        };
        (timeout(PATIENCE, ended).await.expect("an end"), start.elapsed())
    }

    /// Whether its memory has not grown by more than this since it had so much.
    pub(crate) fn assert_grown_less(&self, since: Option<u64>, growth_max: u64) {
        let grown = self.memory_peak().zip(since).map(|(peak, since)| peak.saturating_sub(since));
        assert!(grown.is_none_or(|grown| grown < growth_max), "{grown:?}");
    }

    /// Stops it in good order.
    pub(crate) async fn stop(mut self) {
        self.terminate();
        let (status, _) = self.ended().await;
        assert!(status.success(), "{status}: {}", self.log());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
