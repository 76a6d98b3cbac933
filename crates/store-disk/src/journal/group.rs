//! Groups: what one sync makes durable.

use super::checksum::{Salt, checksum};
use super::format::{GROUP_HEADER_BYTES, GROUP_MAGIC, Position};

/// A group's header, without what follows from where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) number: u64,
    /// The header included.
    pub(super) bytes: u32,
    pub(super) entries: u32,
    /// Everything before it was durable when the group was written.
    pub(super) watermark: Position,
}

impl Group {
    /// Writes the header into the front of `group`, whose entries are there already.
    pub(super) fn seal(
        group: &mut [u8],
        number: u64,
        entries: u32,
        watermark: Position,
        salt: Salt,
        at: Position,
    ) {
        let length = u32::try_from(group.len()).expect("groups are shorter than segments");
        group[0..4].copy_from_slice(&GROUP_MAGIC);
        group[8..16].copy_from_slice(&number.to_le_bytes());
        group[16..20].copy_from_slice(&length.to_le_bytes());
        group[20..24].copy_from_slice(&entries.to_le_bytes());
        group[24..32].copy_from_slice(&watermark.segment.to_le_bytes());
        group[32..36].copy_from_slice(&watermark.byte.to_le_bytes());
        let sum = checksum(salt.group_seed(at), &group[8..]);
        group[4..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads the header at the front of `bytes`, without a look at the checksum.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; GROUP_HEADER_BYTES] = bytes.first_chunk()?;
        let watermark = Position { segment: u64_at(header, 24), byte: u32_at(header, 32) };
        let group = Self {
            number: u64_at(header, 8),
            bytes: u32_at(header, 16),
            entries: u32_at(header, 20),
            watermark,
        };
        (header[..4] == GROUP_MAGIC && group.bytes as usize >= GROUP_HEADER_BYTES).then_some(group)
    }

    /// Whether `bytes`, from which it was read, are at least the group, and its checksum holds at this position.
    pub(super) fn is_valid(&self, bytes: &[u8], at: Position, salt: Salt) -> bool {
        bytes.get(..self.bytes as usize).is_some_and(|group| {
            let stored = u32::from_le_bytes(*group[4..].first_chunk().expect("groups have a header"));
            checksum(salt.group_seed(at), &group[8..]) == stored
        })
    }

    /// Reads and verifies the group at the front of `bytes`, which is at this position.
    pub(super) fn verified(bytes: &[u8], at: Position, salt: Salt) -> Option<Self> {
        Self::read(bytes).filter(|group| group.is_valid(bytes, at, salt))
    }
}

fn u32_at(header: &[u8; GROUP_HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(*header[at..].first_chunk().expect("fields lie in the header"))
}

fn u64_at(header: &[u8; GROUP_HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(*header[at..].first_chunk().expect("fields lie in the header"))
}
