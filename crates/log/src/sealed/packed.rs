//! Records in as few bytes as stores keep them in.
//!
//! Persisted, so must be kept stable:
//!
//! | size | what |
//! |---|---|
//! | 1 | version, 1 |
//! | 4 | CRC-32C of the byte before and of all behind |
//! | varint | how many bytes the [batches](super::batch) of the records have |
//! | varint | how many bytes these have [by column](super::columns) |
//! | | the columns in a [frame](super::frame), packed with the [dictionary](super::dictionary) |
//!
//! Records of one run and time whose offsets follow one another are a batch.

use super::batch::{self, Batch, BatchHead, HEAD_BYTES, LENGTH_BYTES, RECORD_BYTES_MAX, RecordsError};
use super::columns;
use super::dictionary::DICTIONARY;
use super::frame;
use crate::record::Record;
use crate::varint;

const VERSION: u8 = 1;
const CHECKSUM_AT: usize = 1;
const NUMBERS_AT: usize = 5;

/// No more than this is packed together, nor unpacked whatever some bytes claim to be. Whoever packs takes about 64 KiB, or one long record.
pub const BYTES_MAX: usize = RECORD_BYTES_MAX;

/// Why records cannot be packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// They are more than [`BYTES_MAX`].
    #[error("records too long to be packed. bytes={0}")]
    TooLong(usize),
    /// There is no memory for it.
    #[error("records cannot be packed")]
    Pack(#[from] std::io::Error),
}

/// Why bytes are no packed records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// There are too few of them.
    #[error("packed records end too early. bytes={0}")]
    Short(usize),
    /// They were packed by a later version.
    #[error("the version of packed records is unknown. version={0}")]
    Version(u8),
    /// They were changed.
    #[error("the checksum of packed records is wrong")]
    Checksum,
    /// They claim to be more than [`BYTES_MAX`].
    #[error("packed records are too long. bytes={0}")]
    TooLong(u64),
    /// They are no frame, or there is something else in it than they say.
    #[error("packed records cannot be unpacked")]
    Unpack,
    /// What is in them are no records.
    #[error("what is packed are no records")]
    Records(#[from] RecordsError),
}

/// Packs records, in the order they are in.
///
/// # Errors
///
/// If there are more than [`BYTES_MAX`] of them.
pub fn pack(records: &[Record]) -> Result<Vec<u8>, PackError> {
    let heads = heads(records);
    let mut bytes = heads.len() * HEAD_BYTES;
    records.iter().for_each(|record| bytes = bytes.saturating_add(LENGTH_BYTES + record.bytes.len()));
    let folded = columns::fold(&heads, records);
    if bytes.max(folded.len()) > BYTES_MAX {
        return Err(PackError::TooLong(bytes));
    }
    let frame = frame::pack(&folded, DICTIONARY)?;
    let mut packed = vec![VERSION];
    packed.extend_from_slice(&[0; NUMBERS_AT - CHECKSUM_AT]);
    varint::put(&mut packed, bytes as u64);
    varint::put(&mut packed, folded.len() as u64);
    packed.extend_from_slice(&frame);
    let checksum = sum(&packed);
    packed[CHECKSUM_AT..NUMBERS_AT].copy_from_slice(&checksum.to_le_bytes());
    Ok(packed)
}

/// The records that were packed.
///
/// # Errors
///
/// If these bytes are not as they were when they were packed.
pub fn unpack(packed: &[u8]) -> Result<Vec<Record>, UnpackError> {
    let short = UnpackError::Short(packed.len());
    match packed.first() {
        Some(&VERSION) => {}
        Some(version) => return Err(UnpackError::Version(*version)),
        None => return Err(short),
    }
    let checksum = packed.get(CHECKSUM_AT..NUMBERS_AT).and_then(|field| field.try_into().ok());
    if sum(packed) != u32::from_le_bytes(checksum.ok_or(short.clone())?) {
        return Err(UnpackError::Checksum);
    }
    let mut rest = &packed[NUMBERS_AT..];
    let mut number = || {
        let number = varint::take(&mut rest).ok_or(short.clone())?;
        let bytes = usize::try_from(number).ok().filter(|bytes| *bytes <= BYTES_MAX);
        bytes.ok_or(UnpackError::TooLong(number))
    };
    let (bytes, folded_bytes) = (number()?, number()?);
    let folded = frame::unpack(rest, folded_bytes, DICTIONARY).ok_or(UnpackError::Unpack)?;
    let raw = columns::unfold(&folded, bytes).ok_or(UnpackError::Unpack)?;
    let batches = batch::batches(raw.into()).ok_or(UnpackError::Unpack)?;
    let records = batches.iter().map(Batch::records).collect::<Result<Vec<_>, _>>()?;
    Ok(records.into_iter().flatten().collect())
}

/// The checksum of all but the place where it is.
fn sum(packed: &[u8]) -> u32 {
    let [before, behind] =
        [packed.get(..CHECKSUM_AT), packed.get(NUMBERS_AT..)].map(Option::unwrap_or_default);
    crc32c::crc32c_append(crc32c::crc32c(before), behind)
}

/// The batches that records are in.
fn heads(records: &[Record]) -> Vec<BatchHead> {
    let mut heads = Vec::<BatchHead>::new();
    for record in records {
        let Record { offset, run, time, .. } = *record;
        match heads.last_mut() {
            Some(last)
                if (last.end(), last.run, last.time) == (offset, run, time) && last.count < u32::MAX =>
            {
                last.count += 1;
            }
            _ => heads.push(BatchHead { first: offset, count: 1, run, time }),
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{RunNo, Timestamp};
    use crate::record::Kind;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        let event =
            r#"\{"type":"[AB]","id":"[a-c]","delta":"[a-z" \\\\]{0,9}","time":(0|[1-9][0-9]{0,20}|00)\}"#;
        let bytes = prop_oneof![
            8 => event.prop_map(String::into_bytes),
            1 => proptest::collection::vec(any::<u8>(), 0..50),
        ];
        (0_u8..4, bytes).prop_map(|(kind, bytes)| Record {
            offset: 0,
            time: Timestamp(0),
            run: RunNo(0),
            kind: Kind::from_code(kind).unwrap(),
            bytes: bytes.into(),
        })
    }

    /// Records of two runs in one another, with gaps between them.
    fn records() -> impl Strategy<Value = Vec<Record>> {
        let step = (0_u64..10, -1_i64..3, 0_u32..8, record());
        let start = (any::<u32>(), any::<i64>(), any::<u32>());
        (start, proptest::collection::vec(step, 0..40)).prop_map(|((offset, time, run), steps)| {
            let (mut offset, mut time) = (u64::from(offset), time);
            let placed = steps.into_iter().map(|(gap, later, other, record)| {
                offset += if gap > 7 { gap } else { 1 };
                time = if later == 0 { time } else { time.wrapping_add(later) };
                Record {
                    offset,
                    time: Timestamp(time),
                    run: RunNo(if other == 0 { run } else { 7 }),
                    ..record
                }
            });
            placed.collect()
        })
    }

    /// These bytes with a checksum that is right.
    fn sealed(mut packed: Vec<u8>) -> Vec<u8> {
        let checksum = sum(&packed).to_le_bytes();
        packed[CHECKSUM_AT..NUMBERS_AT].copy_from_slice(&checksum);
        packed
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(records in records()) {
            prop_assert_eq!(unpack(&pack(&records).unwrap()), Ok(records));
        }

        #[test]
        fn whatever_is_behind_a_checksum_is_unpacked_or_refused(
            records in records(),
            at in any::<prop::sample::Index>(),
            with: u8,
            bytes in proptest::collection::vec(any::<u8>(), 4..60),
        ) {
            let mut packed = pack(&records).unwrap();
            let at = at.index(packed.len());
            packed[at] = with;
            _ = unpack(&sealed(packed));
            _ = unpack(&sealed([&[VERSION], &bytes[..]].concat()));
        }
    }

    fn pieces(count: u64) -> Vec<Record> {
        let bytes =
            |n: u64| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-1","delta":"the {n}th "}}"#);
        let record = |n| Record {
            offset: n,
            time: Timestamp(1_760_000_000_000 + n.cast_signed() * 37),
            run: RunNo(3),
            kind: Kind::Event,
            bytes: bytes(n).into(),
        };
        (0..count).map(record).collect()
    }

    #[test]
    fn no_bit_of_it_may_change() {
        let packed = pack(&pieces(20)).unwrap();
        for bit in 0..packed.len() * 8 {
            let mut flipped = packed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(unpack(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..packed.len() {
            assert!(unpack(&packed[..length]).is_err(), "length {length}");
        }
        assert_eq!(unpack(b""), Err(UnpackError::Short(0)));
        assert_eq!(unpack(b"\x02more"), Err(UnpackError::Version(2)));
    }

    #[test]
    fn nothing_is_set_aside_for_what_is_only_claimed() {
        let mut packed = vec![VERSION, 0, 0, 0, 0];
        varint::put(&mut packed, BYTES_MAX as u64 + 1);
        assert_eq!(unpack(&sealed(packed)), Err(UnpackError::TooLong(BYTES_MAX as u64 + 1)));
        let mut packed = vec![VERSION, 0, 0, 0, 0];
        varint::put(&mut packed, BYTES_MAX as u64);
        varint::put(&mut packed, BYTES_MAX as u64);
        packed.extend_from_slice(&frame::pack(b"\0\0", DICTIONARY).unwrap());
        assert_eq!(unpack(&sealed(packed)), Err(UnpackError::Unpack));
    }

    #[test]
    fn pieces_of_a_message_take_little() {
        let records = pieces(1000);
        let bytes: usize = records.iter().map(|record| record.bytes.len()).sum();
        let packed = pack(&records).unwrap();
        assert!(packed.len() * 10 < bytes, "{} of {bytes}", packed.len());
    }

    /// What an earlier build has packed. Never made anew.
    #[test]
    fn what_was_packed_once_is_unpacked_for_ever() {
        let packed: Vec<u8> = PACKED_V1
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        assert_eq!(unpack(&packed), Ok(pieces(3)));
    }

    const PACKED_V1: &str = "0117da8af0ac026f28b52ffd206fad01002402030006018080e682b9660000014a01370000000400000909096d2d31\
        30313274682005002b5904ece405ae6325021687bd3a25";
}
