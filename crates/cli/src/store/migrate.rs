//! `threadline migrate`: all threads from one store to another.

use super::args::MigrateArgs;
use super::opened::{Opened, not_listed};
use crate::progress::Progress;
use crate::report::{Failure, Report, Severity, printable};
use futures_util::{StreamExt, stream};
use std::cell::RefCell;
use std::io::{self, Write};
use threadline_log::transfer::Copied;
use threadline_log::{Engine, Error, ErrorKind, ThreadKey};

/// How many threads are copied at once, so that they share syncs.
const THREADS_AT_ONCE: usize = 64;

pub(crate) fn run(args: &MigrateArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let from = Opened::existing_at(&args.from)?;
    let to = Opened::for_writing_at(&args.to)?;
    let migrated = to.wait(all(&from, &to, report));
    to.close();
    from.close();
    let Migrated { threads, runs, records, there } = migrated?;
    let count = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let copied = [count(threads, "thread"), count(runs, "run"), count(records, "record")].join(", ");
    let there = if there > 0 { format!("; {there} there already") } else { String::new() };
    writeln!(io::stderr().lock(), "copied {copied}{there}").map_err(Failure::write)
}

/// What was done.
#[derive(Debug, Default)]
struct Migrated {
    threads: u64,
    runs: u64,
    records: u64,
    /// Threads that were there already.
    there: u64,
}

/// What became of a thread.
enum Outcome {
    /// It is the same in both.
    Copied(Copied),
    /// It was so before.
    There,
    /// It is not, and why.
    LeftOut(String),
}

async fn all(from: &Opened, to: &Opened, report: &mut Report<'_>) -> Result<Migrated, Failure> {
    let threads = from.list().await?;
    for what in from.left_out() {
        report.warn(&not_listed(&what));
        report.count(Severity::Finding);
    }
    let records = threads.iter().map(|thread| thread.offsets.end - thread.offsets.start).sum();
    let shown = RefCell::new((Progress::of_things(records, "records"), report));
    let told = |records: u64| {
        let (progress, report) = &mut *shown.borrow_mut();
        let records = usize::try_from(records).unwrap_or(usize::MAX);
        if let Some(line) = progress.as_mut().and_then(|progress| progress.advance(records)) {
            report.show_progress(&line);
        }
    };
    let outcomes = stream::iter(threads).map(|thread| {
        let told = &told;
        async move {
            let outcome = one(&from.engine, &to.engine, &thread.key, told).await;
            if matches!(outcome, Ok(Outcome::There)) {
                told(thread.offsets.end - thread.offsets.start);
            }
            (thread.key, outcome)
        }
    });
    let mut outcomes = outcomes.buffer_unordered(THREADS_AT_ONCE);
    let mut migrated = Migrated::default();
    while let Some((thread, outcome)) = outcomes.next().await {
        let (_, report) = &mut *shown.borrow_mut();
        match outcome? {
            Outcome::There => migrated.there += 1,
            Outcome::Copied(copied) => {
                migrated.threads += 1;
                migrated.runs += copied.runs;
                migrated.records += copied.records;
                report.erase_progress();
                report.flush();
                writeln!(io::stdout().lock(), "{}", printable(&thread.to_string()))
                    .map_err(Failure::write)?;
            }
            Outcome::LeftOut(why) => {
                report.warn(&format!("{thread}: {why}"));
                report.count(Severity::Finding);
            }
        }
    }
    Ok(migrated)
}

/// Copies a thread and compares the exports of both.
async fn one(from: &Engine, to: &Engine, thread: &ThreadKey, told: &dyn Fn(u64)) -> Result<Outcome, Error> {
    let outcome = match to.is_whole(thread).await? {
        true => are_same(from, to, thread).await.map(|same| match same {
            true => Outcome::There,
            false => {
                Outcome::LeftOut("left out, because another thread of that name is there already".to_owned())
            }
        }),
        false => copy(from, to, thread, told).await,
    };
    match outcome {
        Err(Error::RunActive(run)) => {
            Ok(Outcome::LeftOut(format!("left out, because a run of it goes on. run={run}")))
        }
        // What is wrong with one thread is no reason to keep back the others.
        Err(error) if !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Indeterminate) => {
            Ok(Outcome::LeftOut(format!("left out: {error}")))
        }
        outcome => outcome,
    }
}

async fn copy(from: &Engine, to: &Engine, thread: &ThreadKey, told: &dyn Fn(u64)) -> Result<Outcome, Error> {
    let copied = from.copy_thread(thread, to, told).await?;
    if are_same(from, to, thread).await? {
        return Ok(Outcome::Copied(copied));
    }
    // A copy that is none must not look like one.
    to.delete(thread).await?;
    Ok(Outcome::LeftOut("left out, because it has changed while it was copied".to_owned()))
}

async fn are_same(from: &Engine, to: &Engine, thread: &ThreadKey) -> Result<bool, Error> {
    Ok(from.export_digest(thread).await? == to.export_digest(thread).await?)
}
