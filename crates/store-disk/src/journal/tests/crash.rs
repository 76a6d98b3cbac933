//! P2: power cuts.

use super::history::{Outcome, commit, create, frames, recover, reopen, submit};
use crate::fs::Disk;
use crate::fs::sim::{Operation, SimDisk};
use crate::journal::{Journal, Known, check};
use crate::tests::flags;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Something that is written.
struct History {
    segment_bytes: u32,
    /// How many entries there may be.
    is_whole: fn(u64) -> bool,
    /// Writes it, and says after every commit how many entries were acknowledged.
    write: fn(&Journal, &AtomicU64),
}

/// Many groups and several segments; a power cut finds a few sectors that are not durable.
const SMALL: History = History {
    segment_bytes: 4096,
    is_whole: |entries| entries.is_multiple_of(2),
    write: |journal, acked| {
        let entries = |n: u64| 2 * n..2 * n + 2;
        for round in 0..4u64 {
            for n in 5 * round..5 * round + 3 {
                commit(journal, entries(n)).unwrap();
                acked.store(entries(n).end, Ordering::SeqCst);
            }
            // These two may share a group.
            let (a, b) = (5 * round + 3, 5 * round + 4);
            let outcomes = [a, b].map(|n| submit(journal, frames(entries(n))));
            outcomes.iter().for_each(|outcome: &Outcome| _ = outcome.recv().unwrap().unwrap());
            acked.store(entries(b).end, Ordering::SeqCst);
            if round == 2 {
                journal.rotate().unwrap();
                journal.settle();
            }
        }
        let oldest = journal.start().segment;
        journal.settle();
        assert!(journal.segments().len() > 3 && oldest == 1);
    },
};

/// How many entries there are after each group of the wide history, whose sectors are some 11, 27, 2 and 13.
const WIDE_ENDS: [u64; 5] = [0, 22, 86, 88, 120];

/// Groups of many sectors.
const WIDE: History = History {
    segment_bytes: 20 << 10,
    is_whole: |entries| WIDE_ENDS.contains(&entries),
    write: |journal, acked| {
        for ends in WIDE_ENDS.windows(2) {
            commit(journal, ends[0]..ends[1]).unwrap();
            acked.store(ends[1], Ordering::SeqCst);
        }
        journal.settle();
    },
};

/// A disk as it was after some operation, and how many entries had been acknowledged before.
struct Moment {
    history: &'static History,
    acked: u64,
    operation: Operation,
    disk: SimDisk,
}

/// Writes a history and keeps the disk after every operation.
fn moments(history: &'static History) -> Vec<Moment> {
    let disk = SimDisk::new();
    let acked = Arc::new(AtomicU64::new(0));
    let moments = Arc::new(Mutex::new(Vec::new()));
    let (seen, log) = (Arc::clone(&acked), Arc::clone(&moments));
    disk.on_operation(move |disk, operation| {
        // In this order: what was acknowledged before the copy must be in the copy.
        let acked = seen.load(Ordering::SeqCst);
        log.lock().unwrap().push(Moment { history, acked, operation: operation.clone(), disk: disk.fork() });
    });
    let journal = create(&disk, history.segment_bytes);
    (history.write)(&journal, &acked);
    journal.close().unwrap();
    drop(journal);
    disk.on_operation(|_, _| {});
    Arc::into_inner(moments).map_or_else(Vec::new, |moments| moments.into_inner().unwrap())
}

/// Everything acknowledged is there, what else is there is whole and in order, and nothing is called damage.
fn assert_holds(image: &SimDisk, moment: &Moment) -> u64 {
    let reopened = recover(image, moment.history.segment_bytes)
        .unwrap_or_else(|error| panic!("{error:?} after {:?}, files {:?}", moment.operation, image.list()));
    let entries = u64::try_from(reopened.entries.len()).unwrap();
    assert_eq!(reopened.entries, (0..entries).collect::<Vec<_>>(), "dense, after {:?}", moment.operation);
    assert!(entries >= moment.acked, "{} acked, {entries} found after {:?}", moment.acked, moment.operation);
    assert!((moment.history.is_whole)(entries), "submissions are whole, {entries} found");
    assert_eq!(reopened.recovery.damages, [], "after {:?}", moment.operation);
    entries
}

/// What was tried of a history.
#[derive(Debug, Default)]
struct Tried {
    moments: usize,
    images: usize,
    /// How many of them had a torn tail.
    cuts: usize,
    /// The number of things that were not durable, where they were most.
    pending_max: usize,
}

fn cut_everywhere(history: &'static History) -> Tried {
    let random_max = flags::crash_images(2000);
    let moments = moments(history);
    let mut tried = Tried { moments: moments.len(), ..Tried::default() };
    for (seed, moment) in (0..).zip(&moments) {
        let images = moment.disk.crash_images(seed, random_max);
        tried.pending_max = tried.pending_max.max(images.pending());
        for image in images {
            tried.images += 1;
            let torn = check(&image, None, Known::default()).is_ok_and(|findings| {
                findings.iter().any(|finding| matches!(finding, crate::journal::Finding::TornTail(_)))
            });
            tried.cuts += usize::from(torn);
            let entries = assert_holds(&image, moment);
            let again = recover(&image, history.segment_bytes).unwrap();
            assert_eq!(again.entries.len() as u64, entries, "what was found once stays");
            assert!(again.recovery.cut.is_none(), "the tail was cut off for good");
        }
    }
    eprintln!("{tried:?}");
    tried
}

#[test]
fn p2_every_power_cut_at_every_operation_keeps_what_was_acknowledged() {
    let tried = cut_everywhere(&SMALL);
    // How many there are depends on what the threads of the journal do at the same time.
    assert!(tried.images > 300 && tried.cuts > 50 && tried.moments > 60, "{tried:?}");
}

#[test]
fn p2_a_power_cut_in_a_group_of_many_sectors_keeps_what_was_acknowledged() {
    let tried = cut_everywhere(&WIDE);
    assert!(tried.pending_max > 12 && tried.cuts > 10, "{tried:?}");
}

#[test]
fn p2_a_power_cut_while_opening_after_a_power_cut_changes_nothing() {
    let mut opened = 0;
    let moments: Vec<_> = [&SMALL, &WIDE].into_iter().flat_map(moments).collect();
    for (seed, moment) in (0..).zip(&moments) {
        for image in moment.disk.crash_images_some(seed, 10) {
            let nested = Arc::new(Mutex::new(Vec::new()));
            let log = Arc::clone(&nested);
            image.on_operation(move |disk, _| log.lock().unwrap().push(disk.fork()));
            let entries = assert_holds(&image, moment);
            image.on_operation(|_, _| {});
            for disk in nested.lock().unwrap().drain(..) {
                for image in disk.crash_images_some(seed, 10) {
                    // What was found may be a group that was not synced; it counts only once opening has ended.
                    assert!(assert_holds(&image, moment) <= entries.max(moment.acked));
                    opened += 1;
                }
            }
            for image in image.crash_images_some(seed, 10) {
                assert_eq!(assert_holds(&image, moment), entries, "what opening has found is durable");
            }
        }
    }
    assert!(opened > 500, "{opened}");
}

#[test]
fn p2_writing_goes_on_after_any_power_cut() {
    for (seed, moment) in (0..).zip(&moments(&SMALL)) {
        for image in moment.disk.crash_images(seed, 3).step_by(9) {
            let (journal, reopened) = reopen(&image, SMALL.segment_bytes);
            let next = reopened.entries.len() as u64;
            commit(&journal, [next, next + 1]).unwrap();
            let later = Moment {
                history: &SMALL,
                acked: next + 2,
                operation: moment.operation.clone(),
                disk: image.fork(),
            };
            for image in later.disk.crash_images(seed, 3).step_by(3) {
                assert_eq!(assert_holds(&image, &later), next + 2);
            }
            journal.settle();
            journal.close().unwrap();
            assert!(
                !check(&image, None, Known::default())
                    .unwrap()
                    .iter()
                    .any(|f| matches!(f, crate::journal::Finding::Damage { .. }))
            );
        }
    }
}

#[test]
fn p2_a_hole_in_the_unsynced_tail_opens() {
    let disk = SimDisk::new();
    let journal = create(&disk, SMALL.segment_bytes);
    commit(&journal, [0, 1]).unwrap();
    let before = disk.bytes("seg-0000000000000001.log");
    commit(&journal, [2, 3, 4]).unwrap();
    drop(journal);
    let mut bytes = disk.bytes("seg-0000000000000001.log");
    let hole = 3 * 512..4 * 512;
    assert!(bytes[hole.clone()] != before[hole.clone()] && bytes[hole.end..] != before[hole.end..]);
    bytes[hole.clone()].copy_from_slice(&before[hole]);
    disk.set_bytes("seg-0000000000000001.log", bytes);
    let (journal, reopened) = reopen(&disk, SMALL.segment_bytes);
    assert_eq!(reopened.entries, [0, 1]);
    let cut = reopened.recovery.cut.expect("the hole was in the tail");
    let bytes = disk.bytes("seg-0000000000000001.log");
    assert!(bytes[cut.bytes.start as usize..].iter().all(|byte| *byte == 0), "nothing of it is left");
    assert_eq!(commit(&journal, [2]).unwrap().group, 2, "dense");
}
