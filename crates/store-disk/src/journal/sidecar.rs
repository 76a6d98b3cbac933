//! Sidecars: what must be known of a segment that takes no more groups, without reading it.

use super::checksum::checksum;
use super::entry::{EntryHead, Found};
use super::format::{FEATURES_KNOWN, GROUPS_START, SIDECAR_MAGIC, SIDECAR_VERSION, SIDECAR_VERSION_PLAIN};
use super::{Position, Salt};
use crate::packing::pack;
use std::io;
use threadline_log::varint;

const FIXED_BYTES: usize = 48;
/// Facts are much alike, and whoever opens a store waits for it.
const ZSTD_LEVEL: i32 = 1;

/// A sidecar that is being made.
#[derive(Debug)]
pub(super) struct SidecarBuilder {
    bytes: Vec<u8>,
    entries: u32,
    last: u32,
}

/// Which groups a sidecar is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covers {
    pub(super) segment: u64,
    pub(super) first_group: u64,
    pub(super) next_group: u64,
    /// The byte behind the last group.
    pub(super) end: u32,
}

impl SidecarBuilder {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), entries: 0, last: GROUPS_START }
    }

    /// Adds an entry that was found.
    pub(super) fn push(&mut self, found: &Found<'_>) {
        let mut head = Vec::new();
        found.head.put(found.body_bytes as usize, &mut head);
        let fact = found.head.is_fact().then(|| found.body.expect("segments are scanned with bodies"));
        self.push_written(found.position.byte, &head, fact);
    }

    /// Adds an entry by its first byte in the segment, its head as it is there, and its body if it is a fact.
    pub(super) fn push_written(&mut self, byte: u32, head: &[u8], fact: Option<&[u8]>) {
        varint::put(&mut self.bytes, u64::from(byte - self.last));
        self.last = byte;
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(fact.unwrap_or_default());
        self.entries += 1;
    }

    /// The bytes of the file.
    pub(super) fn finish(self, covers: Covers, salt: Salt) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; FIXED_BYTES];
        let fixed = &mut bytes[..];
        fixed[0..8].copy_from_slice(&SIDECAR_MAGIC);
        fixed[8..10].copy_from_slice(&SIDECAR_VERSION.to_le_bytes());
        fixed[16..24].copy_from_slice(&covers.segment.to_le_bytes());
        fixed[24..32].copy_from_slice(&covers.first_group.to_le_bytes());
        fixed[32..40].copy_from_slice(&covers.next_group.to_le_bytes());
        fixed[40..44].copy_from_slice(&covers.end.to_le_bytes());
        fixed[44..48].copy_from_slice(&self.entries.to_le_bytes());
        let mut bytes = pack(&self.bytes, ZSTD_LEVEL, bytes)?;
        let sum = checksum(salt.seed(), &bytes);
        bytes.extend(sum.to_le_bytes());
        Ok(bytes)
    }
}

/// A sidecar whose checksum holds.
#[derive(Debug)]
pub(super) struct Sidecar {
    pub(super) covers: Covers,
    entries: u32,
    rest: Vec<u8>,
}

impl Sidecar {
    /// None if it is damaged, of another store or of a later version: it will be made anew.
    pub(super) fn verified(bytes: &[u8], salt: Salt) -> Option<Self> {
        let (bytes, stored) = bytes.split_last_chunk()?;
        let (fixed, rest) = bytes.split_first_chunk::<FIXED_BYTES>()?;
        let u64_at = |at: usize| u64::from_le_bytes(*fixed[at..].first_chunk().expect("fields are fixed"));
        let u32_at = |at: usize| u32::from_le_bytes(*fixed[at..].first_chunk().expect("fields are fixed"));
        let known = fixed[0..8] == SIDECAR_MAGIC
            && u32_at(12) & !FEATURES_KNOWN == 0
            && checksum(salt.seed(), bytes) == u32::from_le_bytes(*stored);
        let covers =
            Covers { segment: u64_at(16), first_group: u64_at(24), next_group: u64_at(32), end: u32_at(40) };
        let rest = match u16::from_le_bytes([fixed[8], fixed[9]]) {
            SIDECAR_VERSION if known => zstd::decode_all(rest).ok()?,
            SIDECAR_VERSION_PLAIN if known => rest.to_vec(),
            _ => return None,
        };
        let sidecar = Self { covers, entries: u32_at(44), rest };
        // If the checksum holds this does too, unless a program was wrong.
        sidecar.is_complete().then_some(sidecar)
    }

    fn is_complete(&self) -> bool {
        let mut entries = self.entries();
        entries.by_ref().count() == self.entries as usize && entries.rest.is_empty()
    }

    /// All entries in order.
    pub(super) fn entries(&self) -> Entries<'_> {
        Entries { segment: self.covers.segment, byte: GROUPS_START, left: self.entries, rest: &self.rest }
    }
}

/// The entries of a sidecar.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    segment: u64,
    byte: u32,
    left: u32,
    rest: &'a [u8],
}

impl<'a> Entries<'a> {
    fn take(&mut self) -> Option<Found<'a>> {
        self.byte = self.byte.checked_add(u32::try_from(varint::take(&mut self.rest)?).ok()?)?;
        let (head, body_bytes) = EntryHead::take(&mut self.rest)?;
        let mut body = None;
        if head.is_fact() {
            let (bytes, behind) = self.rest.split_at_checked(body_bytes as usize)?;
            (body, self.rest) = (Some(bytes), behind);
        }
        Some(Found { position: Position { segment: self.segment, byte: self.byte }, head, body_bytes, body })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.take()
    }
}
