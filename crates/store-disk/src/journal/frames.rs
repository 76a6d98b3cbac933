//! Entries on their way to the journal.

use super::checksum::checksum;
use super::entry::EntryHead;
use super::{Position, Salt};

/// Encoded entries that are committed together: after a crash all of them are there, or none.
#[derive(Debug)]
pub struct Frames {
    seed: u32,
    bytes: Vec<u8>,
    entries: u32,
}

impl Frames {
    pub(super) fn new(salt: Salt) -> Self {
        Self { seed: salt.seed(), bytes: Vec::new(), entries: 0 }
    }

    /// Encodes an entry behind those that are there. What is returned is for [`Committed::position`].
    pub fn push(&mut self, head: &EntryHead, body: &[u8]) -> u32 {
        let start = self.bytes.len();
        self.bytes.reserve(super::format::ENTRY_HEAD_BYTES_MAX + body.len());
        self.bytes.extend([0; 4]);
        head.put(body.len(), &mut self.bytes);
        self.bytes.extend_from_slice(body);
        let (stored, rest) = self.bytes[start..].split_first_chunk_mut().expect("its space was just made");
        *stored = checksum(self.seed, rest).to_le_bytes();
        self.entries += 1;
        // What is longer than that is refused as a whole.
        u32::try_from(start).unwrap_or(u32::MAX)
    }

    /// How many bytes they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many entries there are.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

/// Frames that are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the group that they are in.
    pub group: u64,
    /// Where the first entry is.
    pub start: Position,
}

impl Committed {
    /// Where the entry is for which [`Frames::push`] returned `start`.
    #[must_use]
    pub fn position(&self, start: u32) -> Position {
        Position { byte: self.start.byte + start, ..self.start }
    }
}
