//! The body of a batch in which what records have in common is written once, as stores keep it until it is packed.
//!
//! Persisted, so must be kept stable. For each record a varint, four times the length of what is its own plus the code of its kind, and for each but the
//! first a varint, how many bytes it has in common with the beginning of the one before; then what is their own, of all of them. How many records there
//! are, and how many bytes they have, is kept beside it.

use super::batch::{RECORD_BYTES_MAX, RecordsError, coded_length};
use crate::record::Kind;
use crate::varint;
use bytes::Bytes;
use smallvec::SmallVec;

/// How many bytes two records have in common at their beginnings.
fn common(one: &[u8], other: &[u8]) -> usize {
    let words = one.as_chunks::<16>().0.iter().zip(other.as_chunks::<16>().0);
    let mut bytes = 0;
    for (one, other) in words {
        let differs = u128::from_le_bytes(*one) ^ u128::from_le_bytes(*other);
        if differs != 0 {
            return bytes + differs.trailing_zeros() as usize / 8;
        }
        bytes += 16;
    }
    let rest = one[bytes..].iter().zip(&other[bytes..]);
    bytes + rest.take_while(|(one, other)| one == other).count()
}

/// The body of a batch with these records, as long as its capacity. None if one of them is too long.
#[must_use]
pub fn encode<'a>(records: impl Iterator<Item = (Kind, &'a [u8])>) -> Option<Vec<u8>> {
    let mut parts = SmallVec::<[(Kind, usize, &[u8]); 8]>::new();
    let (mut before, mut bytes): (&[u8], usize) = (&[], 0);
    for (kind, record) in records {
        if record.len() > RECORD_BYTES_MAX {
            return None;
        }
        let common = common(before, record);
        let own = &record[common..];
        bytes += own.len() + varint::bytes((own.len() as u64) << 2);
        bytes += if parts.is_empty() { 0 } else { varint::bytes(common as u64) };
        parts.push((kind, common, own));
        before = record;
    }
    let mut body = Vec::with_capacity(bytes);
    for (index, (kind, common, own)) in parts.iter().enumerate() {
        varint::put(&mut body, (own.len() as u64) << 2 | u64::from(kind.code()));
        if index > 0 {
            varint::put(&mut body, *common as u64);
        }
    }
    parts.iter().for_each(|(_, _, own)| body.extend_from_slice(own));
    Some(body)
}

/// The [body](super::batch) in which nothing is shared, of so many records that have so many bytes.
///
/// # Errors
///
/// If it is no such body.
pub fn decode(count: u32, record_bytes: u64, body: &[u8]) -> Result<Bytes, RecordsError> {
    let mut rest = body;
    let mut parts = SmallVec::<[(usize, usize); 16]>::new();
    let mut plain = Vec::new();
    let (mut before, mut actual) = (0, 0_u64);
    for index in 0..count as usize {
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
    // Before memory is taken for them: records that share everything may be said to have any number of bytes.
    if actual != record_bytes {
        return Err(RecordsError::Bytes { expected: record_bytes, actual });
    }
    let own: usize = parts.iter().map(|(_, own)| *own).fold(0, usize::saturating_add);
    match rest.len().checked_sub(own) {
        Some(0) => {}
        Some(left) => return Err(RecordsError::Left(left)),
        None => return Err(RecordsError::Length(parts.len().saturating_sub(1))),
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

#[cfg(test)]
mod tests {
    use super::super::batch::encode_records;
    use super::*;
    use crate::record::NewRecord;
    use proptest::prelude::*;

    fn parts(record: &NewRecord) -> (Kind, &[u8]) {
        (record.kind, &record.bytes)
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        (0_u8..4).prop_map(|code| Kind::from_code(code).unwrap())
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_went(
            records in proptest::collection::vec((kinds(), proptest::collection::vec(prop_oneof![40 => Just(7), 1 => any::<u8>()], 0..60)), 1..20),
        ) {
            let given: Vec<NewRecord> =
                records.into_iter().map(|(kind, bytes)| NewRecord { kind, bytes: bytes.into() }).collect();
            let body: Bytes = encode_records(&given).unwrap().into();
            let count = u32::try_from(given.len()).unwrap();
            let shared = encode(given.iter().map(parts)).unwrap();
            prop_assert_eq!(shared.capacity(), shared.len());
            let record_bytes = given.iter().map(|record| record.bytes.len() as u64).sum();
            prop_assert_eq!(decode(count, record_bytes, &shared), Ok(body));
            prop_assert!(decode(count, record_bytes + 1, &shared).is_err());
            for length in 0..shared.len() {
                prop_assert!(decode(count, record_bytes, &shared[..length]).is_err());
            }
        }

        #[test]
        fn what_records_have_in_common_is_written_once(common in "[a-z]{0,80}", first in "[A-Z]{0,20}", second in "[0-9]{0,20}") {
            let records = [&first, &second].map(|rest| NewRecord::event(format!("{common}{rest}")));
            let shared = encode(records.iter().map(parts)).unwrap();
            let own = [common.len() + first.len(), second.len()];
            let lengths: usize = own.iter().map(|own| varint::bytes(*own as u64 * 4)).sum();
            let in_common = varint::bytes(common.len() as u64);
            prop_assert_eq!(shared.len(), own[0] + own[1] + lengths + in_common);
        }
    }
}
