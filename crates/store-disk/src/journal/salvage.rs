//! Entries that are still good in damaged groups.
//!
//! A bit that flips in a group of a thousand entries must not cost the other 999: each has a checksum of its own.

use super::entry::Layout;
use super::format::{GROUP_HEADER_BYTES, GROUP_MAGIC};
use std::ops::Range;

/// How many bytes may be checksummed, for each byte that is searched, before the search is given up. Only bytes that
/// were made for it need more.
const EFFORT_MAX: usize = 256;

/// Calls `sink` with every entry in `bytes[range]` that is good, and returns the ranges in which there is none. The range begins
/// with the header of a group.
///
/// An entry counts if it follows another (or a group's header) and its checksum holds. A bad one is passed over by the length
/// that it states, if something follows there. Only if that is no help the next one is searched for; then it counts only
/// if something follows it too: one checksum among so many places could hold by chance.
pub(super) fn salvage(
    bytes: &[u8],
    range: Range<usize>,
    seed: u32,
    sink: &mut dyn FnMut(usize, &Layout),
) -> Vec<Range<usize>> {
    let area = Area { bytes: &bytes[..range.end], start: range.start, seed };
    let mut lost: Vec<Range<usize>> = Vec::new();
    let mut effort = range.len().saturating_mul(EFFORT_MAX);
    let mut at = range.start;
    while at < range.end {
        if let Some(layout) = area.entry(at) {
            sink(at, &layout);
            at += layout.end;
            continue;
        }
        let next = area.behind(at).or_else(|| area.search(at + 1, &mut effort)).unwrap_or(range.end);
        match lost.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = next,
            None => lost.push(at..next),
        }
        at = next;
    }
    lost
}

struct Area<'a> {
    bytes: &'a [u8],
    start: usize,
    seed: u32,
}

impl Area<'_> {
    fn entry(&self, at: usize) -> Option<Layout> {
        Layout::verified(self.bytes.get(at..)?, self.seed)
    }

    /// Where the group's header or the bad entry ends that is there, if something good follows.
    fn behind(&self, at: usize) -> Option<usize> {
        if at == self.start || self.bytes[at..].starts_with(&GROUP_MAGIC) {
            let entries = at + GROUP_HEADER_BYTES;
            return (self.is_good(entries) || self.stated_end(entries).is_some()).then_some(entries);
        }
        self.stated_end(at)
    }

    /// Where the entry ends by the length that it states, if something good follows.
    fn stated_end(&self, at: usize) -> Option<usize> {
        let end = at.checked_add(Layout::read(self.bytes.get(at..)?)?.end)?;
        self.is_good(end).then_some(end)
    }

    /// Whether an entry, a group or the end is there.
    fn is_good(&self, at: usize) -> bool {
        at == self.bytes.len()
            || self.bytes.get(at..).is_some_and(|rest| rest.starts_with(&GROUP_MAGIC))
            || self.entry(at).is_some()
    }

    fn search(&self, from: usize, effort: &mut usize) -> Option<usize> {
        for at in from..self.bytes.len() {
            let Some(layout) =
                Layout::read(&self.bytes[at..]).filter(|layout| at + layout.end <= self.bytes.len())
            else {
                continue;
            };
            *effort = effort.checked_sub(layout.end)?;
            if self.entry(at).is_some() && self.is_good(at + layout.end) {
                return Some(at);
            }
        }
        None
    }
}
