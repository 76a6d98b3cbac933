//! The server on a processor of its own.

use std::process::{Command, Stdio, id};
use std::thread::available_parallelism;

/// The processor of the server.
const SERVERS: &str = "0";

/// Leaves the first processor to the server, so that what is measured is the server and not who waits for whom. False if there is no
/// other, or this is no Linux.
pub(in crate::server) fn leave_the_first() -> bool {
    let Ok(count @ 2..) = available_parallelism().map(usize::from) else { return false };
    let others = format!("1-{}", count - 1);
    let moved =
        Command::new("taskset").args(["-acp", &others, &id().to_string()]).stdout(Stdio::null()).status();
    moved.is_ok_and(|status| status.success())
}

/// A program on the processor that was left.
pub(super) fn on_the_first(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", SERVERS]).arg(program);
    command
}
