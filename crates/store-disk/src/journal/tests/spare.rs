//! The next segment is made as the active one is used.

use super::history::{self, create, options, recover, sized_frames, submit};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::journal::Journal;
use crate::journal::format::SPARE_NAME;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MIB: usize = 1 << 20;
const SEGMENT_BYTES: u32 = 8 << 20;
/// What one entry is longer than that is less than a thousandth.
const ENTRY_BYTES: usize = 256 << 10;

fn commit(journal: &Journal) {
    submit(journal, sized_frames(ENTRY_BYTES)).recv().unwrap().unwrap();
}

#[test]
fn a_spare_grows_with_what_is_used_and_is_whole_when_it_is_needed() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    for entries in 1..10 {
        commit(&journal);
        journal.settle();
        let allowed = MIB + 2 * entries * ENTRY_BYTES;
        assert_eq!(disk.bytes(SPARE_NAME).len(), allowed / MIB * MIB, "entries={entries}");
    }
    // Whoever has time waits for the rest.
    assert_eq!(journal.rotate().unwrap(), 2);
    assert_eq!(disk.bytes("seg-0000000000000002.log").len(), 8 * MIB);
    for _ in 0..40 {
        commit(&journal);
    }
    assert_eq!(journal.segments().len(), 3, "and so on");
}

#[test]
fn the_committer_does_not_wait_for_zeros() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    commit(&journal);
    journal.settle();
    let holes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&holes);
    disk.on_operation(move |_, operation| {
        count.fetch_add(usize::from(operation.what == "set_size"), Ordering::SeqCst);
    });
    // More than is left in the segment.
    submit(&journal, sized_frames(8 * MIB - 4096)).recv().unwrap().unwrap();
    assert_eq!(holes.load(Ordering::SeqCst), 1);
    assert_eq!(journal.segments().len(), 2);
    assert_eq!(disk.bytes("seg-0000000000000002.log").len(), 8 * MIB);
    drop(journal);
    let mut entries = 0;
    let (_, recovery) = Journal::open(Arc::new(disk), &options(SEGMENT_BYTES), |_| entries += 1).unwrap();
    assert_eq!((entries, recovery.damages), (2, vec![]));
}

#[test]
fn whoever_orders_a_new_segment_does_not_touch_the_one_that_the_committer_takes() {
    const SHORT: u32 = 4096;
    let disk = SimDisk::new();
    let journal = create(&disk, SHORT);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    journal.rotate().unwrap();
                }
            });
        }
        for n in 0..2_000 {
            history::commit(&journal, [n]).unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
    });
    journal.close().unwrap();
    drop(journal);
    let found = recover(&disk, SHORT).unwrap();
    assert_eq!((found.entries, found.recovery.damages), ((0..2_000).collect(), vec![]));
}

#[test]
fn a_segment_without_entries_is_not_left() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    assert_eq!(journal.rotate().unwrap(), 1);
    assert!(!disk.list().unwrap().iter().any(|name| name == SPARE_NAME), "and nothing is made for it");
    commit(&journal);
    assert_eq!(journal.rotate().unwrap(), 2);
    assert_eq!(journal.rotate().unwrap(), 2);
}

#[test]
fn sidecars_do_not_wait_for_a_spare() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    commit(&journal);
    journal.rotate().unwrap();
    journal.settle();
    assert!(disk.bytes(SPARE_NAME).len() < 8 * MIB);
    assert!(!disk.bytes("seg-0000000000000001.idx").is_empty());
}

#[test]
fn nobody_waits_for_a_keeper_that_is_gone() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    disk.on_operation(|_, _| assert_ne!(std::thread::current().name(), Some("journal-keeper")));
    commit(&journal);
    assert_eq!(journal.rotate().unwrap(), 2);
    commit(&journal);
    assert_eq!(journal.rotate().unwrap(), 3);
    journal.close().unwrap();
}

#[test]
fn closing_does_not_wait_for_a_spare() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    commit(&journal);
    journal.settle();
    journal.close().unwrap();
    assert!(!disk.list().unwrap().iter().any(|name| name == SPARE_NAME));
    assert_eq!(journal.health().background, None, "nothing is wrong");
}
