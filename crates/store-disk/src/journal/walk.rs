//! Reading a segment from its file: in pieces as long as all is well, as a whole once it is not.

use super::entry::{Found, Layout};
use super::format::{GROUP_HEADER_BYTES, GROUPS_START};
use super::group::Group;
use super::scan::{Bound, Scan, Scanned};
use super::{Position, Salt};
use crate::fs::DiskFile;
use crate::priority::give_way;
use std::io;

/// How much is read at once, unless a group is longer.
pub(super) const WINDOW_BYTES: usize = 256 << 10;

/// A segment that is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) file: &'a dyn DiskFile,
    /// How much of the file there is to read.
    pub(super) size: u32,
    pub(super) segment: u64,
    pub(super) salt: Salt,
    /// The number of its first group, if that is known.
    pub(super) first_group: Option<u64>,
    /// How long the file should be.
    pub(super) segment_bytes: u32,
    pub(super) bound: Bound,
}

impl Walk<'_> {
    /// Calls `sink` with every entry in order.
    pub(super) fn run(&self, sink: &mut dyn FnMut(Found<'_>)) -> io::Result<Scanned> {
        let mut window = Window { file: self.file, size: self.size as usize, start: 0, bytes: Vec::new() };
        let mut scanned = Scanned::new(self.first_group, GROUPS_START);
        while self.step(&mut window, &mut scanned, sink)? {}
        if self.is_done(&mut window, &scanned)? {
            return Ok(scanned);
        }
        let mut bytes = vec![0; self.size as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        let scan = Scan {
            segment: self.segment,
            bytes: &bytes,
            salt: self.salt,
            segment_bytes: self.segment_bytes,
            bound: self.bound,
        };
        Ok(scan.run(scanned, sink))
    }

    /// Passes on the entries of the next group, if it is there and good.
    fn step(
        &self,
        window: &mut Window<'_>,
        scanned: &mut Scanned,
        sink: &mut dyn FnMut(Found<'_>),
    ) -> io::Result<bool> {
        let at = Position { segment: self.segment, byte: scanned.end };
        let start = at.byte as usize;
        let Some(group) = window.get(start, GROUP_HEADER_BYTES)?.and_then(Group::read) else {
            return Ok(false);
        };
        let Some(bytes) = window.get(start, group.bytes as usize)? else { return Ok(false) };
        let is_next = scanned.next_group.is_none_or(|expected| expected == group.number);
        if !is_next || !group.is_valid(bytes, at, self.salt) || !each_entry(bytes, &group, &mut |_, _| {}) {
            return Ok(false);
        }
        each_entry(bytes, &group, &mut |offset, layout| {
            sink(Found {
                position: Position { byte: at.byte + offset, ..at },
                head: layout.head,
                body_bytes: layout.body_bytes(),
                body: Some(&bytes[offset as usize + layout.body_start..offset as usize + layout.end]),
            });
        });
        scanned.passed(at.byte, &group);
        Ok(true)
    }

    /// Whether nothing but zeros follows, and no group is missing.
    fn is_done(&self, window: &mut Window<'_>, scanned: &Scanned) -> io::Result<bool> {
        let is_all = match self.bound {
            Bound::Until(until) => scanned.next_group == Some(until),
            Bound::Open { durable } => scanned.end > durable,
            Bound::Durable => true,
        };
        if !is_all || self.size != self.segment_bytes {
            return Ok(false);
        }
        let mut at = scanned.end as usize;
        while at < self.size as usize {
            let piece = WINDOW_BYTES.min(self.size as usize - at);
            let Some(bytes) = window.get(at, piece)? else { return Ok(false) };
            if bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += piece;
        }
        Ok(true)
    }
}

/// Calls `sink` with every entry of a group, and where it begins in it. False if they are not what the header says.
fn each_entry(bytes: &[u8], group: &Group, sink: &mut dyn FnMut(u32, &Layout)) -> bool {
    let mut start = GROUP_HEADER_BYTES;
    for _ in 0..group.entries {
        let layout = Layout::read(&bytes[start..]).filter(|layout| layout.end <= bytes.len() - start);
        let (Some(layout), Ok(offset)) = (layout, u32::try_from(start)) else { return false };
        sink(offset, &layout);
        start += layout.end;
    }
    start == bytes.len()
}

/// The part of a file that was read last.
struct Window<'a> {
    file: &'a dyn DiskFile,
    size: usize,
    start: usize,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// So many bytes from there; none if the file ends before.
    fn get(&mut self, at: usize, length: usize) -> io::Result<Option<&[u8]>> {
        if length > self.size.saturating_sub(at) {
            return Ok(None);
        }
        if at < self.start || at + length > self.start + self.bytes.len() {
            self.bytes.resize(length.max(WINDOW_BYTES).min(self.size - at), 0);
            self.start = at;
            give_way();
            self.file.read_exact_at(&mut self.bytes, at as u64)?;
        }
        Ok(Some(&self.bytes[at - self.start..][..length]))
    }
}
