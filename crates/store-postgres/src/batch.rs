//! The records of a row.
//!
//! Persisted, so must be kept stable. The first byte is the form. Form 1: the CRC-32C of what follows, `u32`; for each record four times its length plus
//! the code of its kind, `u32`; then the bytes of all of them. Form 2: records that were packed when their run had ended, as
//! [`threadline_log::sealed`] has them. Numbers are little-endian.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use threadline_log::{Error, Kind, NewRecord, Record, RunNo, Timestamp, sealed};
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};

const PLAIN: u8 = 1;
const PACKED: u8 = 2;
const HEAD_BYTES: usize = 5;
const LENGTH_BYTES: usize = 4;

/// The most that a row may have: what PostgreSQL takes as one value, and some room.
pub(crate) const BODY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Where a row says that its records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) first: u64,
    pub(crate) count: usize,
    pub(crate) run: RunNo,
    pub(crate) time: Timestamp,
}

/// How many bytes the body of a row with these records has, if a row may have so many.
pub(crate) fn bytes_of(records: &[NewRecord]) -> Result<usize, Error> {
    let bytes = HEAD_BYTES + records.iter().map(|record| LENGTH_BYTES + record.bytes.len()).sum::<usize>();
    if bytes > BODY_BYTES_MAX { Err(Error::TooLarge { bytes, max: BODY_BYTES_MAX }) } else { Ok(bytes) }
}

/// The body of a row: records as they came, no more than it may have. It is made where it is sent, and nowhere else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a>(pub(crate) &'a [NewRecord]);

impl Body<'_> {
    fn put(self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u8(PLAIN);
        out.put_u32_le(0);
        for record in self.0 {
            let length = u32::try_from(record.bytes.len()).expect("less than the most that a row may have");
            out.put_u32_le(length << 2 | u32::from(record.kind.code()));
        }
        self.0.iter().for_each(|record| out.extend_from_slice(&record.bytes));
        let (head, content) = out[start..].split_at_mut(HEAD_BYTES);
        head[1..].copy_from_slice(&crc32c::crc32c(content).to_le_bytes());
    }
}

impl ToSql for Body<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.put(out);
        Ok(IsNull::No)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

/// Records that nobody adds to any more, as small as they can be. None if they cannot be packed.
pub(crate) fn pack(records: &[Record]) -> Option<Vec<u8>> {
    let packed = sealed::pack(records).ok()?;
    Some([&[PACKED], &packed[..]].concat())
}

/// The records of a row. What is wrong with it is said without its place.
pub(crate) fn decode(place: Place, body: &[u8]) -> Result<Vec<Record>, String> {
    match body.first() {
        Some(&PLAIN) => plain(place, body).ok_or_else(|| "the checksum is wrong".to_owned()),
        Some(&PACKED) => {
            let records = sealed::unpack(&body[1..]).map_err(|error| error.to_string())?;
            let is_whole = records.len() == place.count
                && (place.first..)
                    .zip(&records)
                    .all(|(offset, record)| record.offset == offset && record.run == place.run);
            if is_whole { Ok(records) } else { Err("the records are not those of the row".to_owned()) }
        }
        form => Err(format!("the form is unknown. form={form:?}")),
    }
}

fn plain(place: Place, body: &[u8]) -> Option<Vec<Record>> {
    let (head, content) = body.split_at_checked(HEAD_BYTES)?;
    if crc32c::crc32c(content).to_le_bytes() != head[1..] || content.len() / LENGTH_BYTES < place.count {
        return None;
    }
    let mut content: Bytes = BytesMut::from(content).freeze();
    let mut heads = content.split_to(place.count * LENGTH_BYTES);
    let mut records = Vec::with_capacity(place.count);
    for offset in (place.first..).take(place.count) {
        let head = heads.get_u32_le();
        let length = (head >> 2) as usize;
        if content.len() < length {
            return None;
        }
        let kind = Kind::from_code(u8::try_from(head & 3).ok()?)?;
        let (run, time) = (place.run, place.time);
        records.push(Record { offset, time, run, kind, bytes: content.split_to(length) });
    }
    content.is_empty().then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_records() -> impl Strategy<Value = Vec<NewRecord>> {
        let kind = (0..4_u8).prop_map(|code| Kind::from_code(code).unwrap());
        let record = (kind, any::<Vec<u8>>());
        let record = record.prop_map(|(kind, bytes)| NewRecord { kind, bytes: bytes.into() });
        proptest::collection::vec(record, 0..8)
    }

    proptest! {
        #[test]
        fn records_come_back_and_damage_is_seen(records in any_records(), at in any::<usize>(), bit in 0..8_u8) {
            let place = Place { first: 7, count: records.len(), run: RunNo(3), time: Timestamp(9) };
            let mut body = BytesMut::new();
            Body(&records).put(&mut body);
            prop_assert_eq!(body.len(), bytes_of(&records).unwrap());
            let decoded = decode(place, &body).unwrap();
            prop_assert_eq!(decoded.len(), records.len());
            for ((offset, record), came) in (7..).zip(&decoded).zip(&records) {
                prop_assert_eq!((record.offset, record.run, record.time), (offset, RunNo(3), Timestamp(9)));
                prop_assert_eq!((record.kind, &record.bytes), (came.kind, &came.bytes));
            }
            let at = at % body.len();
            body[at] ^= 1 << bit;
            prop_assert!(decode(place, &body).is_err());
            body[at] ^= 1 << bit;
            prop_assert!(decode(place, &body[..at]).is_err());
            let packed = pack(&decoded).unwrap();
            prop_assert_eq!(decode(place, &packed), Ok(decoded));
            let elsewhere = decode(Place { first: 8, ..place }, &packed);
            prop_assert!(elsewhere.is_err() || records.is_empty());
        }
    }
}
