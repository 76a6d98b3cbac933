//! The header of a segment, of which there are two copies.

use super::Salt;
use super::checksum::checksum;
use super::format::{FEATURES_KNOWN, HEADER_BYTES, SEGMENT_MAGIC, VERSION};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) segment: u64,
    /// The number of the first group in it.
    pub(super) first_group: u64,
    pub(super) salt: Salt,
    pub(super) segment_bytes: u32,
}

/// What one copy of a header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderCopy {
    Valid(Header),
    /// Of a later version of this program.
    Unsupported {
        version: u16,
        features: u32,
    },
    Damaged,
}

impl Header {
    /// Both copies, as they are written.
    pub(super) fn encode(&self) -> [u8; 2 * HEADER_BYTES] {
        let mut copy = [0; HEADER_BYTES];
        copy[0..8].copy_from_slice(&SEGMENT_MAGIC);
        copy[8..10].copy_from_slice(&VERSION.to_le_bytes());
        copy[16..24].copy_from_slice(&self.segment.to_le_bytes());
        copy[24..32].copy_from_slice(&self.first_group.to_le_bytes());
        copy[32..40].copy_from_slice(&self.salt.0);
        copy[40..44].copy_from_slice(&self.segment_bytes.to_le_bytes());
        let sum = checksum(0, &copy[..508]);
        copy[508..].copy_from_slice(&sum.to_le_bytes());
        let mut both = [0; 2 * HEADER_BYTES];
        both[..HEADER_BYTES].copy_from_slice(&copy);
        both[HEADER_BYTES..].copy_from_slice(&copy);
        both
    }

    pub(super) fn decode(copy: &[u8]) -> HeaderCopy {
        let Some(copy) = copy.first_chunk::<HEADER_BYTES>() else { return HeaderCopy::Damaged };
        let u64_at =
            |at: usize| u64::from_le_bytes(*copy[at..].first_chunk().expect("fields lie in the header"));
        let u32_at =
            |at: usize| u32::from_le_bytes(*copy[at..].first_chunk().expect("fields lie in the header"));
        if copy[0..8] != SEGMENT_MAGIC || checksum(0, &copy[..508]) != u32_at(508) {
            return HeaderCopy::Damaged;
        }
        let (version, features) = (u16::from_le_bytes([copy[8], copy[9]]), u32_at(12));
        if version != VERSION || features & !FEATURES_KNOWN != 0 {
            return HeaderCopy::Unsupported { version, features };
        }
        let salt = Salt(u64_at(32).to_le_bytes());
        HeaderCopy::Valid(Self {
            segment: u64_at(16),
            first_group: u64_at(24),
            salt,
            segment_bytes: u32_at(40),
        })
    }
}
