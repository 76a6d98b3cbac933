//! `threadline export`: threads as lines of JSON.

use super::args::{ExportArgs, FormArg};
use super::opened::Opened;
use crate::report::{Failure, Report};
use std::io::{self, BufWriter, Write};
use threadline_log::thread::{ThreadCursor, ThreadQuery};
use threadline_log::transfer::ExportForm;
use threadline_log::{ErrorKind, ThreadKey};

/// How many threads are listed at once.
const PAGE: usize = 256;

pub(crate) fn run(args: &ExportArgs, report: &mut Report<'_>) -> Result<(), Failure> {
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
    let mut failed = Vec::new();
    for thread in threads {
        match export(&opened, &thread, form, &mut out) {
            // What is wrong with one thread is no reason to keep back the others.
            Err(Failure::Refused(error)) if args.all && error.kind() == ErrorKind::Corrupt => {
                failed.push((thread, error));
            }
            exported => exported?,
        }
    }
    opened.close();
    out.flush().map_err(Failure::write)?;
    for (thread, error) in &failed {
        report.warn(&format!("{thread}: {error}"));
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(Failure::Store(format!("threads that could not be exported whole: {count}"))),
    }
}

fn export(
    opened: &Opened,
    thread: &ThreadKey,
    form: ExportForm,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut exporter = opened.wait(opened.engine.export(thread, form))?;
    while let Some(lines) = opened.wait(exporter.next())? {
        out.write_all(&lines).map_err(Failure::write)?;
    }
    Ok(())
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
