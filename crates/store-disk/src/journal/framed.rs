//! Any bytes in frames whose checksums hold, as no damage would leave them: for fuzzing.

use super::format::{GROUP_HEADER_BYTES, GROUPS_START, Position};
use super::group::Group;
use super::header::Header;
use super::{EntryHead, Salt, checksum::checksum};

/// An entry with any body.
pub(crate) fn entry(head: &EntryHead, body: &[u8], salt: Salt) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    head.put(body.len(), &mut bytes);
    bytes.extend_from_slice(body);
    let sum = checksum(salt.seed(), &bytes[4..]);
    bytes[..4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The first segment of a journal, with one group that has these bytes for its entries.
pub(crate) fn segment(entries: u32, bytes: &[u8], salt: Salt) -> Vec<u8> {
    let mut group = vec![0; GROUP_HEADER_BYTES];
    group.extend_from_slice(bytes);
    let at = Position { segment: 1, byte: GROUPS_START };
    Group::seal(&mut group, 1, entries, at, salt, at);
    let used = GROUPS_START as usize + group.len();
    let segment_bytes = u32::try_from(used).expect("inputs are short") + GROUPS_START;
    let mut file = Header { segment: 1, first_group: 1, salt, segment_bytes }.encode().to_vec();
    file.extend_from_slice(&group);
    file.resize(segment_bytes as usize, 0);
    file
}
