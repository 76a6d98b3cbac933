//! A PostgreSQL of the test's own, which can be stopped, killed and started again.

mod installed;

use installed::Installed;
use rustix::process::{Pid, Signal, kill_process};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The variable with the URL of a server that all tests may use, as `with-postgres` sets it.
pub const SHARED: &str = "THREADLINE_TEST_POSTGRES";

/// What runs the server. It lives on for as long as it takes when the test is killed.
const GUARD: &str = include_str!("postgres/guard.sh");
/// Below those that systems give to whoever asks for any, so that nobody has it while the server is away.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// On how many ports it is tried.
const ATTEMPTS: u32 = 8;
/// Durable as it comes, with room for the connections of many tests at once. What would outlive a kill is kept in the folder.
const OPTIONS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=300",
    "shared_buffers=32MB",
    "dynamic_shared_memory_type=mmap",
];

/// A server on loopback, with its data in a folder of its own. Dropped, it is stopped and everything is removed; the same
/// happens when the process that started it is killed.
#[derive(Debug)]
pub struct Postgres {
    installed: Installed,
    folder: TempDir,
    port: u16,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    guard: Child,
    server: Pid,
}

impl Postgres {
    /// Makes a database and starts its server.
    ///
    /// # Panics
    /// If PostgreSQL is not installed, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let installed = Installed::find();
        let folder = installed.folder();
        installed.make_database(&folder.path().join("data"));
        let mut postgres = Self { installed, folder, port: 0, running: None };
        for _ in 0..ATTEMPTS {
            postgres.port = free_port();
            if postgres.try_start() {
                return postgres;
            }
        }
        panic!("PostgreSQL does not start: {}", postgres.log());
    }

    /// Where it is, as a user who may do everything.
    #[must_use]
    pub fn url(&self) -> String {
        url(self.address())
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Stops it in good order: whoever is connected is cut off.
    ///
    /// # Panics
    /// If it is not running.
    pub fn stop(&mut self) {
        self.running.take().expect("a server that is running").end("INT");
    }

    /// Kills all of its processes at once, as a machine does that runs out of memory.
    ///
    /// # Panics
    /// If it is not running.
    pub fn kill(&mut self) {
        let running = self.running.take().expect("a server that is running");
        let workers = children(running.server);
        for process in std::iter::once(running.server).chain(workers.iter().copied()) {
            // It may have ended by itself.
            _ = kill_process(process, Signal::KILL);
        }
        running.end("KILL");
        while workers.iter().any(|worker| is_alive(*worker)) {
            std::thread::yield_now();
        }
    }

    /// Starts it again, after it was stopped or killed: the same data at the same place.
    ///
    /// # Panics
    /// If it is running, or does not start.
    pub fn restart(&mut self) {
        assert!(self.running.is_none(), "a server that is running");
        assert!(self.try_start(), "PostgreSQL does not start again: {}", self.log());
    }

    /// What it has logged.
    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn try_start(&mut self) -> bool {
        let mut command = self.installed.command("sh");
        command.arg("-c").arg(GUARD).arg(self.folder.path());
        command.arg(self.installed.program("postgres")).arg("-D").arg(self.folder.path().join("data"));
        command.args(["-p", &self.port.to_string()]);
        command.args(OPTIONS.iter().flat_map(|option| ["-c", option]));
        // In a group of its own: what ends the tests must not end it before it has tidied up.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut guard = command.spawn().expect("a shell");
        let mut said = String::new();
        let stdout = guard.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut said).expect("text");
        let server = said.trim().parse().ok().and_then(Pid::from_raw);
        let Some(server) = server else {
            guard.wait().expect("a shell that ends");
            return false;
        };
        self.running = Some(Running { guard, server });
        true
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(Running { mut guard, .. }) = self.running.take() {
            drop(guard.stdin.take());
            // It is gone in any case.
            _ = guard.wait();
        }
    }
}

impl Running {
    /// Ends it with a signal, and waits until it has ended.
    fn end(mut self, signal: &str) {
        let mut stdin = self.guard.stdin.take().expect("piped");
        writeln!(stdin, "{signal}").expect("a guard that listens");
        self.guard.wait().expect("a guard that ends");
    }
}

/// A server that the tests of this process may use: the one that `with-postgres` has started for all of them, or one that is
/// there for as long as the process.
#[must_use]
pub fn shared_url() -> String {
    static OWN: OnceLock<Postgres> = OnceLock::new();
    std::env::var(SHARED).unwrap_or_else(|_| OWN.get_or_init(Postgres::start).url())
}

/// The shared server, for one test alone: everything in a schema of its own, which goes with the server.
#[must_use]
pub fn schema_url() -> String {
    in_new_schema(&shared_url())
}

/// The same, for a server whose URL has no parameters.
#[must_use]
pub fn in_new_schema(url: &str) -> String {
    format!("{url}?schema=t_{:x}_{:016x}", std::process::id(), any())
}

/// The URL of a server of ours, or of what stands in front of it.
#[must_use]
pub fn url(address: SocketAddr) -> String {
    format!("postgres://postgres@{address}/postgres")
}

fn any() -> u64 {
    RandomState::new().hash_one(0)
}

fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let count = u64::from(PORTS.end - PORTS.start);
    let drawn = std::iter::repeat_with(|| {
        PORTS.start + u16::try_from(any() % count).expect("less than there are ports")
    });
    drawn.take(1000).find(is_free).expect("a free port")
}

/// The processes that one has started.
fn children(parent: Pid) -> Vec<Pid> {
    let parent = parent.as_raw_nonzero();
    let path = format!("/proc/{parent}/task/{parent}/children");
    let listed = std::fs::read_to_string(path).expect("a process, on Linux");
    listed.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}

/// Whether a process still does something: one that nobody has asked how it ended does not.
fn is_alive(process: Pid) -> bool {
    let stat = Path::new("/proc").join(process.as_raw_nonzero().to_string()).join("stat");
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests;
