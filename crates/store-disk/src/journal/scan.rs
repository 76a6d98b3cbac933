//! Following the groups of a segment, past damage, to its end.

use super::damage::{Cut, Damage, DamageKind};
use super::entry::{Found, Layout};
use super::format::{GROUP_HEADER_BYTES, GROUP_MAGIC};
use super::group::Group;
use super::salvage::salvage;
use super::{Position, Salt};
use std::ops::Range;

/// How many zeros are looked at, behind the last byte of a damaged end that is none, for the end of an entry.
const ZEROS_MAX: u32 = 4096;

/// What is known of a segment's end before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is the last one: a group may be torn, unless it has the entry that begins at `durable`. Zero if no such entry is known.
    Open { durable: u32 },
    /// The next segment begins with that group: everything was durable.
    Until(u64),
    /// There is a next segment, whose header cannot be read: everything was durable.
    Durable,
}

/// A segment that is to be scanned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) segment: u64,
    /// The whole file.
    pub(super) bytes: &'a [u8],
    pub(super) salt: Salt,
    /// How long the file should be.
    pub(super) segment_bytes: u32,
    pub(super) bound: Bound,
}

/// What a scan found, besides the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scanned {
    /// The number of the group that comes next, unless there is no group and the first is not known.
    pub(super) next_group: Option<u64>,
    /// The byte behind the last group.
    pub(super) end: u32,
    /// Where the last group is, and how many entries it has.
    pub(super) last: Option<(Range<u32>, u32)>,
    pub(super) damages: Vec<Damage>,
    pub(super) cut: Option<Cut>,
}

impl Scanned {
    /// Nothing yet, but for groups that end there.
    pub(super) fn new(next_group: Option<u64>, end: u32) -> Self {
        Self { next_group, end, last: None, damages: Vec::new(), cut: None }
    }

    /// A group is there.
    pub(super) fn passed(&mut self, at: u32, group: &Group) {
        self.end = at + group.bytes;
        self.next_group = Some(group.number + 1);
        self.last = Some((at..self.end, group.entries));
    }
}

impl Scan<'_> {
    /// Goes on where `scanned` ends, and calls `sink` with every entry in order.
    pub(super) fn run(&self, mut scanned: Scanned, sink: &mut dyn FnMut(Found<'_>)) -> Scanned {
        while let Some((at, group)) = self.next_group(&scanned) {
            if at != scanned.end {
                self.damaged(&mut scanned, at, group.number, sink);
            } else if let Some(expected) = scanned.next_group.filter(|expected| *expected < group.number) {
                scanned.damages.push(self.damage(DamageKind::Missing, at..at, expected..group.number));
            }
            self.entries(at, &group, &mut scanned, sink);
            scanned.passed(at, &group);
        }
        self.finish(&mut scanned, sink);
        scanned
    }

    /// The group at the end of what was scanned, or a later one that says that what lies between was durable.
    fn next_group(&self, scanned: &Scanned) -> Option<(u32, Group)> {
        let end = self.at(scanned.end);
        let expected = scanned.next_group.unwrap_or(0);
        let rest = self.bytes.get(scanned.end as usize..)?;
        if let Some(group) = Group::verified(rest, end, self.salt).filter(|group| group.number >= expected) {
            return Some((end.byte, group));
        }
        memchr::memmem::find_iter(rest, &GROUP_MAGIC).find_map(|found| {
            let at = self.at(scanned.end + u32::try_from(found).ok()?);
            let group = Group::read(&rest[found..])?;
            let plausible = group.number >= expected && group.watermark > end && group.watermark <= at;
            (plausible && group.is_valid(&rest[found..], at, self.salt)).then_some((at.byte, group))
        })
    }

    fn at(&self, byte: u32) -> Position {
        Position { segment: self.segment, byte }
    }

    fn damage(&self, kind: DamageKind, bytes: Range<u32>, groups: Range<u64>) -> Damage {
        Damage { kind, segment: self.segment, bytes, groups }
    }

    fn found<'a>(&'a self, start: usize, layout: &Layout) -> Found<'a> {
        Found {
            position: self.at(u32::try_from(start).expect("segments are shorter than 4 GiB")),
            head: layout.head,
            body_bytes: layout.body_bytes(),
            body: Some(&self.bytes[start + layout.body_start..start + layout.end]),
        }
    }

    /// The entries of a group whose checksum holds.
    fn entries(&self, at: u32, group: &Group, scanned: &mut Scanned, sink: &mut dyn FnMut(Found<'_>)) {
        let end = (at + group.bytes) as usize;
        let mut start = at as usize + GROUP_HEADER_BYTES;
        for _ in 0..group.entries {
            let Some(layout) =
                Layout::read(&self.bytes[start..end]).filter(|layout| start + layout.end <= end)
            else {
                let bytes = u32::try_from(start).expect("segments are shorter than 4 GiB")..at + group.bytes;
                scanned.damages.push(self.damage(DamageKind::Group, bytes, group.number..group.number + 1));
                return;
            };
            sink(self.found(start, &layout));
            start += layout.end;
        }
    }

    /// What was durable, from the end of what was scanned up to `to`, where the group `next` begins.
    fn damaged(&self, scanned: &mut Scanned, to: u32, next: u64, sink: &mut dyn FnMut(Found<'_>)) {
        let start = scanned.end;
        let range = start as usize..to as usize;
        let lost = salvage(self.bytes, range, self.salt.seed(), &mut |start, layout| {
            sink(self.found(start, layout))
        });
        let mut lost: Vec<Range<u32>> = lost.into_iter().map(u32_range).collect();
        let first = scanned.next_group.unwrap_or(next);
        // If something else explains that the checksum of the group does not hold, its header is taken for good.
        let header_end = start + u32::try_from(GROUP_HEADER_BYTES).expect("it is short");
        let is_header_alone = matches!(&lost[..], [only] if only.end <= header_end);
        let header = Group::read(&self.bytes[start as usize..]);
        if header.is_some_and(|group| group.number == first && start.checked_add(group.bytes) == Some(to))
            && !is_header_alone
        {
            lost.iter_mut().for_each(|bytes| bytes.start = bytes.start.max(header_end));
            lost.retain(|bytes| !bytes.is_empty());
        }
        let damage = |bytes| self.damage(DamageKind::Group, bytes, first..next);
        scanned.damages.extend(lost.into_iter().map(damage));
    }

    /// What is behind the last group.
    fn finish(&self, scanned: &mut Scanned, sink: &mut dyn FnMut(Found<'_>)) {
        let size = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        let rest = self.bytes.get(scanned.end as usize..).unwrap_or_default();
        let used = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let used = scanned.end..scanned.end + u32::try_from(used).expect("segments are shorter than 4 GiB");
        let is_cut = size < self.segment_bytes;
        let next = scanned.next_group.unwrap_or(0);
        let missing = match self.bound {
            Bound::Until(until) => next..until.max(next),
            Bound::Durable if !used.is_empty() => next..next + 1,
            Bound::Open { durable } if durable >= scanned.end => next..next + 1,
            Bound::Durable | Bound::Open { .. } => next..next,
        };
        // Groups begin with something else than a zero: one that is there shows that none was cut off.
        let nothing_was_cut_off = rest.first() == Some(&0);
        if !missing.is_empty() {
            if used.is_empty() {
                let kind = if is_cut { DamageKind::Truncated } else { DamageKind::Missing };
                scanned.damages.push(self.damage(
                    kind,
                    scanned.end..self.segment_bytes.max(scanned.end),
                    missing.clone(),
                ));
            } else {
                // The last entry may end with zeros.
                let to = used.end.saturating_add(ZEROS_MAX).min(size);
                self.damaged(scanned, to, missing.end, sink);
                scanned.damages.retain_mut(|damage| {
                    damage.bytes.end = damage.bytes.end.min(used.end);
                    !damage.bytes.is_empty() || damage.kind != DamageKind::Group
                });
                scanned.end = used.end;
                if is_cut {
                    scanned.damages.push(self.damage(
                        DamageKind::Truncated,
                        size..self.segment_bytes,
                        missing.clone(),
                    ));
                }
            }
            scanned.next_group = Some(missing.end);
        } else if is_cut && !nothing_was_cut_off {
            let bytes = scanned.end..self.segment_bytes.max(scanned.end);
            scanned.damages.push(self.damage(DamageKind::Truncated, bytes, missing));
        } else if !matches!(self.bound, Bound::Open { .. }) && !used.is_empty() {
            scanned.damages.push(self.damage(DamageKind::Slack, used, missing));
        } else if is_cut {
            scanned.damages.push(self.damage(DamageKind::Slack, size..self.segment_bytes, missing));
        } else if !used.is_empty() {
            scanned.cut = Some(Cut { segment: self.segment, bytes: used });
        }
    }
}

fn u32_range(range: Range<usize>) -> Range<u32> {
    let bound = |at| u32::try_from(at).expect("segments are shorter than 4 GiB");
    bound(range.start)..bound(range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: Salt = Salt([5; 8]);

    /// A segment with empty groups at these bytes, with these numbers and watermarks.
    fn segment(groups: &[(u32, u64, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        for (at, number, watermark) in groups {
            let position = |byte| Position { segment: 1, byte };
            let group = &mut bytes[*at as usize..][..GROUP_HEADER_BYTES];
            Group::seal(group, *number, 0, position(*watermark), SALT, position(*at));
        }
        bytes
    }

    fn scan(bytes: &[u8], bound: Bound) -> Scanned {
        let scan = Scan { segment: 1, bytes, salt: SALT, segment_bytes: 4096, bound };
        scan.run(Scanned::new(Some(7), 1024), &mut |_| panic!("there are no entries"))
    }

    #[test]
    fn a_hole_is_a_torn_tail_unless_a_watermark_lies_beyond_it() {
        // Groups 8 and 9 were written without waiting for each other, and 8 did not get there.
        let torn = segment(&[(1024, 7, 1024), (1100, 9, 1060)]);
        let scanned = scan(&torn, Bound::Open { durable: 0 });
        assert_eq!((scanned.end, scanned.next_group), (1060, Some(8)));
        assert_eq!(scanned.cut.map(|cut| cut.bytes.start), Some(1060));
        assert!(scanned.damages.is_empty());

        let damaged = segment(&[(1024, 7, 1024), (1100, 9, 1060), (1136, 10, 1136)]);
        let scanned = scan(&damaged, Bound::Open { durable: 0 });
        assert_eq!((scanned.end, scanned.next_group, &scanned.cut), (1172, Some(11), &None));
        assert!(scanned.damages.iter().all(|damage| damage.groups == (8..10)) && !scanned.damages.is_empty());
    }

    #[test]
    fn a_torn_tail_is_damage_where_something_was_durable() {
        // The group 8 began at 1060: nothing is left of it, or a bit has flipped.
        let nothing = segment(&[(1024, 7, 1024)]);
        let mut flipped = segment(&[(1024, 7, 1024), (1060, 8, 1060)]);
        flipped[1080] ^= 1;
        for (bytes, kind) in [(nothing, DamageKind::Missing), (flipped, DamageKind::Group)] {
            for durable in [0, 1024, 1059] {
                let scanned = scan(&bytes, Bound::Open { durable });
                assert_eq!((scanned.next_group, &scanned.damages[..]), (Some(8), &[][..]), "{durable}");
            }
            for durable in [1060, 2000] {
                let scanned = scan(&bytes, Bound::Open { durable });
                let told = scanned
                    .damages
                    .iter()
                    .map(|damage| (damage.kind, damage.bytes.start, damage.groups.clone()));
                assert_eq!(told.collect::<Vec<_>>(), [(kind, 1060, 8..9)], "{durable}");
                assert_eq!((scanned.next_group, scanned.cut), (Some(9), None), "{durable}");
            }
        }
    }

    #[test]
    fn numbers_that_are_left_out_are_told() {
        let scanned = scan(&segment(&[(1024, 7, 1024), (1060, 9, 1060)]), Bound::Until(12));
        let told: Vec<_> =
            scanned.damages.iter().map(|damage| (damage.kind, damage.groups.clone())).collect();
        assert_eq!(told, [(DamageKind::Missing, 8..9), (DamageKind::Missing, 10..12)]);
        assert_eq!(scanned.next_group, Some(12));
    }
}
