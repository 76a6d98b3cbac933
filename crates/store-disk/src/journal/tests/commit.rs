//! Submitting, committing and reading when all is well.

use super::history::{
    body, commit, create, frames, head, hold, recover, reopen, sized_frames as sized, submit,
};
use crate::fs::RealDisk;
use crate::fs::sim::SimDisk;
use crate::journal::format::GROUPS_START;
use crate::journal::{
    EntryHead, Finding, Frames, Journal, Known, Options, Position, ReadError, Salt, SubmitError, check,
};
use std::sync::{Arc, Mutex};

#[test]
fn what_was_committed_is_read_and_found_again() {
    let disk = SimDisk::new();
    let journal = create(&disk, 4096);
    let committed = commit(&journal, 0..3).unwrap();
    assert_eq!(committed.group, 1, "the first group is empty");
    for (n, position) in (0..).zip(committed.positions(&frames(0..3))) {
        let entry = journal.read(position).unwrap();
        assert_eq!((entry.head, entry.body()), (head(n), &body(n)[..]));
    }
}

#[test]
fn everything_comes_back_in_order_over_many_segments() {
    let disk = SimDisk::new();
    disk.shorten_writes(3);
    let journal = create(&disk, 4096);
    for n in 0..50 {
        commit(&journal, [2 * n, 2 * n + 1]).unwrap();
    }
    journal.close().unwrap();
    assert!(journal.segments().len() > 5);
    let (journal, reopened) = reopen(&disk, 4096);
    assert_eq!(reopened.entries, (0..100).collect::<Vec<_>>());
    assert!(reopened.recovery.damages.is_empty() && reopened.recovery.cut.is_none());
    assert_eq!(commit(&journal, [100]).unwrap().group, 52, "one for each commit, one first, one last");
}

#[test]
fn what_waits_goes_into_one_group_in_the_order_of_submission() {
    let disk = SimDisk::new();
    let journal = create(&disk, 1 << 16);
    let held = hold(&journal, 0);
    let told = Arc::new(Mutex::new(Vec::new()));
    for n in 1..20 {
        let told = Arc::clone(&told);
        journal.submit(frames([n]), move |done| told.lock().unwrap().push((n, done.unwrap().group))).unwrap();
    }
    drop(held);
    journal.close().unwrap();
    let expected: Vec<(u64, u64)> = (1..20).map(|n| (n, 2)).collect();
    assert_eq!(*told.lock().unwrap(), expected);
    assert_eq!(recover(&disk, 1 << 16).unwrap().entries, (0..20).collect::<Vec<_>>());
}

#[test]
fn groups_are_bounded_and_a_large_submission_goes_alone() {
    let disk = SimDisk::new();
    let limits =
        Options { group_bytes_max: 2000, group_submissions_max: 3, ..super::history::options(1 << 16) };
    let (journal, _) = Journal::open(Arc::new(disk), &limits, |_| {}).unwrap();
    let held = hold(&journal, 0);
    let sizes = [10, 10, 10, 10, 900, 1200, 700, 5000, 10];
    let outcomes: Vec<_> = sizes.map(|bytes| submit(&journal, sized(bytes))).into();
    drop(held);
    let groups: Vec<u64> = outcomes.iter().map(|outcome| outcome.recv().unwrap().unwrap().group).collect();
    assert_eq!(groups, [2, 2, 2, 3, 3, 4, 4, 5, 6]);
}

#[test]
fn what_is_too_large_or_too_much_or_too_late_is_refused() {
    let disk = SimDisk::new();
    let limits = Options { queue_bytes_max: 100, ..super::history::options(4096) };
    let (journal, _) = Journal::open(Arc::new(disk.clone()), &limits, |_| {}).unwrap();
    let largest = 4096 - 1024 - 2 * 36 - 14;
    assert!(matches!(
        journal.submit(sized(largest + 1), |_| panic!("refused")),
        Err(SubmitError::TooLarge { bytes: 3001, max: 3000 })
    ));
    submit(&journal, sized(largest)).recv().unwrap().unwrap();

    let held = hold(&journal, 0);
    journal.submit(sized(80), |done| _ = done.unwrap()).unwrap();
    assert!(matches!(journal.submit(sized(10), |_| panic!("refused")), Err(SubmitError::Full { bytes: 93 })));
    drop(held);
    journal.close().unwrap();
    assert!(matches!(journal.submit(sized(10), |_| panic!("refused")), Err(SubmitError::Closed)));
    assert!(matches!(journal.rotate(), Err(SubmitError::Closed)));
    assert_eq!(journal.segments().len(), 3, "the largest has one for itself");
    let damaged = check(&disk, None, Known::default())
        .unwrap()
        .into_iter()
        .any(|finding| matches!(finding, Finding::Damage { .. }));
    assert!(!damaged);
}

#[test]
fn reading_where_there_is_no_entry_is_an_error_that_says_where() {
    let disk = SimDisk::new();
    let journal = create(&disk, 4096);
    let start = commit(&journal, [0]).unwrap().start;
    let mut bytes = vec![start.byte + 1, start.byte - 1, GROUPS_START, 0, 4095, u32::MAX];
    bytes.extend(0..GROUPS_START);
    for byte in bytes {
        let position = Position { byte, ..start };
        let error = journal.read(position).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("damaged entry. position=seg-0000000000000001.log:{byte}"));
    }
    let error = journal.read(Position { segment: 9, ..start }).unwrap_err();
    assert_eq!(error.to_string(), "no such segment. file=seg-0000000000000009.log");
}

#[test]
fn an_entry_of_a_typical_size_costs_a_tenth_at_most_even_alone() {
    let head = EntryHead { thread: 10_000, run: 40_000, first: 100_000, count: 5, ..head(1) };
    let mut frames = Frames::default();
    frames.push(head, vec![b'x'; 800]);
    assert!(frames.bytes() + 36 <= 880, "{}", frames.bytes());
}

#[test]
fn the_real_disk_does_it_too() {
    let path = std::env::temp_dir().join(format!("threadline-journal-{}", std::process::id()));
    let disk = Arc::new(RealDisk::new(&path).unwrap());
    let options = Options { segment_bytes: 1 << 16, ..Options::new(Salt([3; 8])) };
    let (journal, _) = Journal::open(disk.clone(), &options, |_| {}).unwrap();
    for n in 0..400 {
        commit(&journal, [n]).unwrap();
    }
    journal.settle();
    journal.close().unwrap();
    drop(journal);
    assert_eq!(
        check(&*disk, None, Known::default()).unwrap(),
        [Finding::Leftover { file: "spare.tmp".to_owned() }]
    );
    let mut entries = Vec::new();
    let (journal, recovery) = Journal::open(disk, &options, |found| entries.push(found.head.first)).unwrap();
    assert_eq!(entries, (0..400).collect::<Vec<_>>());
    assert_eq!(recovery.scanned, [journal.segments().last().unwrap().number], "the others have sidecars");
    drop(journal);
    std::fs::remove_dir_all(path).unwrap();
}
