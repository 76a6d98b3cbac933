//! P3: writes and syncs that fail.

use super::history::{commit, frames, hold, options, recover, reopen, submit};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::journal::format::SPARE_NAME;
use crate::journal::{CommitError, Committed, Journal, SubmitError};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

const SEGMENT_BYTES: u32 = 4096;
const ENTRIES: u64 = 220;

#[derive(Debug, Clone, Copy)]
enum At {
    Write(u64),
    Sync(u64),
}

/// Submits as [`commit`] does; a journal that takes nothing more is as good as one that has not written it.
fn try_commit(journal: &Journal, n: u64) -> Result<Committed, CommitError> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    match journal.submit(frames([n]), move |result| sender.send(result).unwrap()) {
        Ok(()) => receiver.recv().unwrap(),
        Err(SubmitError::Unavailable(failure)) => Err(CommitError::Unavailable(failure)),
        Err(error) => panic!("{error:?}"),
    }
}

/// Writes the history with one fault in it, and returns how many commits went well before.
fn run(disk: &SimDisk, at: At, error: ErrorKind) -> u64 {
    let segment_writes = Arc::new(Mutex::new(0u64));
    let counted = Arc::clone(&segment_writes);
    disk.on_operation(move |_, operation| {
        let is_segment = operation.file.as_ref().is_some_and(|file| file.ends_with(".log"));
        *counted.lock().unwrap() += u64::from(is_segment);
    });
    match at {
        At::Write(nth) => disk.fail_write(nth, error),
        At::Sync(nth) => disk.fail_sync(nth, error),
    }
    let Ok((journal, _)) = Journal::open(Arc::new(disk.clone()), &options(SEGMENT_BYTES), |_| {}) else {
        return 0;
    };
    let mut positions = Vec::new();
    let mut failed = None;
    for n in 0..ENTRIES {
        let is_down = failed.is_some();
        let before = *segment_writes.lock().unwrap();
        match try_commit(&journal, n) {
            Ok(committed) => {
                assert!(!is_down, "nothing goes well after a failure");
                positions.push(committed.start);
            }
            Err(CommitError::Indeterminate(_)) => {
                assert!(!is_down, "only the group that was being written is uncertain");
                failed = Some(n);
            }
            Err(CommitError::Unavailable(_)) => failed = failed.or(Some(n)),
        }
        if is_down {
            assert_eq!(*segment_writes.lock().unwrap(), before, "nothing is tried again");
        }
    }
    assert_eq!(journal.health().failure.is_some(), failed.is_some());
    for (n, position) in (0..).zip(&positions) {
        assert_eq!(journal.read(*position).unwrap().head.first, n, "reading stays possible");
    }
    assert_eq!(journal.close().is_err(), failed.is_some() || journal.health().failure.is_some());
    disk.on_operation(|_, _| {});
    positions.len() as u64
}

fn assert_survives(disk: &SimDisk, acked: u64, seed: u64) {
    for image in disk.crash_images(seed, 4).step_by(7) {
        let reopened = recover(&image, SEGMENT_BYTES).unwrap();
        assert!(reopened.entries.len() as u64 >= acked);
        assert_eq!(reopened.recovery.damages, []);
    }
    // Without a crash the system still shows what it may not have written. Once it was shown it must last.
    let shown = disk.fork();
    let (journal, reopened) = reopen(&shown, SEGMENT_BYTES);
    let found = reopened.entries.len() as u64;
    assert_eq!(reopened.entries, (0..found).collect::<Vec<_>>());
    assert!(found >= acked && found <= acked + 1, "{found} of {acked}");
    commit(&journal, [found]).unwrap();
    for image in shown.crash_images(seed, 4).step_by(7) {
        let reopened = recover(&image, SEGMENT_BYTES).unwrap();
        assert_eq!(reopened.entries, (0..=found).collect::<Vec<_>>());
        assert_eq!(reopened.recovery.damages, []);
    }
}

fn for_every_n(at: fn(u64) -> At) {
    let mut hit = 0;
    for nth in 1..=200 {
        for error in [ErrorKind::Other, ErrorKind::StorageFull] {
            let disk = SimDisk::new();
            let acked = run(&disk, at(nth), error);
            hit += u32::from(acked < ENTRIES);
            assert!(!disk.has_fault(), "the history is long enough: {nth}");
            assert_survives(&disk, acked, nth);
        }
    }
    assert!(hit > 200, "{hit} faults were in the way of a commit");
}

#[test]
fn p3_a_write_that_fails_is_never_acknowledged_nor_tried_again() {
    for_every_n(At::Write);
}

#[test]
fn p3_a_sync_that_fails_is_never_acknowledged_nor_tried_again() {
    for_every_n(At::Sync);
}

#[test]
fn p3_a_full_disk_is_never_acknowledged() {
    for capacity in (0..60).map(|n| n * 997) {
        let disk = SimDisk::new();
        disk.set_capacity(capacity);
        let Ok((journal, _)) = Journal::open(Arc::new(disk.clone()), &options(SEGMENT_BYTES), |_| {}) else {
            continue;
        };
        let acked = (0..ENTRIES).take_while(|n| try_commit(&journal, *n).is_ok()).count() as u64;
        let is_full = journal.health().failure.is_some();
        assert!(acked == ENTRIES || is_full);
        drop(journal);
        // Half a spare segment would keep it full.
        assert!(!is_full || !disk.list().unwrap().contains(&SPARE_NAME.to_owned()), "{capacity}");
        let roomier = disk.fork();
        roomier.set_capacity(1 << 30);
        assert_survives(&roomier, acked, capacity as u64);
    }
}

#[test]
fn only_the_group_that_was_being_written_is_uncertain() {
    let disk = SimDisk::new();
    let (journal, _) = Journal::open(Arc::new(disk.clone()), &options(1 << 16), |_| {}).unwrap();
    let held = hold(&journal, 0);
    journal.settle();
    let first = submit(&journal, frames([1]));
    let second = submit(&journal, frames([2]));
    disk.fail_sync(1, ErrorKind::Other);
    drop(held);
    assert!(matches!(first.recv().unwrap(), Err(CommitError::Indeterminate(_))));
    assert!(matches!(second.recv().unwrap(), Err(CommitError::Indeterminate(_))));
    let refused = journal.submit(frames([3]), |_| panic!("refused"));
    assert!(matches!(refused, Err(SubmitError::Unavailable(_))));
    let failure = journal.health().failure.expect("it says so");
    assert_eq!(failure.to_string(), "a sync failed. file=seg-0000000000000001.log");
}

#[test]
fn what_comes_while_a_new_segment_fails_is_refused() {
    let disk = SimDisk::new();
    let (journal, _) = Journal::open(Arc::new(disk.clone()), &options(SEGMENT_BYTES), |_| {}).unwrap();
    let journal = Arc::new(journal);
    let held = hold(&journal, 0);
    journal.settle();
    let too_long = submit(&journal, frames([3, 3, 3, 3, 5]));
    // Submitted by the committer's own hand, after it has taken what waits.
    let late = Arc::new(Mutex::new(None));
    let (submitter, outcome) = (Arc::clone(&journal), Arc::clone(&late));
    disk.on_operation(move |_, operation| {
        if operation.what == "write" {
            *outcome.lock().unwrap() = Some(submit(&submitter, frames([9])));
        }
    });
    disk.fail_sync(1, ErrorKind::Other);
    drop(held);
    assert!(matches!(too_long.recv().unwrap(), Err(CommitError::Unavailable(_))), "it was not begun");
    let late = late.lock().unwrap().take().expect("it was submitted");
    assert!(matches!(late.recv().unwrap(), Err(CommitError::Unavailable(_))));
    assert_eq!(
        journal.health().failure.unwrap().to_string(),
        "a new segment failed. file=seg-0000000000000002.log"
    );
    disk.on_operation(|_, _| {});
}

#[test]
fn a_completion_that_panics_stops_the_journal_and_nobody_waits() {
    let disk = SimDisk::new();
    let (journal, _) = Journal::open(Arc::new(disk), &options(1 << 16), |_| {}).unwrap();
    let held = hold(&journal, 0);
    journal.submit(frames([1]), |_| panic!("as it should in this test")).unwrap();
    let of_the_same_group = submit(&journal, frames([2]));
    drop(held);
    assert!(matches!(of_the_same_group.recv().unwrap(), Err(CommitError::Indeterminate(_))));
    assert!(journal.close().is_err());
    assert!(matches!(journal.submit(frames([3]), |_| {}), Err(SubmitError::Unavailable(_))));
}
