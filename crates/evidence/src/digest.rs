//! Digests: of an artifact, and of the records that it came from.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes, in hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// A digest over raw records: h = SHA-256(previous, offset, length, bytes), where the first previous is 32 zero bytes, and offset
/// and length are 64 bits, little-endian. Bytes as they are: any normal form of JSON makes equal what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeDigest {
    value: [u8; 32],
    first: Option<u64>,
    last: u64,
    count: u64,
}

impl RangeDigest {
    pub(crate) fn push(&mut self, offset: u64, bytes: &[u8]) {
        let mut hash = Sha256::new();
        hash.update(self.value);
        hash.update(offset.to_le_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
        self.value = hash.finalize().into();
        self.first.get_or_insert(offset);
        self.last = offset;
        self.count += 1;
    }

    pub(crate) fn range(&self) -> RawRange {
        let Self { value, first, last, count } = self;
        RawRange { first: first.unwrap_or_default(), last: *last, count: *count, digest: hex(value) }
    }
}

/// The records that an artifact came from: those of the run that have the source's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRange {
    /// The offset of the first.
    pub first: u64,
    /// The offset of the last. Those of other runs may lie between.
    pub last: u64,
    /// How many.
    pub count: u64,
    /// The digest over them.
    pub digest: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_what_is_written() {
        let mut digest = RangeDigest::default();
        digest.push(7, b"ab");
        let mut bytes = vec![0; 32];
        bytes.extend([7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(b"ab");
        assert_eq!(digest.range(), RawRange { first: 7, last: 7, count: 1, digest: sha256_hex(&bytes) });
        let one = digest.clone();
        digest.push(9, b"");
        assert_eq!((digest.range().last, digest.range().count), (9, 2));
        assert_ne!(digest.range().digest, one.range().digest);
    }
}
