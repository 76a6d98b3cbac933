//! Segments whose entries are kept elsewhere.

use super::history::{commit, create, recover, reopen};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::journal::{Finding, Frames, Journal, Known, ReadError, ReleaseError, SubmitError, check};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

const SEGMENT_BYTES: u32 = 4096;

/// A journal of five segments with one entry each.
fn five(disk: &SimDisk) -> Journal {
    let journal = create(disk, SEGMENT_BYTES);
    for n in 0..5 {
        commit(&journal, [n]).unwrap();
        if n < 4 {
            journal.rotate().unwrap();
        }
    }
    journal.settle();
    journal
}

fn damaged(disk: &SimDisk) -> bool {
    check(disk, None, Known::default())
        .unwrap()
        .iter()
        .any(|finding| matches!(finding, Finding::Damage { .. }))
}

#[test]
fn released_segments_are_gone_and_not_missed() {
    let disk = SimDisk::new();
    let journal = five(&disk);
    let position = crate::journal::Position { segment: 3, byte: 1060 };
    assert_eq!(journal.read(position).unwrap().head.first, 2);
    journal.release(3).unwrap();
    assert!(matches!(journal.read(position), Err(ReadError::NoSegment { segment: 3 })));
    assert_eq!(disk.bytes("seg-0000000000000003.gone").len(), 1024, "only headers are left");
    assert_eq!(journal.start().segment, 1);
    assert!(matches!(journal.release(3), Err(ReleaseError::NoSegment { segment: 3 })));
    assert!(matches!(journal.release(5), Err(ReleaseError::Active { segment: 5 })));
    journal.close().unwrap();
    drop(journal);
    assert!(!damaged(&disk));

    let (journal, reopened) = reopen(&disk, SEGMENT_BYTES);
    assert_eq!(reopened.entries, [0, 1, 3, 4]);
    assert_eq!(reopened.recovery.damages, []);
    journal.release(1).unwrap();
    journal.release(2).unwrap();
    assert_eq!(journal.start().segment, 4);
    drop(journal);
    let names = disk.list().unwrap();
    assert_eq!(names.iter().filter(|name| name.starts_with("seg-")).count(), 3, "{names:?}");
    let (journal, reopened) = reopen(&disk, SEGMENT_BYTES);
    assert_eq!(reopened.entries, [3, 4]);
    assert_eq!(journal.segments().last().unwrap().number, 5);
}

#[test]
fn p2_a_power_cut_while_releasing_leaves_the_segment_or_not() {
    for order in [[1, 2, 3], [3, 2, 1], [2, 1, 3], [2, 3, 1]] {
        let disk = SimDisk::new();
        let journal = five(&disk);
        let moments = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&moments);
        disk.on_operation(move |disk, _| log.lock().unwrap().push(disk.fork()));
        let mut durable = Vec::new();
        for number in order {
            journal.release(number).unwrap();
            for disk in moments.lock().unwrap().drain(..) {
                for image in disk.crash_images(number, 50) {
                    let found = recover(&image, SEGMENT_BYTES).unwrap();
                    assert_eq!(found.recovery.damages, [], "{order:?}");
                    let expected = |n: &u64| {
                        !durable.contains(&(n + 1)) && (n + 1 != number || found.entries.contains(n))
                    };
                    assert_eq!(found.entries, (0..5).filter(expected).collect::<Vec<_>>());
                    assert!(!damaged(&image));
                }
            }
            durable.push(number);
        }
    }
}

#[test]
fn p3_a_release_that_fails_stops_the_journal() {
    for nth in 1..=2 {
        let disk = SimDisk::new();
        let journal = five(&disk);
        if nth == 1 {
            disk.fail_write(1, ErrorKind::Other);
        } else {
            disk.fail_sync(1, ErrorKind::Other);
        }
        assert!(matches!(journal.release(2), Err(ReleaseError::Unavailable(_))));
        assert!(journal.health().failure.is_some());
        assert!(matches!(journal.submit(Frames::default(), |_| {}), Err(SubmitError::Unavailable(_))));
        assert!(matches!(journal.release(1), Err(ReleaseError::Unavailable(_))));
        drop(journal);
        let reopened = recover(&disk, SEGMENT_BYTES).unwrap();
        assert_eq!(reopened.recovery.damages, []);
        assert!(reopened.entries.len() >= 4);
    }
}
