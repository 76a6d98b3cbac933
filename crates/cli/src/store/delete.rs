//! `threadline delete`: a thread goes, and what it held.

use super::args::DeleteArgs;
use super::opened::Opened;
use super::remote::{Remote, thread_path};
use crate::report::{Failure, printable};
use std::io::{self, IsTerminal, Write};
use threadline_log::ThreadKey;

pub(crate) fn run(args: &DeleteArgs) -> Result<(), Failure> {
    if let Some(remote) = Remote::of(&args.place)? {
        let info = remote.thread(&args.thread)?;
        if !args.yes && !is_wanted(&info.key, info.offsets.end)? {
            return Ok(());
        }
        remote.delete(&thread_path(&args.thread))?;
        return say(&info.key);
    }
    let opened = Opened::existing_for_writing(&args.place.store)?;
    let thread = args.scope.thread(&args.thread);
    let info = opened.wait(opened.engine.store().thread(&thread))?;
    if !args.yes && !is_wanted(&thread, info.offsets.end)? {
        opened.close();
        return Ok(());
    }
    opened.wait(opened.engine.delete(&thread))?;
    // What was deleted is to be gone from the files of an embedded store when this returns. A database vacuums when it wants to.
    let tidied = opened.wait(opened.engine.store().tidy());
    opened.close();
    tidied?;
    say(&thread)
}

fn say(thread: &ThreadKey) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{}", printable(&thread.to_string())).map_err(Failure::write)
}

/// Asks whoever sits at the terminal. Nobody else can be asked.
fn is_wanted(thread: &ThreadKey, records: u64) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Unconfirmed);
    }
    let question = format!("delete {thread} with {records} records? [y/N] ");
    let mut err = io::stderr().lock();
    write!(err, "{}", printable(&question)).and_then(|()| err.flush()).map_err(Failure::write)?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|source| Failure::Read { path: "stdin".to_owned(), source })?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
