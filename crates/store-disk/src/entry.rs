//! What the journal's entries hold: batches of records, and facts.
//!
//! Persisted, so must be kept stable.
//!
//! A batch of records: for each record a varint, four times the length of what is its own plus the code of its kind, and for each but the first a
//! varint, how many bytes it has in common with the beginning of the one before; then what is their own, of all of them. How many there are, their run,
//! first offset and time are in the entry's head, and how many bytes they have is its weight. Such entries have the flag [`SHARED`].
//!
//! In blocks, and in entries without that flag, which stores of format 1 have, they are a [body](threadline_log::sealed::batch) in which nothing is shared.
//!
//! A fact: its head's first offset is the thread's tail when it became true. The body is a line of JSON, a line feed, and the bytes that belong to it; these are a zstd frame if [`PACKED`] is set.

use crate::journal::format::FLAG_WEIGHT;
use bytes::Bytes;
use smallvec::SmallVec;
use threadline_log::fact::Fact;
use threadline_log::sealed::batch::{BatchHead, RECORD_BYTES_MAX, RecordsError, coded_length};
use threadline_log::{Kind, NewRecord, RunNo, Timestamp, varint};

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

/// Why the bytes of an entry cannot be read, though their checksum is right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error("the records have more or fewer bytes than they should. expected={expected}, actual={actual}")]
    RecordBytes { expected: u64, actual: u64 },
    #[error("a fact without a line")]
    NoLine,
    #[error("a fact that cannot be read: {0}")]
    Fact(String),
    #[error("a fact's bytes cannot be unpacked: {0}")]
    Unpack(String),
}

/// How many bytes two records have in common at their beginnings.
fn common(one: &[u8], other: &[u8]) -> usize {
    let words = one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0);
    let mut bytes = 0;
    for (one, other) in words {
        let differs = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differs != 0 {
            return bytes + differs.trailing_zeros() as usize / 8;
        }
        bytes += 8;
    }
    let rest = one[bytes..].iter().zip(&other[bytes..]);
    bytes + rest.take_while(|(one, other)| one == other).count()
}

/// Each record, and how many bytes it has in common with the one before.
fn with_common(records: &[NewRecord]) -> impl Iterator<Item = (&NewRecord, usize)> {
    let before = std::iter::once(&[][..]).chain(records.iter().map(|record| &record.bytes[..]));
    records.iter().zip(before).map(|(record, before)| (record, common(before, &record.bytes)))
}

/// The body of an entry of the journal with these records, as long as its capacity. None if one of them is too long.
pub(crate) fn encode_shared(records: &[NewRecord]) -> Option<Vec<u8>> {
    let mut shared = SmallVec::<[usize; 16]>::new();
    let mut bytes = 0;
    for (index, (record, common)) in with_common(records).enumerate() {
        if record.bytes.len() > RECORD_BYTES_MAX {
            return None;
        }
        let own = record.bytes.len() - common;
        bytes += own + varint::bytes((own as u64) << 2);
        bytes += if index == 0 { 0 } else { varint::bytes(common as u64) };
        shared.push(common);
    }
    let mut body = Vec::with_capacity(bytes);
    for (index, (record, common)) in records.iter().zip(&shared).enumerate() {
        let own = (record.bytes.len() - common) as u64;
        varint::put(&mut body, own << 2 | u64::from(record.kind.code()));
        if index > 0 {
            varint::put(&mut body, *common as u64);
        }
    }
    records.iter().zip(shared).for_each(|(record, common)| body.extend_from_slice(&record.bytes[common..]));
    Some(body)
}

/// The body of an entry of the journal in which nothing is shared, if its records have so many bytes.
pub(crate) fn unshared(head: BatchHead, record_bytes: u64, body: &[u8]) -> Result<Bytes, EntryError> {
    let mut rest = body;
    let mut parts = SmallVec::<[(usize, usize); 16]>::new();
    let mut plain = Vec::new();
    let (mut before, mut actual) = (0, 0_u64);
    for index in 0..head.count as usize {
        let wrong = RecordsError::Length(index);
        let mut number = || varint::take(&mut rest).and_then(|number| usize::try_from(number).ok());
        let code = number().ok_or(wrong)?;
        let common = if index == 0 { Some(0) } else { number() };
        let common = common.filter(|common| *common <= before).ok_or(wrong)?;
        let (own, kind) = (code >> 2, (code & 3).to_le_bytes()[0]);
        before = own.checked_add(common).ok_or(wrong)?;
        actual = actual.saturating_add(before as u64);
        let kind = Kind::from_code(kind).ok_or(RecordsError::Kind(index))?;
        plain.extend_from_slice(&coded_length(before, kind).ok_or(wrong)?);
        parts.push((common, own));
    }
    if actual != record_bytes {
        return Err(EntryError::RecordBytes { expected: record_bytes, actual });
    }
    let own: usize = parts.iter().map(|(_, own)| *own).fold(0, usize::saturating_add);
    match rest.len().checked_sub(own) {
        Some(0) => {}
        Some(left) => return Err(RecordsError::Left(left).into()),
        None => return Err(RecordsError::Length(parts.len().saturating_sub(1)).into()),
    }
    plain.reserve_exact(usize::try_from(actual).unwrap_or_default());
    let mut start = plain.len();
    for (common, own) in parts {
        let next = plain.len();
        plain.extend_from_within(start..start + common);
        plain.extend_from_slice(&rest[..own]);
        (start, rest) = (next, &rest[own..]);
    }
    Ok(plain.into())
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

/// Bytes that belong to a fact, packed if that makes them fewer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attached {
    bytes: Bytes,
    is_packed: bool,
}

impl Attached {
    pub(crate) fn new(bytes: Bytes) -> Self {
        if bytes.len() <= PACKED_BYTES_MIN {
            return Self { bytes, is_packed: false };
        }
        match zstd::bulk::compress(&bytes, ZSTD_LEVEL) {
            Ok(packed) if packed.len() < bytes.len() => Self { bytes: packed.into(), is_packed: true },
            _ => Self { bytes, is_packed: false },
        }
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
        let attached = self.body.slice(self.line()? + 1..);
        if self.flags & PACKED == 0 {
            return Ok(attached);
        }
        let unpacked = zstd::decode_all(&attached[..]);
        Ok(unpacked.map_err(|error| EntryError::Unpack(error.to_string()))?.into())
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
    use threadline_log::sealed::batch::encode_records;

    fn kinds() -> impl Strategy<Value = Kind> {
        (0_u8..4).prop_map(|code| Kind::from_code(code).unwrap())
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_went(
            records in proptest::collection::vec((kinds(), proptest::collection::vec(prop_oneof![4 => Just(7), 1 => any::<u8>()], 0..40)), 1..20),
            first in 0..u64::MAX / 2,
        ) {
            let given: Vec<NewRecord> =
                records.into_iter().map(|(kind, bytes)| NewRecord { kind, bytes: bytes.into() }).collect();
            let body: Bytes = encode_records(&given).unwrap().into();
            let count = u32::try_from(given.len()).unwrap();
            let head = BatchHead { first, count, run: RunNo(7), time: Timestamp(9) };
            let shared = encode_shared(&given).unwrap();
            prop_assert_eq!(shared.capacity(), shared.len());
            let record_bytes = given.iter().map(|record| record.bytes.len() as u64).sum();
            prop_assert_eq!(unshared(head, record_bytes, &shared), Ok(body));
            prop_assert!(unshared(head, record_bytes + 1, &shared).is_err());
            for length in 0..shared.len() {
                prop_assert!(unshared(head, record_bytes, &shared[..length]).is_err());
            }
        }

        #[test]
        fn what_records_have_in_common_is_written_once(common in "[a-z]{0,40}", first in "[A-Z]{0,20}", second in "[0-9]{0,20}") {
            let records = [&first, &second].map(|rest| NewRecord::event(format!("{common}{rest}")));
            let shared = encode_shared(&records).unwrap();
            let own = [common.len() + first.len(), second.len()];
            let lengths: usize = own.iter().map(|own| varint::bytes(*own as u64 * 4)).sum();
            prop_assert_eq!(shared.len(), own[0] + own[1] + lengths + 1);
        }

        #[test]
        fn facts_come_back_as_they_went(attached in proptest::collection::vec(0_u8..4, 0..2000)) {
            let fact = Fact::Trimmed { first: 5 };
            let entry = encode_fact(Timestamp(1), 0, &fact, &Attached::new(attached.clone().into()));
            prop_assert_eq!(entry.fact().unwrap(), fact);
            prop_assert_eq!(&entry.attached().unwrap()[..], &attached[..]);
            prop_assert_eq!(entry.flags & PACKED != 0, attached.len() > PACKED_BYTES_MIN);
            let unpacked = entry.clone().unpacked();
            prop_assert_eq!((unpacked.flags, unpacked.fact()), (0, entry.fact()));
            prop_assert_eq!(&unpacked.attached().unwrap()[..], &attached[..]);
        }
    }
}
