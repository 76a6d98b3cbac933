//! Rotation, and sidecars that are missing, damaged or stale.

use super::history::{SALT, commit, create, options, recover, reopen};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::journal::format::sidecar_name;
use crate::journal::sidecar::{Covers, Sidecar, SidecarBuilder};
use crate::journal::{DamageKind, Finding, Journal, Known, Salt, check};
use std::sync::Arc;

const SEGMENT_BYTES: u32 = 4096;

/// A closed journal whose full segments have sidecars, and how many segments there are.
fn rotated() -> (SimDisk, u64) {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    for n in 0..30 {
        commit(&journal, [n]).unwrap();
    }
    journal.settle();
    journal.close().unwrap();
    let last = journal.segments().last().unwrap().number;
    drop(journal);
    let disk = disk.fork();
    if disk.list().unwrap().contains(&"spare.tmp".to_owned()) {
        disk.remove("spare.tmp").unwrap();
    }
    assert_eq!(check(&disk, None, Known::default()).unwrap(), []);
    (disk, last)
}

#[test]
fn with_sidecars_only_the_last_segment_is_read() {
    let (disk, last) = rotated();
    let (_, reopened) = reopen(&disk, SEGMENT_BYTES);
    assert_eq!(reopened.recovery.scanned, [last]);
    assert_eq!(reopened.entries, (0..30).collect::<Vec<_>>());
    assert!(reopened.bodiless > 5, "only facts have bodies in sidecars");
}

#[test]
fn a_sidecar_that_is_missing_is_made_again() {
    let (disk, last) = rotated();
    let made = disk.bytes(&sidecar_name(2));
    disk.remove(&sidecar_name(2)).unwrap();
    assert_eq!(check(&disk, None, Known::default()).unwrap(), [Finding::SidecarMissing { segment: 2 }]);
    let (journal, reopened) = reopen(&disk, SEGMENT_BYTES);
    assert_eq!(reopened.recovery.scanned, [2, last]);
    assert_eq!(reopened.entries, (0..30).collect::<Vec<_>>());
    journal.settle();
    assert_eq!(disk.bytes(&sidecar_name(2)), made);
}

#[test]
fn a_sidecar_that_is_damaged_is_not_believed() {
    let (disk, last) = rotated();
    let whole = disk.bytes(&sidecar_name(2));
    for bit in 0..8 * whole.len() {
        disk.flip_bit(&sidecar_name(2), bit);
        let reopened = recover(&disk, SEGMENT_BYTES).unwrap();
        assert_eq!(reopened.recovery.scanned, [2, last], "bit {bit}");
        assert_eq!(reopened.entries, (0..30).collect::<Vec<_>>());
        disk.flip_bit(&sidecar_name(2), bit);
    }
    for size in 0..whole.len() {
        disk.truncate(&sidecar_name(2), size);
        assert_eq!(check(&disk, None, Known::default()).unwrap(), [Finding::SidecarWrong { segment: 2 }]);
        assert_eq!(recover(&disk, SEGMENT_BYTES).unwrap().recovery.scanned, [2, last]);
        disk.set_bytes(&sidecar_name(2), whole.clone());
    }
}

#[test]
fn a_sidecar_of_something_else_is_not_believed() {
    let (disk, last) = rotated();
    let whole = disk.bytes(&sidecar_name(2));
    // Of another segment of this store.
    disk.set_bytes(&sidecar_name(2), disk.bytes(&sidecar_name(1)));
    assert_eq!(recover(&disk, SEGMENT_BYTES).unwrap().recovery.scanned, [2, last]);
    assert_eq!(check(&disk, None, Known::default()).unwrap(), [Finding::SidecarWrong { segment: 2 }]);

    // Of the same segment of another store, with the same entries.
    let other = SimDisk::new();
    let salted = crate::journal::Options { salt: Salt([9; 8]), ..options(SEGMENT_BYTES) };
    let (journal, _) = Journal::open(Arc::new(other.clone()), &salted, |_| {}).unwrap();
    for n in 0..30 {
        commit(&journal, [n]).unwrap();
    }
    journal.settle();
    disk.set_bytes(&sidecar_name(2), other.bytes(&sidecar_name(2)));
    assert_eq!(recover(&disk, SEGMENT_BYTES).unwrap().recovery.scanned, [2, last]);

    // Of the same segment when it had fewer groups.
    let Sidecar { covers, .. } = Sidecar::verified(&whole, SALT).unwrap();
    let earlier = Covers { next_group: covers.next_group - 1, ..covers };
    disk.set_bytes(&sidecar_name(2), SidecarBuilder::new().finish(earlier, SALT).unwrap());
    let reopened = recover(&disk, SEGMENT_BYTES).unwrap();
    assert_eq!((reopened.recovery.scanned, reopened.entries.len()), (vec![2, last], 30));

    // Of a segment that has lost its end since.
    disk.set_bytes(&sidecar_name(2), whole);
    disk.truncate("seg-0000000000000002.log", 3000);
    let reopened = recover(&disk, SEGMENT_BYTES).unwrap();
    assert_eq!(reopened.recovery.scanned, [2, last]);
    let kinds: Vec<_> = reopened.recovery.damages.iter().map(|damage| damage.kind).collect();
    assert_eq!(kinds, [DamageKind::Group, DamageKind::Truncated]);
}

#[test]
fn rotating_an_empty_segment_does_nothing() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    commit(&journal, [0]).unwrap();
    assert_eq!(journal.rotate().unwrap(), 2);
    assert_eq!(journal.rotate().unwrap(), 2);
    assert_eq!(commit(&journal, [1]).unwrap().start.segment, 2);
    let mut bodies = 0;
    assert_eq!(journal.scan(1, |found| bodies += found.body.map_or(0, <[u8]>::len)).unwrap(), []);
    assert_eq!(bodies, super::history::body(0).len());
}

#[test]
fn segments_are_prepared_in_the_background_and_never_reused() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    commit(&journal, [0]).unwrap();
    journal.settle();
    assert!(disk.bytes("spare.tmp").iter().all(|byte| *byte == 0));
    assert_eq!(disk.bytes("spare.tmp").len(), SEGMENT_BYTES as usize);
    assert_eq!(journal.rotate().unwrap(), 2);
    drop(journal);
    // The second segment is empty. After a crash its name could not be relied on.
    let (journal, reopened) = reopen(&disk, SEGMENT_BYTES);
    assert_eq!(reopened.entries, [0]);
    let numbers: Vec<u64> = journal.segments().iter().map(|segment| segment.number).collect();
    assert_eq!(numbers, [1, 3]);
    assert_eq!(commit(&journal, [1]).unwrap().group, 2);
}
