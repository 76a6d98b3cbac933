//! P4: bits that flip and files that are cut.

use super::history::{SALT, commit, create, frames, head, recover, reopen, submit};
use crate::fs::sim::SimDisk;
use crate::journal::format::{GROUP_HEADER_BYTES, GROUPS_START, segment_name};
use crate::journal::group::Group;
use crate::journal::{Damage, DamageKind, Finding, Frames, Journal, Known, Position, ReadError, check};
use std::ops::Range;

const SEGMENT_BYTES: u32 = 4096;
const FIRST: &str = "seg-0000000000000001.log";

/// A log in one segment, and where its groups and entries are.
struct Log {
    disk: SimDisk,
    /// The bytes of each group, the empty first one included.
    groups: Vec<Range<usize>>,
    /// The bytes of each entry.
    entries: Vec<Range<usize>>,
}

fn write(journal: &Journal, log: &mut Log, numbers: Range<u64>) {
    let committed = commit(journal, numbers.clone()).unwrap();
    let frames = frames(numbers);
    let first = committed.start.byte as usize;
    let end = first + frames.bytes();
    log.groups.push(first - GROUP_HEADER_BYTES..end);
    let starts: Vec<_> = committed.positions(&frames).map(|position| position.byte as usize).collect();
    let ends = starts.iter().copied().skip(1).chain([end]);
    log.entries.extend(starts.iter().copied().zip(ends).map(|(start, end)| start..end));
}

/// Three groups with 2, 3 and 2 entries behind the empty one; closed in order or not.
fn log(closed: bool) -> Log {
    let first = GROUPS_START as usize;
    let mut log = Log {
        disk: SimDisk::new(),
        groups: std::iter::once(first..first + GROUP_HEADER_BYTES).collect(),
        entries: Vec::new(),
    };
    let journal = create(&log.disk, SEGMENT_BYTES);
    for numbers in [0..2, 2..5, 5..7] {
        write(&journal, &mut log, numbers);
    }
    if closed {
        journal.close().unwrap();
        let end = log.groups[3].end;
        log.groups.push(end..end + GROUP_HEADER_BYTES);
    }
    drop(journal);
    Log { disk: log.disk.fork(), ..log }
}

fn all_but(lost: &[u64]) -> Vec<u64> {
    (0..7).filter(|n| !lost.contains(n)).collect()
}

/// What opening must say if that byte is not what it was.
fn assert_told(log: &Log, byte: usize, closed: bool) {
    let reopened = recover(&log.disk.fork(), SEGMENT_BYTES);
    let found = reopened.unwrap_or_else(|error| panic!("{error:?}, byte {byte}"));
    let (damages, cut) = (&found.recovery.damages, &found.recovery.cut);
    let group = log.groups.iter().position(|group| group.contains(&byte));
    let entry = log.entries.iter().position(|entry| entry.contains(&byte));
    let lost: Vec<u64> = entry.map(|entry| entry as u64).into_iter().collect();
    let last = log.groups.len() - 1;
    match group {
        None if byte < GROUPS_START as usize => {
            assert_eq!(found.entries, all_but(&[]));
            assert!(matches!(&damages[..], [Damage { kind: DamageKind::Header, .. }]), "{byte}: {damages:?}");
        }
        None => {
            assert_eq!(found.entries, all_but(&[]), "behind the last group");
            assert!(damages.is_empty() && cut.as_ref().is_some_and(|cut| cut.bytes.contains(&u32_of(byte))));
        }
        Some(group) if group == last => {
            // Behind the watermark: it cannot be told from a torn group.
            let expected = if closed { all_but(&[]) } else { all_but(&[5, 6]) };
            assert_eq!(found.entries, expected);
            assert!(damages.is_empty() && cut.is_some(), "{byte}");
        }
        Some(group) => {
            assert_eq!(found.entries, all_but(&lost), "{byte}: all others are unaffected");
            let [Damage { kind: DamageKind::Group, segment: 1, bytes, groups }] = &damages[..] else {
                panic!("{byte}: {damages:?}")
            };
            assert!(bytes.contains(&u32_of(byte)), "{byte}: it is told where");
            assert_eq!(*groups, group as u64..group as u64 + 1);
            assert!(cut.is_none());
        }
    }
}

fn u32_of(byte: usize) -> u32 {
    u32::try_from(byte).unwrap()
}

#[test]
fn p4_every_bit_flip_is_detected_and_told_by_the_watermark() {
    for closed in [true, false] {
        let log = log(closed);
        for bit in 0..8 * SEGMENT_BYTES as usize {
            log.disk.flip_bit(FIRST, bit);
            assert_told(&log, bit / 8, closed);
            log.disk.flip_bit(FIRST, bit);
        }
    }
}

#[test]
fn p4_every_truncation_is_detected() {
    for closed in [true, false] {
        let log = log(closed);
        let end = log.groups.last().unwrap().end;
        for size in 0..SEGMENT_BYTES as usize {
            let disk = log.disk.fork();
            disk.truncate(FIRST, size);
            let found = recover(&disk, SEGMENT_BYTES).unwrap();
            let whole = log.groups.iter().filter(|group| group.end <= size).map(|group| group.end).max();
            let kept = log.entries.iter().filter(|entry| entry.end <= whole.unwrap_or(0)).count() as u64;
            assert_eq!(found.entries, (0..kept).collect::<Vec<_>>(), "{size}");
            let kind = match size {
                // How long it should be is in neither copy of the header.
                ..512 => DamageKind::Header,
                _ if size > end => DamageKind::Slack,
                _ => DamageKind::Truncated,
            };
            let damage = found.recovery.damages.last().expect("a file that was cut is told");
            assert_eq!((damage.kind, found.recovery.cut), (kind, None), "{size}");

            // It is told again, and what is written now is not affected.
            let (journal, again) = reopen(&disk, SEGMENT_BYTES);
            assert_eq!(again.recovery.damages, found.recovery.damages, "{size}");
            commit(&journal, [100]).unwrap();
            drop(journal);
            let (_, again) = reopen(&disk, SEGMENT_BYTES);
            assert_eq!(again.recovery.damages, found.recovery.damages, "{size}");
            assert_eq!(again.entries, (0..kept).chain([100]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn p4_damage_is_never_served_and_is_left_as_it_is() {
    let log = log(true);
    let (journal, reopened) = reopen(&log.disk, SEGMENT_BYTES);
    for (entry, position) in log.entries.iter().zip(reopened.positions) {
        for byte in entry.clone() {
            log.disk.flip_bit(FIRST, 8 * byte + byte % 8);
            let error = journal.read(position).expect_err("never served");
            assert!(matches!(error, ReadError::Damaged { position: told } if told == position));
            log.disk.flip_bit(FIRST, 8 * byte + byte % 8);
        }
    }
    drop(journal);
    log.disk.flip_bit(FIRST, 8 * log.entries[3].start);
    let before = log.disk.bytes(FIRST);
    let (journal, reopened) = reopen(&log.disk, SEGMENT_BYTES);
    assert_eq!(reopened.entries, all_but(&[3]));
    assert_eq!(commit(&journal, [7]).unwrap().start.segment, 2, "writing goes on elsewhere");
    journal.close().unwrap();
    assert_eq!(log.disk.bytes(FIRST), before);
    let (_, again) = reopen(&log.disk, SEGMENT_BYTES);
    assert_eq!(again.recovery.damages, reopened.recovery.damages);
    assert_eq!(again.entries, [all_but(&[3]), vec![7]].concat());
}

#[test]
fn p4_damage_in_a_full_segment_is_told_with_its_entries_if_a_sidecar_knows() {
    let log = log(true);
    let (journal, reopened) = reopen(&log.disk, SEGMENT_BYTES);
    journal.rotate().unwrap();
    commit(&journal, [7]).unwrap();
    journal.settle();
    journal.close().unwrap();
    for (n, entry) in log.entries.iter().enumerate() {
        let disk = log.disk.fork();
        disk.flip_bit(FIRST, 8 * (entry.end - 1));
        let (journal, found) = {
            let mut entries = Vec::new();
            let disk = std::sync::Arc::new(disk.clone());
            let open = Journal::open(disk, &super::history::options(SEGMENT_BYTES), |found| {
                entries.push(found.head.first)
            });
            (open.unwrap().0, entries)
        };
        assert_eq!(found, (0..8).collect::<Vec<_>>(), "the sidecar is trusted");
        assert!(
            matches!(journal.read(reopened.positions[n]), Err(ReadError::Damaged { .. })),
            "the bytes are not"
        );
        let mut good = Vec::new();
        let damages = journal.scan(1, |found| good.push(found.head.first)).unwrap();
        assert_eq!((damages.len(), good), (1, all_but(&[n as u64])));
        drop(journal);
        let told =
            check(&disk, None, Known::default()).unwrap().into_iter().find_map(|finding| match finding {
                Finding::Damage { damage, entries } => Some((damage.segment, entries)),
                _ => None,
            });
        assert_eq!(told, Some((1, vec![(reopened.positions[n], head(n as u64))])));
    }
}

#[test]
fn a_segment_that_is_missing_is_told_and_one_without_headers_is_read() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    for n in 0..40 {
        commit(&journal, [n]).unwrap();
    }
    journal.close().unwrap();
    let (journal, whole) = reopen(&disk, SEGMENT_BYTES);
    let third: Vec<u64> = whole
        .entries
        .iter()
        .zip(&whole.positions)
        .filter(|(_, position)| position.segment == 3)
        .map(|(n, _)| *n)
        .collect();
    drop(journal);

    let without = disk.fork();
    crate::fs::Disk::remove(&without, &segment_name(3)).unwrap();
    let found = recover(&without, SEGMENT_BYTES).unwrap();
    assert_eq!(found.entries, (0..40).filter(|n| !third.contains(n)).collect::<Vec<_>>());
    let [Damage { kind: DamageKind::Missing, segment: 2, groups, .. }] = &found.recovery.damages[..] else {
        panic!("{:?}", found.recovery.damages)
    };
    assert_eq!(groups.end - groups.start, third.len() as u64);

    for number in 1..=journal_segments(&whole.positions) {
        let headless = disk.fork();
        headless.flip_bit(&segment_name(number), 100);
        headless.flip_bit(&segment_name(number), 4096 + 100);
        let found = recover(&headless, SEGMENT_BYTES).unwrap();
        assert_eq!(found.entries, (0..40).collect::<Vec<_>>(), "{number}");
        assert_eq!(found.recovery.damages.len(), 2, "both copies");
        let again = recover(&headless, SEGMENT_BYTES).unwrap();
        assert_eq!(again.entries, found.entries);
    }
}

fn journal_segments(positions: &[Position]) -> u64 {
    positions.iter().map(|position| position.segment).max().unwrap()
}

#[test]
fn what_was_written_elsewhere_is_never_a_group_here() {
    let log = log(true);
    let bytes = log.disk.bytes(FIRST);
    let group = bytes[log.groups[1].clone()].to_vec();
    let here = Position { segment: 1, byte: u32_of(log.groups[1].start) };
    assert!(Group::verified(&group, here, SALT).is_some());
    let elsewhere = [Position { segment: 2, ..here }, Position { byte: here.byte + 512, ..here }];
    for at in elsewhere {
        assert_eq!(Group::verified(&group, at, SALT), None);
    }

    // A payload that is a later group of this very log, byte for byte, does not come alive when its entry is damaged.
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    let mut with_payload = Frames::default();
    with_payload.push(head(99), bytes[log.groups[1].start..log.groups[3].end].to_vec());
    let start = submit(&journal, with_payload).recv().unwrap().unwrap().start;
    submit(&journal, frames([0])).recv().unwrap().unwrap();
    journal.close().unwrap();
    drop(journal);
    disk.flip_bit(FIRST, 8 * start.byte as usize);
    let mut found = Vec::new();
    let (_journal, recovery) =
        Journal::open(std::sync::Arc::new(disk), &super::history::options(SEGMENT_BYTES), |entry| {
            found.push(entry.position);
        })
        .unwrap();
    assert_eq!(recovery.damages.len(), 1, "{:?}", recovery.damages);
    assert_eq!(found.len(), 1, "only the entry behind");
}

#[test]
fn what_a_torn_group_left_never_appears_again() {
    let disk = SimDisk::new();
    let journal = create(&disk, SEGMENT_BYTES);
    commit(&journal, [0]).unwrap();
    commit(&journal, [1, 2, 3]).unwrap();
    drop(journal);
    // The first byte of the last group did not get there, all others did.
    let log_end = {
        let (_, reopened) = reopen(&disk.fork(), SEGMENT_BYTES);
        reopened.positions[1].byte as usize - GROUP_HEADER_BYTES
    };
    disk.flip_bit(FIRST, 8 * log_end);
    let (journal, reopened) = reopen(&disk, SEGMENT_BYTES);
    assert_eq!(reopened.entries, [0]);
    commit(&journal, [4]).unwrap();
    let end = journal.segments()[0].end as usize;
    drop(journal);
    assert!(disk.bytes(FIRST)[end..].iter().all(|byte| *byte == 0));
    for bit in 8 * log_end..8 * end {
        let disk = disk.fork();
        disk.flip_bit(FIRST, bit);
        assert_eq!(recover(&disk, SEGMENT_BYTES).unwrap().entries, [0]);
    }
}
