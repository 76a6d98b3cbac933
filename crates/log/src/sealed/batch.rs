//! Batches: records that were taken in at once.
//!
//! Persisted, so must be kept stable. The body of a batch is for each record a little-endian `u32`, four times its length plus the code of its
//! kind; then the bytes of all of them. Where batches follow one another each has a head: first offset `u64`, run `u32`, count `u32`, time `i64`,
//! bytes of the body `u32`.

use crate::names::{RunNo, Timestamp};
use crate::record::{Kind, NewRecord, Record};
use bytes::{Buf, Bytes};

/// What a body has for each record before the bytes of the first.
pub const LENGTH_BYTES: usize = 4;
/// How long a record may be.
pub const RECORD_BYTES_MAX: usize = (u32::MAX >> 2) as usize;
/// How long a head is.
pub const HEAD_BYTES: usize = 28;

/// Why bytes are no records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// A length leads past the end.
    #[error("a record's length is wrong. record={0}")]
    Length(usize),
    /// A kind that is none.
    #[error("a record is of no known kind. record={0}")]
    Kind(usize),
    /// More bytes than the lengths say.
    #[error("bytes after the last record. bytes={0}")]
    Left(usize),
    /// They have another length than is kept beside them.
    #[error("the records have more or fewer bytes than they should. expected={expected}, actual={actual}")]
    Bytes {
        /// What is kept.
        expected: u64,
        /// What there is.
        actual: u64,
    },
}

/// The place of a batch among its thread's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    /// The offset of the first.
    pub first: u64,
    /// How many there are.
    pub count: u32,
    /// The run they belong to.
    pub run: RunNo,
    /// When they were taken in.
    pub time: Timestamp,
}

impl BatchHead {
    /// The offset behind the last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// Appends it, for a body of so many bytes.
    pub fn put(&self, body_bytes: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.run.0.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.time.0.to_le_bytes());
        out.extend_from_slice(&body_bytes.to_le_bytes());
    }
}

/// Some records as they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Where they belong.
    pub head: BatchHead,
    /// What they are.
    pub body: Bytes,
}

impl Batch {
    /// The records of the batch.
    ///
    /// # Errors
    ///
    /// If its body is no body.
    pub fn records(&self) -> Result<Vec<Record>, RecordsError> {
        decode_records(self.head, &self.body)
    }
}

/// The batches in these bytes, which follow one another. None if there is something else.
#[must_use]
pub fn batches(mut raw: Bytes) -> Option<Vec<Batch>> {
    let mut batches = Vec::new();
    while raw.has_remaining() {
        if raw.remaining() < HEAD_BYTES {
            return None;
        }
        let (first, run) = (raw.get_u64_le(), RunNo(raw.get_u32_le()));
        let (count, time) = (raw.get_u32_le(), Timestamp(raw.get_i64_le()));
        let bytes = raw.get_u32_le() as usize;
        if raw.remaining() < bytes {
            return None;
        }
        batches.push(Batch { head: BatchHead { first, count, run, time }, body: raw.split_to(bytes) });
    }
    Some(batches)
}

/// The body of a batch with these records. None if one of them is too long.
#[must_use]
pub fn encode_records(records: &[NewRecord]) -> Option<Vec<u8>> {
    let bytes: usize = records.iter().map(|record| LENGTH_BYTES + record.bytes.len()).sum();
    let mut body = Vec::with_capacity(bytes);
    for record in records {
        body.extend_from_slice(&coded_length(record.bytes.len(), record.kind)?);
    }
    records.iter().for_each(|record| body.extend_from_slice(&record.bytes));
    Some(body)
}

/// The length of a record and its kind, as they are in a body. None if it is too long.
#[must_use]
pub fn coded_length(bytes: usize, kind: Kind) -> Option<[u8; LENGTH_BYTES]> {
    let length = u32::try_from(bytes).ok().filter(|_| bytes <= RECORD_BYTES_MAX)?;
    Some((length << 2 | u32::from(kind.code())).to_le_bytes())
}

/// How many bytes the records of a body of this length have.
#[must_use]
pub fn record_bytes(body_bytes: u64, count: u32) -> u64 {
    body_bytes.saturating_sub(LENGTH_BYTES as u64 * u64::from(count))
}

/// The records of a body.
///
/// # Errors
///
/// If it is no body.
pub fn decode_records(head: BatchHead, body: &Bytes) -> Result<Vec<Record>, RecordsError> {
    let count = head.count as usize;
    let lengths = body.get(..count * LENGTH_BYTES).ok_or(RecordsError::Length(0))?;
    let mut at = lengths.len();
    let mut records = Vec::with_capacity(count);
    for (index, length) in lengths.as_chunks::<LENGTH_BYTES>().0.iter().enumerate() {
        let length = u32::from_le_bytes(*length);
        let kind = Kind::from_code((length & 3) as u8).ok_or(RecordsError::Kind(index))?;
        let end = at + (length >> 2) as usize;
        if end > body.len() {
            return Err(RecordsError::Length(index));
        }
        let offset = head.first.saturating_add(index as u64);
        records.push(Record { offset, time: head.time, run: head.run, kind, bytes: body.slice(at..end) });
        at = end;
    }
    if at < body.len() {
        return Err(RecordsError::Left(body.len() - at));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        (0_u8..4).prop_map(|code| Kind::from_code(code).unwrap())
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_went(
            records in proptest::collection::vec((kinds(), proptest::collection::vec(any::<u8>(), 0..40)), 1..20),
            first in 0..u64::MAX / 2,
        ) {
            let given: Vec<NewRecord> =
                records.into_iter().map(|(kind, bytes)| NewRecord { kind, bytes: bytes.into() }).collect();
            let body: Bytes = encode_records(&given).unwrap().into();
            let count = u32::try_from(given.len()).unwrap();
            let bytes: usize = given.iter().map(|record| record.bytes.len()).sum();
            prop_assert_eq!(record_bytes(body.len() as u64, count), bytes as u64);
            let head = BatchHead { first, count, run: RunNo(7), time: Timestamp(9) };
            let mut raw = Vec::new();
            head.put(u32::try_from(body.len()).unwrap(), &mut raw);
            raw.extend_from_slice(&body);
            let batch = Batch { head, body };
            prop_assert_eq!(batches(raw.repeat(2).into()), Some(vec![batch.clone(), batch.clone()]));
            for length in 1..raw.len() {
                prop_assert_eq!(batches(Bytes::copy_from_slice(&raw[..length])), None);
            }
            let read = batch.records().unwrap();
            for (index, (record, given)) in read.iter().zip(&given).enumerate() {
                prop_assert_eq!((record.offset, record.kind), (first + index as u64, given.kind));
                prop_assert_eq!(&record.bytes, &given.bytes);
            }
            prop_assert_eq!(read.len(), given.len());
            for length in 0..batch.body.len() {
                prop_assert!(decode_records(head, &batch.body.slice(..length)).is_err());
            }
        }
    }
}
