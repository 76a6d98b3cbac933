//! `threadline export`: threads as lines of JSON.

use super::args::{ExportArgs, FormArg};
use super::opened::Opened;
use crate::report::Failure;
use std::io::{self, BufWriter, Write};
use threadline_log::ThreadKey;
use threadline_log::thread::{ThreadCursor, ThreadQuery};
use threadline_log::transfer::ExportForm;

/// How many threads are listed at once.
const PAGE: usize = 256;

pub(crate) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let opened = Opened::existing(&args.store)?;
    let form = match args.form {
        FormArg::Raw => ExportForm::Raw,
        FormArg::Compact => ExportForm::Compact,
        FormArg::Snapshot => ExportForm::Snapshot,
    };
    let threads = match &args.thread {
        Some(thread) => vec![args.scope.thread(thread)],
        None => all(&opened)?,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    for thread in threads {
        let mut exporter = opened.wait(opened.engine.export(&thread, form))?;
        while let Some(lines) = opened.wait(exporter.next())? {
            out.write_all(&lines).map_err(Failure::write)?;
        }
    }
    opened.close();
    out.flush().map_err(Failure::write)
}

/// The names of all threads, in order, so that an export of the same is the same.
fn all(opened: &Opened) -> Result<Vec<ThreadKey>, Failure> {
    let mut threads = Vec::new();
    let mut query = ThreadQuery { limit: PAGE, ..ThreadQuery::default() };
    loop {
        let page = opened.wait(opened.engine.threads(&query))?;
        let Some(last) = page.last() else { break };
        query.after = Some(ThreadCursor::of(last));
        threads.extend(page.into_iter().map(|thread| thread.key));
    }
    threads.sort();
    Ok(threads)
}
