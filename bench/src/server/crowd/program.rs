//! The server as a person starts it.

use super::Stage;
use super::apart::on_the_first;
use crate::disk::Folder;
use crate::server::upstream::{BULK, FRESH, HOLD, path};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How many of the kernel's ticks a second has.
const TICKS: u64 = 100;

/// A server in a process of its own. Dropped, it is killed.
pub(super) struct Program {
    pub(super) address: SocketAddr,
    process: Child,
    _dir: Folder,
}

impl Program {
    /// On a store of its own by this name, with these settings.
    pub(super) fn start(stage: &Stage<'_>, name: &str, settings: &str) -> io::Result<Self> {
        let dir = stage.folder.sub(name)?;
        let mut config = format!("{settings}\n");
        for name in [HOLD, FRESH, BULK] {
            config += &format!("[agents.{name}]\nurl = \"http://{}{}\"\n", stage.agent, path(name));
        }
        fs::write(dir.path().join("threadline.toml"), config)?;
        let program = fs::canonicalize(stage.program)?;
        let mut command = if stage.is_apart { on_the_first(program) } else { Command::new(program) };
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "store", "--log", "error"])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut lines = BufReader::new(out).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let address = first.rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let address = address.ok_or_else(|| io::Error::other(format!("it does not start. said={first}")))?;
        Ok(Self { address, process, _dir: dir })
    }

    /// How much memory it holds, and how much it has held at most.
    pub(super) fn memory(&self) -> io::Result<[u64; 2]> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let figure = |name: &str| -> io::Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            Ok(kib.ok_or_else(|| io::Error::other("the kernel does not say how much memory is held"))? << 10)
        };
        Ok([figure("VmRSS:")?, figure("VmHWM:")?])
    }

    /// What it has taken of the processors.
    pub(super) fn busy(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // Behind the name, which may have anything in it: user and system time are the 12th and 13th.
        let behind = stat.rsplit_once(')').map(|(_, behind)| behind).unwrap_or_default();
        let ticks = behind.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
        Ok(Duration::from_millis(ticks.sum::<u64>() * 1000 / TICKS))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In MiB.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
