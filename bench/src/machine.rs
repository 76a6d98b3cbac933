//! What the benchmarks ran on.

use serde::Serialize;
use std::fmt;
use std::process::Command;

/// The machine and the compiler.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// How many threads run at once.
    pub cores: usize,
    /// The processor, as the kernel names it.
    pub cpu: String,
    /// The compiler.
    pub rustc: String,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn current() -> Self {
        let unknown = || "unknown".to_owned();
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let cpu =
            model.and_then(|line| line.split_once(": ")).map_or_else(unknown, |(_, name)| name.to_owned());
        let version = Command::new("rustc").arg("--version").output().ok();
        let rustc = version.and_then(|output| String::from_utf8(output.stdout).ok());
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            cpu,
            rustc: rustc.map_or_else(unknown, |text| text.trim().to_owned()),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, cpu, rustc } = self;
        write!(f, "{cpu}, {cores} cores, {rustc}")
    }
}
