//! `threadline delete`: a thread goes, and what it held.

use super::args::DeleteArgs;
use super::opened::Opened;
use crate::report::{Failure, printable};
use std::io::{self, IsTerminal, Write};
use threadline_log::ThreadKey;

pub(crate) fn run(args: &DeleteArgs) -> Result<(), Failure> {
    let opened = Opened::existing_for_writing(&args.store)?;
    let thread = args.scope.thread(&args.thread);
    let info = opened.wait(opened.engine.store().thread(&thread))?;
    if !args.yes && !is_wanted(&thread, info.offsets.end)? {
        opened.close();
        return Ok(());
    }
    opened.wait(opened.engine.delete(&thread))?;
    // What was deleted is to be gone from the files, not only from the lists.
    let tidied = opened.wait(opened.engine.store().tidy());
    opened.close();
    tidied?;
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
