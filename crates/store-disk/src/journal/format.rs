//! The bytes of the journal.
//!
//! Numbers are little-endian. A *varint* is LEB128, seven bits a byte, least significant first; a *zigzag* is a varint of
//! a signed number whose sign is its lowest bit. Checksums are CRC-32C. This is format version 1.
//!
//! # Files
//!
//! | name | what |
//! |---|---|
//! | `seg-N.log` | a segment; N is its number in 16 hexadecimal digits |
//! | `seg-N.idx` | its sidecar, once it takes no more groups; may be missing |
//! | `seg-N.gone` | the headers of a released segment, while an older one is live |
//! | `*.tmp` | not finished; removed when the journal is opened |
//!
//! Segment numbers only rise and are never used twice. The segment with the highest number is the active one.
//!
//! # Segment
//!
//! As long as its header says (40 MiB by default) from the day it is put into service: a file that is shorter was cut.
//! The header is there twice, at bytes 0 and 512, each copy one sector of 512 bytes:
//!
//! | byte | size | what |
//! |---|---|---|
//! | 0 | 8 | `TLSEGMNT` |
//! | 8 | 2 | format version |
//! | 10 | 2 | 0 |
//! | 12 | 4 | feature bits; a reader that does not know one of them refuses the file. None is defined |
//! | 16 | 8 | segment number |
//! | 24 | 8 | number of the first group in it; all groups with lower numbers are durable |
//! | 32 | 8 | salt of the store, random, the same in all segments |
//! | 40 | 4 | length of the file |
//! | 44 | 464 | 0 |
//! | 508 | 4 | checksum of bytes 0 to 507 |
//!
//! Groups follow from byte 1024, each directly behind the one before; behind the last one is nothing but zeros.
//!
//! # Group
//!
//! What one sync made durable. It is there whole or not at all.
//!
//! | byte | size | what |
//! |---|---|---|
//! | 0 | 4 | `TLG\x01` |
//! | 4 | 4 | checksum of everything behind it in the group |
//! | 8 | 8 | group number; dense over the journal's life |
//! | 16 | 4 | length of the group, this header included |
//! | 20 | 4 | number of entries |
//! | 24 | 8 | watermark: a segment number |
//! | 32 | 4 | watermark: a byte in it |
//! | 36 | | the entries |
//!
//! Everything before the *watermark* was durable when the group was written; it is the end of the previous group. The
//! checksum begins with the salt, the segment number (8 bytes) and the group's own first byte (4 bytes): a group is valid in one
//! place of one store only, so neither a payload nor a block that once was part of another file can pass for one.
//!
//! An empty group has no entries. The first group of a journal is empty, and so is the last after an orderly close: it
//! states the watermark for the group before it.
//!
//! # Entry
//!
//! | size | what |
//! |---|---|
//! | 4 | checksum of everything behind it in the entry |
//! | 1 | kind; any value, of no meaning to the journal |
//! | 1 | flags; bit 0: the entry is a *fact* and its body is in the sidecar too; bit 2: it has a weight; the others have no meaning to the journal |
//! | varint | length of the body |
//! | varint | thread |
//! | varint | run |
//! | varint | first offset |
//! | varint | count of offsets |
//! | zigzag | earliest time |
//! | zigzag | latest time minus the earliest, modulo 2^64 |
//! | varint | if bit 2 of the flags is set: its weight, of no meaning to the journal |
//! | | the body |
//!
//! The checksum begins with the salt, so that what is in a body cannot be made to look like an entry by anyone who
//! cannot read the files. (Entries inside a body would be looked for only if the length of the one around them is damaged.) Varints make
//! it about 25 bytes instead of 58: with the group's 36 an entry of 800 bytes that is alone in its group takes 1.08 times its size.
//!
//! # Sidecar
//!
//! | size | what |
//! |---|---|
//! | 8 | `TLSIDECR` |
//! | 2, 2, 4 | version, 2; 0; feature bits |
//! | 8 | segment number |
//! | 8 | number of the first group in the segment |
//! | 8 | number of the first group behind it |
//! | 4 | byte behind the last group |
//! | 4 | number of entries |
//! | | a zstd frame, in which is for each entry: varint of its first byte minus the one of the entry before; then, as in the entry, from kind to weight; then the body if it is a fact |
//! | 4 | checksum of everything before it, beginning with the salt |
//!
//! In version 1 what is in the frame is there without one. It is derived: one that is missing, damaged or of other groups than the headers say is made anew from the segment.
//!
//! # Writing
//!
//! - A segment is filled with zeros, synced, given its headers, synced, renamed from `spare.tmp`, and the directory is synced:
//!   then it is in service. Overwriting blocks that were written needs no change of metadata, which makes syncs 1.6 to 1.8 times as quick.
//! - One group at a time: one write, one sync of data. Only then are its submissions completed.
//! - After a write or sync that failed nothing is written any more until the journal is opened anew. What was submitted for that
//!   group is indeterminate.
//! - A sidecar is written to a `.tmp` file, synced, renamed, and the directory is synced.
//! - A released segment is removed if it is the oldest; otherwise it is renamed to `.gone` and cut behind its headers, so that
//!   a segment that is missing can be told from one that was released.
//!
//! # Opening
//!
//! A segment with a valid sidecar is not read. In any other, groups are followed from the first. Where there is no valid group,
//! one is looked for further on, at every byte, that has the magic, a number not below the expected one, a watermark beyond
//! that byte, and a valid checksum:
//!
//! - If there is one, or if the header of a later segment says that there were more groups, then what lies between was durable and
//!   is *damage*. Entries in it whose own checksum holds are kept. The file is left as it is, and writing goes on in a new segment.
//! - If there is none, it is the *torn tail* of a group whose sync did not return. It is overwritten with zeros.
//! - A segment that is shorter than its header says is damage, unless a zero byte proves that no group began where it was cut.
//!
//! Before anything is appended the last group is written again and synced: after a sync that failed the operating system may show
//! bytes that are not on the disk, and would not write them again by itself. For the same reason an active segment without
//! groups, whose name may not be durable, is replaced by one with the next number.
//!
//! # Assumptions about media
//!
//! - After a sync returned, what it covers survives a crash. Drives that lie about that break every promise here.
//! - A sector of 512 bytes that is being written when the power fails holds new bytes, then old bytes. Sectors reach the disk in any order.
//! - Writing a sector does not harm bytes of it that are written with the value they have, nor other sectors ("powersafe overwrite", as
//!   SQLite calls it). The first sector of a group holds the end of the group before, with the same bytes. If a drive destroys
//!   that sector, the end of the last durable group is lost with it and taken for a torn tail. Beginning groups at sectors would avoid
//!   this for 512-byte sectors only, and cost up to half of the space where groups are small.
//! - A file can be renamed over another in one step. Other changes of names may be forgotten, in any order, until the directory is synced.
//! - Damage to what was durable is found by checksums when it is read, never assumed away. The last group after a crash cannot be told
//!   from a torn one if it is damaged; after an orderly close it can.

use std::fmt;

/// Of segments.
pub const VERSION: u16 = 1;
/// Of sidecars.
pub(super) const SIDECAR_VERSION: u16 = 2;
/// Sidecars of this version are not packed.
pub(super) const SIDECAR_VERSION_PLAIN: u16 = 1;
/// The feature bits that this version knows.
pub const FEATURES_KNOWN: u32 = 0;

pub(super) const SEGMENT_MAGIC: [u8; 8] = *b"TLSEGMNT";
pub(super) const SIDECAR_MAGIC: [u8; 8] = *b"TLSIDECR";
pub(super) const GROUP_MAGIC: [u8; 4] = *b"TLG\x01";

/// One copy of a segment's header.
pub(super) const HEADER_BYTES: usize = 512;
/// Where the first group begins.
pub(super) const GROUPS_START: u32 = 1024;
pub(super) const GROUP_HEADER_BYTES: usize = 36;
/// A segment that ends no later has no entries, but for an empty group that says that it is in order.
#[expect(clippy::cast_possible_truncation, reason = "it is 36")]
pub(super) const NO_ENTRIES_END: u32 = GROUPS_START + GROUP_HEADER_BYTES as u32;

/// The flag of an entry whose body is in the sidecar too.
pub const FLAG_FACT: u8 = 1;
/// The flag of an entry that has a weight.
pub const FLAG_WEIGHT: u8 = 4;

/// A place in the journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number of a segment.
    pub segment: u64,
    /// A byte of its file.
    pub byte: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", segment_name(self.segment), self.byte)
    }
}

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Segment(u64),
    Gone(u64),
    Sidecar(u64),
}

impl FileKind {
    pub(super) fn of(name: &str) -> Option<Self> {
        let (digits, extension) = name.strip_prefix("seg-")?.split_once('.')?;
        let plain = digits.len() == 16 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| plain)?;
        match extension {
            "log" => Some(Self::Segment(number)),
            "gone" => Some(Self::Gone(number)),
            "idx" => Some(Self::Sidecar(number)),
            _ => None,
        }
    }
}

pub(super) const SPARE_NAME: &str = "spare.tmp";

pub(super) fn is_unfinished(name: &str) -> bool {
    name == SPARE_NAME || (name.starts_with("seg-") && name.ends_with(".tmp"))
}

/// The file of a segment.
#[must_use]
pub fn segment_name(number: u64) -> String {
    format!("seg-{number:016x}.log")
}

pub(super) fn gone_name(number: u64) -> String {
    format!("seg-{number:016x}.gone")
}

/// The file of a segment's sidecar.
#[must_use]
pub fn sidecar_name(number: u64) -> String {
    format!("seg-{number:016x}.idx")
}

pub(super) fn sidecar_tmp_name(number: u64) -> String {
    format!("seg-{number:016x}.idx.tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_are() {
        assert_eq!(FileKind::of(&segment_name(0xab)), Some(FileKind::Segment(0xab)));
        assert_eq!(FileKind::of(&gone_name(u64::MAX)), Some(FileKind::Gone(u64::MAX)));
        assert_eq!(FileKind::of(&sidecar_name(7)), Some(FileKind::Sidecar(7)));
        for foreign in
            ["seg-1.log", "seg-000000000000000A.log", "seg-+00000000000001.log", "lock", SPARE_NAME]
        {
            assert_eq!(FileKind::of(foreign), None, "{foreign}");
        }
        assert!(
            is_unfinished(SPARE_NAME) && is_unfinished(&sidecar_tmp_name(1)) && !is_unfinished("hist-1.tmp")
        );
    }
}
