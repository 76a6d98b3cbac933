//! Checksums that begin with the store's salt.

use super::Position;

/// A store's random bytes. Whoever does not know them cannot make bytes that pass for a frame of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 8]);

impl Salt {
    /// What checksums of entries and sidecars begin with.
    pub(super) fn seed(self) -> u32 {
        crc32c::crc32c(&self.0)
    }

    /// What the checksum of a group begins with that is at this position.
    pub(super) fn group_seed(self, at: Position) -> u32 {
        let segment = crc32c::crc32c_append(self.seed(), &at.segment.to_le_bytes());
        crc32c::crc32c_append(segment, &at.byte.to_le_bytes())
    }
}

pub(super) fn checksum(seed: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(seed, bytes)
}
