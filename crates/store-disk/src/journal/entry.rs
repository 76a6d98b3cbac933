//! Entries: what is appended, and what is read.

use super::Position;
use super::checksum::checksum;
use super::format::{FLAG_FACT, FLAG_WEIGHT};
use threadline_log::varint;

/// What the journal knows of an entry. It gives none of it a meaning, but for two flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntryHead {
    /// What it is.
    pub kind: u8,
    /// [`FLAG_FACT`], [`FLAG_WEIGHT`], and others as the caller likes.
    pub flags: u8,
    /// The thread's number.
    pub thread: u64,
    /// The run's number.
    pub run: u64,
    /// The first offset in it.
    pub first: u64,
    /// How many offsets are in it.
    pub count: u32,
    /// The earliest time in it.
    pub time_min: i64,
    /// The latest time in it.
    pub time_max: i64,
    /// A number that is kept with it if it has [`FLAG_WEIGHT`], and else is 0.
    pub weight: u64,
}

impl EntryHead {
    /// Whether its body is in the sidecar too.
    #[must_use]
    pub fn is_fact(&self) -> bool {
        self.flags & FLAG_FACT != 0
    }

    /// Appends it as it is written in entries and sidecars.
    pub(super) fn put(&self, body_bytes: usize, bytes: &mut Vec<u8>) {
        bytes.extend([self.kind, self.flags]);
        varint::put(bytes, body_bytes as u64);
        varint::put(bytes, self.thread);
        varint::put(bytes, self.run);
        varint::put(bytes, self.first);
        varint::put(bytes, self.count.into());
        varint::put_signed(bytes, self.time_min);
        varint::put_signed(bytes, self.time_max.wrapping_sub(self.time_min));
        if self.flags & FLAG_WEIGHT != 0 {
            varint::put(bytes, self.weight);
        }
    }

    /// How many bytes [`put`](Self::put) appends.
    pub(super) fn bytes(&self, body_bytes: usize) -> usize {
        2 + varint::bytes(body_bytes as u64)
            + varint::bytes(self.thread)
            + varint::bytes(self.run)
            + varint::bytes(self.first)
            + varint::bytes(self.count.into())
            + varint::bytes_signed(self.time_min)
            + varint::bytes_signed(self.time_max.wrapping_sub(self.time_min))
            + if self.flags & FLAG_WEIGHT == 0 { 0 } else { varint::bytes(self.weight) }
    }

    /// Takes it and the length of the body from the front of `bytes`.
    pub(super) fn take(bytes: &mut &[u8]) -> Option<(Self, u32)> {
        let ([kind, flags], rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        let body_bytes = u32::try_from(varint::take(bytes)?).ok()?;
        let thread = varint::take(bytes)?;
        let run = varint::take(bytes)?;
        let first = varint::take(bytes)?;
        let count = u32::try_from(varint::take(bytes)?).ok()?;
        let time_min = varint::take_signed(bytes)?;
        let time_max = time_min.wrapping_add(varint::take_signed(bytes)?);
        let weight = if flags & FLAG_WEIGHT == 0 { 0 } else { varint::take(bytes)? };
        let (kind, flags) = (*kind, *flags);
        Some((Self { kind, flags, thread, run, first, count, time_min, time_max, weight }, body_bytes))
    }
}

/// Where the parts of an entry are, counted from its first byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) head: EntryHead,
    pub(super) body_start: usize,
    pub(super) end: usize,
}

impl Layout {
    /// Reads the head at the front of `bytes`, which need not reach to the end of the entry. Nothing is verified.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.get(4..)?;
        let (head, body_bytes) = EntryHead::take(&mut rest)?;
        let body_start = bytes.len() - rest.len();
        Some(Self { head, body_start, end: body_start.checked_add(usize::try_from(body_bytes).ok()?)? })
    }

    /// Reads and verifies the entry at the front of `bytes`.
    pub(super) fn verified(bytes: &[u8], seed: u32) -> Option<Self> {
        let layout = Self::read(bytes)?;
        let (stored, rest) = bytes.get(..layout.end)?.split_first_chunk()?;
        (checksum(seed, rest) == u32::from_le_bytes(*stored)).then_some(layout)
    }

    pub(super) fn body_bytes(&self) -> u32 {
        u32::try_from(self.end - self.body_start).expect("it was read as one")
    }
}

/// An entry that was read and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What the journal knows of it.
    pub head: EntryHead,
    bytes: Vec<u8>,
    body_start: usize,
}

impl Entry {
    /// `bytes` are the whole entry and nothing else.
    pub(super) fn verified(bytes: Vec<u8>, seed: u32) -> Option<Self> {
        let layout = Layout::verified(&bytes, seed).filter(|layout| layout.end == bytes.len())?;
        Some(Self { head: layout.head, bytes, body_start: layout.body_start })
    }

    /// The bytes that were appended.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body_start..]
    }
}

/// An entry that was found when the journal was opened or a segment scanned.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Where it is.
    pub position: Position,
    /// What the journal knows of it.
    pub head: EntryHead,
    /// The length of its body.
    pub body_bytes: u32,
    /// Its body, if it is a fact or its segment was read.
    pub body: Option<&'a [u8]>,
}
