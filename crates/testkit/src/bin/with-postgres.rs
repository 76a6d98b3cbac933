//! Runs a command with a PostgreSQL of its own, which is gone afterwards: `with-postgres COMMAND...`. The command finds its URL in
//! `THREADLINE_TEST_POSTGRES`, and how it ends is passed on.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use threadline_testkit::postgres::{Postgres, SHARED};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Bad usage.
const USAGE: u8 = 2;
/// The command does not start.
const ENVIRONMENT: u8 = 3;

#[tokio::main]
#[expect(clippy::print_stderr, reason = "this is a command")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: with-postgres COMMAND...");
        return USAGE.into();
    };
    let (interrupted, told) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (_interrupted, mut told) = (interrupted.expect("a handler"), told.expect("a handler"));
    let postgres = Postgres::start();
    let mut command = Command::new(&program);
    match command.args(arguments).env(SHARED, postgres.url()).spawn() {
        Ok(child) => code(ended(child, &mut told).await),
        Err(error) => {
            eprintln!("{} does not start: {error}", program.display());
            ENVIRONMENT.into()
        }
    }
}

/// Waits until the command has ended. It is told to stop when we are; a terminal interrupts it by itself, which we outlive.
async fn ended(mut child: Child, told: &mut Signal) -> ExitStatus {
    loop {
        tokio::select! {
            status = child.wait() => return status.expect("a child that ends"),
            _ = told.recv() => {
                let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
                if let Some(id) = id {
                    // It may have ended at this moment.
                    _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
                }
            }
        }
    }
}

/// How a shell tells it.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1).into()
}
