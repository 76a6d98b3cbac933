//! Whether everything in a store can be read, whatever the store is.

use super::args::StoreArgs;
use super::opened::Opened;
use crate::report::Failure;
use threadline_log::thread::ThreadInfo;
use threadline_log::{Error, ErrorKind, Store};
use threadline_store_disk::doctor::{Finding, Report, Severity};

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 1024 * 1024;

/// Reads all records, requests and checkpoints, which checks what the store has put beside them.
pub(super) fn read_everything(store: &StoreArgs) -> Result<Report, Failure> {
    let opened = Opened::existing(store)?;
    let mut report = Report::default();
    for thread in opened.listed()? {
        report.threads += 1;
        match opened.wait(read_thread(opened.engine.store(), &thread, &mut report)) {
            Ok(()) => {}
            // It was deleted since it was listed.
            Err(Error::NoThread(_)) => report.threads -= 1,
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Indeterminate) => {
                return Err(error.into());
            }
            Err(error) => damage(&mut report, format!("thread={}", thread.key), &error),
        }
    }
    opened.close();
    Ok(report)
}

async fn read_thread(store: &dyn Store, thread: &ThreadInfo, report: &mut Report) -> Result<(), Error> {
    let key = &thread.key;
    let (mut next, mut gone) = (thread.offsets.start, false);
    let runs = store.runs(key).await?;
    gone |= runs.iter().any(|run| run.compacted);
    while next < thread.offsets.end {
        let page = store.read(key, next..thread.offsets.end, None, PAGE_BYTES).await?;
        for record in &page.records {
            // Where nothing was compacted, every offset has a record.
            if record.offset != next && !gone {
                damage(report, format!("thread={key}, offset={next}"), &"a record is missing");
            }
            next = record.offset + 1;
        }
        report.records += page.records.len() as u64;
        if page.next > next && !gone {
            damage(report, format!("thread={key}, offset={next}"), &"a record is missing");
        }
        next = page.next;
    }
    for run in runs {
        let place = || format!("thread={key}, run={}", run.id);
        if let Err(error) = store.request(key, run.no).await {
            damage(report, place(), &error);
        }
        if let Err(error) = store.checkpoint(key, run.no).await {
            damage(report, place(), &error);
        }
    }
    Ok(())
}

fn damage(report: &mut Report, place: String, what: &dyn std::fmt::Display) {
    report.findings.push(Finding { severity: Severity::Damage, place, what: what.to_string() });
}
