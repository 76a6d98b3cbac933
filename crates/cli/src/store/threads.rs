//! `threadline threads`: what a store holds.

use super::args::{OutputFormat, ThreadsArgs, named_scope};
use super::opened::{Opened, not_listed};
use super::remote::Remote;
use super::time::readable;
use crate::report::{Failure, Report, printable};
use serde_json::json;
use std::io::{self, Write};
use threadline_log::thread::{ThreadInfo, ThreadOrder, ThreadQuery};

pub(crate) fn run(args: &ThreadsArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let shown = args.limit.get();
    // One more shows that there are more.
    let limit = shown.saturating_add(1);
    let (mut threads, left_out) = match Remote::of(&args.place)? {
        Some(remote) => (remote.threads(&asked(args), limit)?, Vec::new()),
        None => listed(args, limit)?,
    };
    let has_more = threads.len() > shown;
    threads.truncate(shown);
    let mut out = io::stdout().lock();
    let written = match args.format {
        OutputFormat::Text => write_table(&mut out, &threads, has_more),
        OutputFormat::Json => threads.iter().try_for_each(|thread| writeln!(out, "{}", object(thread))),
    };
    written.map_err(Failure::write)?;
    left_out.iter().for_each(|what| report.warn(&not_listed(what)));
    match left_out.len() {
        0 => Ok(()),
        count => Err(Failure::Store(format!("threads that could not be listed: {count}"))),
    }
}

/// Those of a store, and what is missing among them.
fn listed(args: &ThreadsArgs, limit: usize) -> Result<(Vec<ThreadInfo>, Vec<String>), Failure> {
    let opened = Opened::existing(&args.place.store)?;
    let query = ThreadQuery {
        order: ThreadOrder::Updated,
        scope: named_scope(args.app.as_ref(), args.user.as_ref()),
        archived: args.archived.then_some(true),
        agent: args.agent.clone(),
        labels: args.labels.iter().cloned().collect(),
        words: args.query.clone(),
        after: None,
        limit,
    };
    let threads = opened.wait(opened.engine.threads(&query))?;
    let left_out = opened.left_out();
    opened.close();
    Ok((threads, left_out))
}

/// The same, as a server is asked.
fn asked(args: &ThreadsArgs) -> Vec<(&'static str, String)> {
    let mut query: Vec<_> =
        args.labels.iter().map(|(name, value)| ("label", format!("{name}={value}"))).collect();
    query.extend(args.query.clone().map(|words| ("q", words)));
    query.extend(args.agent.clone().map(|agent| ("agent", agent)));
    query.extend(args.archived.then(|| ("archived", "true".to_owned())));
    query
}

fn write_table(out: &mut impl Write, threads: &[ThreadInfo], has_more: bool) -> io::Result<()> {
    if threads.is_empty() {
        return writeln!(out, "no threads");
    }
    let rows: Vec<[String; 6]> = threads.iter().map(row).collect();
    let head = ["THREAD", "NAME", "RUNS", "RECORDS", "LAST RUN", "UPDATED"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in [&head].into_iter().chain(&rows) {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    if has_more { writeln!(out, "... and more: --limit, --query") } else { Ok(()) }
}

fn row(thread: &ThreadInfo) -> [String; 6] {
    let status = thread.last_run.map_or("-", |(_, status)| status.name());
    let archived = if thread.metadata.archived { " (archived)" } else { "" };
    [
        printable(&thread_name(thread)),
        printable(&format!("{}{archived}", thread.metadata.name.as_deref().unwrap_or("-"))),
        thread.runs.to_string(),
        (thread.offsets.end - thread.offsets.start).to_string(),
        status.to_owned(),
        readable(thread.updated),
    ]
}

/// The id, and whose it is where that is not the usual.
fn thread_name(thread: &ThreadInfo) -> String {
    let scope = &thread.key.scope;
    let usual = super::args::DEFAULT_OWNER;
    match scope.app.as_str() == usual && scope.user.as_str() == usual {
        true => thread.key.thread.to_string(),
        false => thread.key.to_string(),
    }
}

/// A thread for programs.
pub(crate) fn object(thread: &ThreadInfo) -> serde_json::Value {
    json!({
        "app": thread.key.scope.app.as_str(),
        "user": thread.key.scope.user.as_str(),
        "thread": thread.key.thread.as_str(),
        "incarnation": format!("{:016x}", thread.incarnation.0),
        "name": thread.metadata.name,
        "archived": thread.metadata.archived,
        "agent": thread.metadata.agent,
        "labels": thread.metadata.labels,
        "first": thread.offsets.start,
        "tail": thread.offsets.end,
        "bytes": thread.bytes,
        "runs": thread.runs,
        "lastRun": thread.last_run.map(|(_, status)| status.name()),
        "created": thread.created.0,
        "updated": thread.updated.0,
    })
}
