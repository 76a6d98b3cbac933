//! What the journal's entries hold: batches of records, and facts.
//!
//! Persisted, so must be kept stable.
//!
//! A batch of records: a [body](threadline_log::sealed::shared) in which they share their beginnings. How many there are, their run, first offset and time
//! are in the entry's head, and how many bytes they have is its weight. Such entries have the flag [`SHARED`].
//!
//! In blocks, and in entries without that flag, which stores of format 1 have, they are a [body](threadline_log::sealed::batch) in which nothing is shared.
//!
//! A fact: its head's first offset is the thread's tail when it became true. The body is a line of JSON, a line feed, and the bytes that belong to it; these are a zstd frame if [`PACKED`] is set.

use crate::journal::format::FLAG_WEIGHT;
use bytes::Bytes;
use std::io::Read;
use threadline_log::fact::Fact;
use threadline_log::{RunNo, Timestamp};

/// An entry with records.
pub(crate) const RECORDS: u8 = 1;
/// An entry with a fact that nobody looks up by itself.
pub(crate) const FACT: u8 = 2;
/// An entry with a [`Fact::Opened`] and its request.
pub(crate) const OPENED: u8 = 3;
/// An entry with a [`Fact::Checkpointed`] and its checkpoint.
pub(crate) const CHECKPOINT: u8 = 4;

/// An entry with a [`Fact::Deleted`], told from others so that nothing need be read to know it.
pub(crate) const DELETED: u8 = 5;
/// An entry with a [`Fact::Trimmed`] or a [`Fact::Compacted`]: bytes before it are to be erased.
pub(crate) const FORGOTTEN: u8 = 6;

/// The bytes of the fact are compressed.
pub(crate) const PACKED: u8 = 2;

/// The records of the batch share their beginnings, and its weight is how many bytes they have.
pub(crate) const SHARED: u8 = FLAG_WEIGHT;

/// Attached bytes up to this length are not worth a frame.
const PACKED_BYTES_MIN: usize = 512;
const ZSTD_LEVEL: i32 = 1;
/// No more room than this is made because a frame says that it needs it.
const UNPACKED_ROOM_MAX: usize = 1 << 20;

/// Why the bytes of an entry cannot be read, though their checksum is right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    #[error("a fact without a line")]
    NoLine,
    #[error("a fact that cannot be read: {0}")]
    Fact(String),
    #[error("a fact's bytes cannot be unpacked: {0}")]
    Unpack(String),
}

/// A fact as an entry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactEntry {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) run: RunNo,
    pub(crate) time: Timestamp,
    /// The thread's tail when it became true: which records came before it.
    pub(crate) tail: u64,
    pub(crate) body: Bytes,
}

/// Bytes that belong to a fact, which may be packed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attached {
    bytes: Bytes,
    is_packed: bool,
}

impl Attached {
    /// Packed, if that makes them fewer.
    pub(crate) fn new(bytes: Bytes) -> Self {
        if bytes.len() <= PACKED_BYTES_MIN {
            return Self::plain(bytes);
        }
        match zstd::bulk::compress(&bytes, ZSTD_LEVEL) {
            Ok(packed) if packed.len() < bytes.len() => Self { bytes: packed.into(), is_packed: true },
            _ => Self::plain(bytes),
        }
    }

    pub(crate) const fn plain(bytes: Bytes) -> Self {
        Self { bytes, is_packed: false }
    }

    /// How many bytes it takes here.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The first of them, so many or all that there are, as they were before they were packed.
    pub(crate) fn beginning(&self, most: u64) -> Result<Bytes, EntryError> {
        if !self.is_packed {
            let end = usize::try_from(most).unwrap_or(usize::MAX).min(self.bytes.len());
            return Ok(self.bytes.slice(..end));
        }
        let said = zstd::zstd_safe::get_frame_content_size(&self.bytes).ok().flatten().unwrap_or_default();
        let room = usize::try_from(said.min(most)).unwrap_or(usize::MAX).min(UNPACKED_ROOM_MAX);
        let mut unpacked = Vec::with_capacity(room);
        let read = zstd::Decoder::with_buffer(&self.bytes[..])
            .and_then(|decoder| decoder.take(most).read_to_end(&mut unpacked));
        read.map_err(|error| EntryError::Unpack(error.to_string()))?;
        Ok(unpacked.into())
    }
}

/// The kind of a fact's entry, and the run that it is about.
pub(crate) fn fact_kind(fact: &Fact) -> (u8, RunNo) {
    match fact {
        Fact::Opened { run, .. } => (OPENED, *run),
        Fact::Checkpointed { run, .. } => (CHECKPOINT, *run),
        Fact::Claimed { run, .. } | Fact::Keyed { run, .. } | Fact::Ended { run, .. } => (FACT, *run),
        Fact::Compacted { run } => (FORGOTTEN, *run),
        Fact::Trimmed { .. } => (FORGOTTEN, RunNo(0)),
        Fact::Created { .. } | Fact::Described { .. } => (FACT, RunNo(0)),
        Fact::Deleted => (DELETED, RunNo(0)),
    }
}

/// The entry for a fact and the bytes that belong to it.
pub(crate) fn encode_fact(time: Timestamp, tail: u64, fact: &Fact, attached: &Attached) -> FactEntry {
    let (kind, run) = fact_kind(fact);
    let mut body = serde_json::to_vec(fact).expect("facts have no maps with odd keys");
    body.push(b'\n');
    body.extend_from_slice(&attached.bytes);
    let flags = if attached.is_packed { PACKED } else { 0 };
    FactEntry { kind, flags, run, time, tail, body: body.into() }
}

impl FactEntry {
    /// The fact, without the bytes that belong to it.
    pub(crate) fn fact(&self) -> Result<Fact, EntryError> {
        serde_json::from_slice(&self.body[..self.line()?])
            .map_err(|error| EntryError::Fact(error.to_string()))
    }

    /// The bytes that belong to it.
    pub(crate) fn attached(&self) -> Result<Bytes, EntryError> {
        self.kept()?.beginning(u64::MAX)
    }

    /// The bytes that belong to it, as they are kept.
    pub(crate) fn kept(&self) -> Result<Attached, EntryError> {
        let bytes = self.body.slice(self.line()? + 1..);
        Ok(Attached { bytes, is_packed: self.flags & PACKED != 0 })
    }

    /// The same with the bytes that belong to it as they are; if they cannot be unpacked it stays as it is, for who reads it to find out.
    pub(crate) fn unpacked(self) -> Self {
        let (Ok(line), Ok(attached)) = (self.line(), self.attached()) else { return self };
        let body = [&self.body[..=line], &attached[..]].concat().into();
        Self { flags: self.flags & !PACKED, body, ..self }
    }

    fn line(&self) -> Result<usize, EntryError> {
        memchr::memchr(b'\n', &self.body).ok_or(EntryError::NoLine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn facts_come_back_as_they_went(attached in proptest::collection::vec(0_u8..4, 0..2000)) {
            let fact = Fact::Trimmed { first: 5 };
            let entry = encode_fact(Timestamp(1), 0, &fact, &Attached::new(attached.clone().into()));
            prop_assert_eq!(entry.fact().unwrap(), fact);
            prop_assert_eq!(&entry.attached().unwrap()[..], &attached[..]);
            for most in [0, 1, attached.len() / 2, attached.len(), attached.len() + 1] {
                let beginning = entry.kept().unwrap().beginning(most as u64).unwrap();
                prop_assert_eq!(&beginning[..], &attached[..most.min(attached.len())]);
            }
            prop_assert_eq!(entry.flags & PACKED != 0, attached.len() > PACKED_BYTES_MIN);
            let unpacked = entry.clone().unpacked();
            prop_assert_eq!((unpacked.flags, unpacked.fact()), (0, entry.fact()));
            prop_assert_eq!(&unpacked.attached().unwrap()[..], &attached[..]);
        }
    }
}
