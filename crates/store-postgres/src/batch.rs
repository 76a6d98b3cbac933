//! The records of a row.
//!
//! Persisted, so must be kept stable. The first byte is the form. Form 3: the CRC-32C of what follows, `u32`; how many bytes the records have, `u32`;
//! then the records, which [share](shared) their beginnings. Form 2: records that were packed when their run had ended, as [`threadline_log::sealed`] has
//! them. Form 1, which is no longer written: the CRC-32C of what follows, `u32`; then the records as a [body](sealed::batch) in which nothing is shared.
//! Numbers are little-endian.

use bytes::{BufMut, Bytes, BytesMut};
use threadline_log::sealed::batch::{BatchHead, decode_records};
use threadline_log::sealed::shared;
use threadline_log::{Error, NewRecord, Record, sealed};
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};

const PLAIN: u8 = 1;
const PACKED: u8 = 2;
const SHARED: u8 = 3;
/// Form and checksum.
const HEAD_BYTES: usize = 5;
/// How many bytes the records have.
const SUM_BYTES: usize = 4;
/// What a record takes at most beside its own bytes.
const LENGTH_BYTES_MAX: usize = 6;

/// The most that a row may have: what PostgreSQL takes as one value, and some room.
pub(crate) const BODY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// How many bytes the body of a row with these records has at most, if a row may have so many.
pub(crate) fn bytes_of(records: &[NewRecord]) -> Result<usize, Error> {
    let records = records.iter().map(|record| LENGTH_BYTES_MAX + record.bytes.len()).sum::<usize>();
    let bytes = HEAD_BYTES + SUM_BYTES + records;
    if bytes > BODY_BYTES_MAX { Err(Error::TooLarge { bytes, max: BODY_BYTES_MAX }) } else { Ok(bytes) }
}

/// The body of a row: records as they came, no more than it may have. It is made where it is sent, and nowhere else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a>(pub(crate) &'a [NewRecord]);

impl Body<'_> {
    fn put(self, out: &mut BytesMut) {
        let fits = "less than the most that a row may have";
        let bytes: usize = self.0.iter().map(|record| record.bytes.len()).sum();
        let start = out.len();
        out.put_u8(SHARED);
        out.put_u32_le(0);
        out.put_u32_le(u32::try_from(bytes).expect(fits));
        let parts = self.0.iter().map(|record| (record.kind, &record.bytes[..]));
        out.extend_from_slice(&shared::encode(parts).expect(fits));
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
pub(crate) fn decode(head: BatchHead, body: &[u8]) -> Result<Vec<Record>, String> {
    match body.first() {
        Some(&SHARED) => records(head, &unshared(head.count, checked(body)?)?),
        Some(&PACKED) => {
            let records = sealed::unpack(&body[1..]).map_err(|error| error.to_string())?;
            let is_whole = records.len() == head.count as usize
                && (head.first..)
                    .zip(&records)
                    .all(|(offset, record)| record.offset == offset && record.run == head.run);
            if is_whole { Ok(records) } else { Err("the records are not those of the row".to_owned()) }
        }
        Some(&PLAIN) => records(head, &Bytes::copy_from_slice(checked(body)?)),
        form => Err(format!("the form is unknown. form={form:?}")),
    }
}

/// What is behind a checksum that is right.
fn checked(body: &[u8]) -> Result<&[u8], String> {
    let (head, content) = body.split_at_checked(HEAD_BYTES).ok_or("there is no checksum")?;
    match crc32c::crc32c(content).to_le_bytes() == head[1..] {
        true => Ok(content),
        false => Err("the checksum is wrong".to_owned()),
    }
}

fn unshared(count: u32, content: &[u8]) -> Result<Bytes, String> {
    let (sum, body) =
        content.split_first_chunk::<SUM_BYTES>().ok_or("it is not said how many bytes the records have")?;
    shared::decode(count, u32::from_le_bytes(*sum).into(), body).map_err(|error| error.to_string())
}

fn records(head: BatchHead, body: &Bytes) -> Result<Vec<Record>, String> {
    decode_records(head, body).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use threadline_log::sealed::batch::encode_records;
    use threadline_log::{Kind, RunNo, Timestamp};

    fn any_records() -> impl Strategy<Value = Vec<NewRecord>> {
        let kind = (0..4_u8).prop_map(|code| Kind::from_code(code).unwrap());
        let bytes = proptest::collection::vec(prop_oneof![20 => Just(b'{'), 1 => any::<u8>()], 0..40);
        let record = (kind, bytes).prop_map(|(kind, bytes)| NewRecord { kind, bytes: bytes.into() });
        proptest::collection::vec(record, 0..8)
    }

    fn head(records: &[NewRecord]) -> BatchHead {
        let count = u32::try_from(records.len()).unwrap();
        BatchHead { first: 7, count, run: RunNo(3), time: Timestamp(9) }
    }

    /// As rows were written before their records shared anything.
    fn plain_body(records: &[NewRecord]) -> BytesMut {
        let content = encode_records(records).unwrap();
        let mut body = BytesMut::new();
        body.put_u8(PLAIN);
        body.put_u32_le(crc32c::crc32c(&content));
        body.extend_from_slice(&content);
        body
    }

    proptest! {
        #[test]
        fn records_come_back_and_damage_is_seen(records in any_records(), at in any::<usize>(), bit in 0..8_u8) {
            let head = head(&records);
            let mut shared = BytesMut::new();
            Body(&records).put(&mut shared);
            prop_assert!(shared.len() <= bytes_of(&records).unwrap());
            for mut body in [shared, plain_body(&records)] {
                let decoded = decode(head, &body).unwrap();
                prop_assert_eq!(decoded.len(), records.len());
                for ((offset, record), came) in (7..).zip(&decoded).zip(&records) {
                    prop_assert_eq!((record.offset, record.run, record.time), (offset, RunNo(3), Timestamp(9)));
                    prop_assert_eq!((record.kind, &record.bytes), (came.kind, &came.bytes));
                }
                let at = at % body.len();
                body[at] ^= 1 << bit;
                prop_assert!(decode(head, &body).is_err());
                body[at] ^= 1 << bit;
                prop_assert!(decode(head, &body[..at]).is_err());
                let packed = pack(&decoded).unwrap();
                prop_assert_eq!(decode(head, &packed), Ok(decoded));
                let elsewhere = decode(BatchHead { first: 8, ..head }, &packed);
                prop_assert!(elsewhere.is_err() || records.is_empty());
            }
        }
    }

    #[test]
    fn rows_are_as_they_were_and_will_be() {
        let records = ["{\"delta\":\"a\"}", "{\"delta\":\"bc\"}"].map(NewRecord::event);
        let mut body = BytesMut::new();
        Body(&records).put(&mut body);
        // 27 bytes in all; 13 of the first; 4 of the second, which has 10 in common with it.
        assert_eq!(&body[..], b"\x03\x4b\x08\x2a\xe4\x1b\0\0\0\x34\x10\x0a{\"delta\":\"a\"}bc\"}");
        let plain = b"\x01\x72\x2b\x56\x60\x34\0\0\0\x38\0\0\0{\"delta\":\"a\"}{\"delta\":\"bc\"}";
        assert_eq!(decode(head(&records), plain), decode(head(&records), &body));
    }
}
