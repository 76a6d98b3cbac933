//! Records by column: what the records of a block have in common is said once, and what differs lies together.
//!
//! Persisted, so must be kept stable. A record is a template (`template.rs`) and the values that are missing from it. The pieces of a message
//! lie behind one another as the text that they make, which the block's base has too, and times are small differences.
//!
//! Numbers are varints, or zigzags where they are differences:
//!
//! | what | |
//! |---|---|
//! | batches | how many; for each its first offset minus the end of the one before (zigzag), its run minus the one before (zigzag), its count, its time minus the one before (zigzag) |
//! | templates | how many; for each its length and its bytes |
//! | records | for each four times the number of its template plus its kind |
//! | values | for each template, for each value missing from it, for each record: of a number by how much it is more than the one before (zigzag, modulo 2^64, the first from 0); of others 0 if it is the one before, or else its length plus 1 |
//! | bytes | for each template, for each value missing from it that is no number, for each record: its bytes, if it is not the one before |

use super::batch::{BatchHead, LENGTH_BYTES, coded_length};
use super::template::{Parts, Piece, Value, pieces, put_digits};
use crate::names::{RunNo, Timestamp};
use crate::record::{Kind, Record};
use crate::varint;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Records that are like none of so many are kept as they are.
const TEMPLATES_MAX: usize = 64;

/// Batches with these records by column.
#[must_use]
pub fn fold(heads: &[BatchHead], records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    put_heads(heads, &mut out);
    let (mut templates, mut numbers) = (Vec::<Template<'_>>::new(), HashMap::new());
    let mut codes = Vec::new();
    for record in records {
        let parts = Parts::of(&record.bytes)
            .filter(|parts| templates.len() < TEMPLATES_MAX || numbers.contains_key(&parts.template));
        let Parts { template, values } = parts.unwrap_or_else(|| Parts::whole(&record.bytes));
        let number = match numbers.entry(template) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                templates
                    .push(Template { bytes: place.key().clone(), columns: vec![Vec::new(); values.len()] });
                *place.insert(templates.len() - 1)
            }
        };
        varint::put(&mut codes, (number as u64) << 2 | u64::from(record.kind.code()));
        let columns = &mut templates[number].columns;
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    varint::put(&mut out, templates.len() as u64);
    for template in &templates {
        varint::put(&mut out, template.bytes.len() as u64);
        out.extend_from_slice(&template.bytes);
    }
    out.extend(codes);
    let columns = || templates.iter().flat_map(|template| &template.columns);
    columns().for_each(|column| put_values(column, &mut out));
    columns().for_each(|column| put_bytes(column, &mut out));
    out
}

#[derive(Debug)]
struct Template<'a> {
    bytes: Vec<u8>,
    /// The values of its records, one after the other.
    columns: Vec<Vec<Value<'a>>>,
}

fn put_heads(heads: &[BatchHead], out: &mut Vec<u8>) {
    varint::put(out, heads.len() as u64);
    let mut before = BatchHead { first: 0, count: 0, run: RunNo(0), time: Timestamp(0) };
    for head in heads {
        varint::put_signed(out, head.first.wrapping_sub(before.end()).cast_signed());
        varint::put_signed(out, i64::from(head.run.0) - i64::from(before.run.0));
        varint::put(out, head.count.into());
        varint::put_signed(out, head.time.0.wrapping_sub(before.time.0));
        before = *head;
    }
}

/// The one before, for each value.
fn with_before<'c, 'a>(column: &'c [Value<'a>]) -> impl Iterator<Item = (Option<Value<'a>>, Value<'a>)> + 'c {
    let before = std::iter::once(None).chain(column.iter().copied().map(Some));
    before.zip(column.iter().copied())
}

fn put_values(column: &[Value<'_>], out: &mut Vec<u8>) {
    for (before, value) in with_before(column) {
        match (value, before) {
            (Value::Number(number), Some(Value::Number(before))) => {
                varint::put_signed(out, number.wrapping_sub(before).cast_signed());
            }
            (Value::Number(number), _) => varint::put_signed(out, number.cast_signed()),
            (Value::Bytes(_), before) if before == Some(value) => varint::put(out, 0),
            (Value::Bytes(bytes), _) => varint::put(out, bytes.len() as u64 + 1),
        }
    }
}

fn put_bytes(column: &[Value<'_>], out: &mut Vec<u8>) {
    for (before, value) in with_before(column) {
        match value {
            Value::Bytes(bytes) if before != Some(value) => out.extend_from_slice(bytes),
            Value::Bytes(_) | Value::Number(_) => {}
        }
    }
}

/// The batches that were folded, one after the other, in so many bytes. None if it is not so.
#[must_use]
pub fn unfold(mut folded: &[u8], bytes: usize) -> Option<Vec<u8>> {
    // No more is set aside at first, whatever is claimed.
    let likely_bytes = bytes.min(folded.len().saturating_mul(32));
    let heads = take_heads(&mut folded)?;
    let templates = take_counted(&mut folded, |folded| {
        let bytes = usize::try_from(varint::take(folded)?).ok()?;
        Some(pieces(folded.split_off(..bytes)?))
    })?;
    let records = heads.iter().try_fold(0_usize, |sum, head| sum.checked_add(head.count as usize))?;
    let mut counts = vec![0; templates.len()];
    let mut codes = Vec::with_capacity(records.min(folded.len()));
    for _ in 0..records {
        let code = varint::take(&mut folded)?;
        let template = usize::try_from(code >> 2).ok()?;
        *counts.get_mut(template)? += 1;
        codes.push((template, Kind::from_code((code & 3).to_le_bytes()[0])?));
    }
    let mut columns = Vec::with_capacity(templates.len());
    for (pieces, count) in templates.iter().zip(&counts) {
        columns.push(take_columns(&mut folded, pieces, *count)?);
    }
    for column in columns.iter_mut().flatten() {
        column.take_bytes(&mut folded)?;
    }
    if !folded.is_empty() {
        return None;
    }
    let mut plain = Plain { out: Vec::with_capacity(likely_bytes), bytes_max: bytes, lengths_at: 0 };
    let mut codes = codes.into_iter();
    for head in &heads {
        plain.begin(head)?;
        for index in 0..head.count {
            let (template, kind) = codes.next()?;
            plain.record(index, kind, &templates[template], &mut columns[template])?;
        }
        plain.end()?;
    }
    (plain.out.len() == bytes).then_some(plain.out)
}

/// Takes a number, and so many of something. Each takes a byte at least.
fn take_counted<'a, T>(
    folded: &mut &'a [u8],
    mut take: impl FnMut(&mut &'a [u8]) -> Option<T>,
) -> Option<Vec<T>> {
    let count = usize::try_from(varint::take(folded)?).ok().filter(|count| *count <= folded.len())?;
    (0..count).map(|_| take(folded)).collect()
}

fn take_heads(folded: &mut &[u8]) -> Option<Vec<BatchHead>> {
    let mut before = BatchHead { first: 0, count: 0, run: RunNo(0), time: Timestamp(0) };
    take_counted(folded, |folded| {
        let first = before.end().wrapping_add(varint::take_signed(folded)?.cast_unsigned());
        let run = i64::from(before.run.0).checked_add(varint::take_signed(folded)?)?;
        let count = u32::try_from(varint::take(folded)?).ok()?;
        let time = before.time.0.wrapping_add(varint::take_signed(folded)?);
        before = BatchHead { first, count, run: RunNo(u32::try_from(run).ok()?), time: Timestamp(time) };
        Some(before)
    })
}

/// The values of one place in a template.
#[derive(Debug)]
struct Column<'a> {
    is_number: bool,
    /// Numbers; of others 0 for the one before, or their lengths plus 1.
    values: std::vec::IntoIter<u64>,
    /// The bytes of all that are not the one before.
    bytes: &'a [u8],
    before: &'a [u8],
}

/// The columns of a template that so many records have.
fn take_columns<'a>(folded: &mut &'a [u8], pieces: &[Piece<'_>], count: usize) -> Option<Vec<Column<'a>>> {
    let missing = pieces.iter().filter(|piece| !matches!(piece, Piece::Literal(_)));
    let columns = missing.map(|piece| {
        let is_number = *piece == Piece::Number;
        let mut values = Vec::with_capacity(count.min(folded.len()));
        let mut before = 0_u64;
        for _ in 0..count {
            values.push(match is_number {
                true => {
                    before = before.wrapping_add(varint::take_signed(folded)?.cast_unsigned());
                    before
                }
                false => varint::take(folded)?,
            });
        }
        Some(Column { is_number, values: values.into_iter(), bytes: &[], before: &[] })
    });
    columns.collect()
}

impl<'a> Column<'a> {
    fn take_bytes(&mut self, folded: &mut &'a [u8]) -> Option<()> {
        if self.is_number {
            return Some(());
        }
        let lengths = self.values.as_slice().iter().map(|length| length.saturating_sub(1));
        let bytes = lengths.fold(0_u64, u64::saturating_add);
        self.bytes = folded.split_off(..usize::try_from(bytes).ok()?)?;
        Some(())
    }

    fn next_bytes(&mut self) -> Option<&'a [u8]> {
        if let Some(length) = self.values.next()?.checked_sub(1) {
            self.before = self.bytes.split_off(..usize::try_from(length).ok()?)?;
        }
        Some(self.before)
    }
}

/// Batches one after the other.
#[derive(Debug)]
struct Plain {
    out: Vec<u8>,
    bytes_max: usize,
    /// Where the lengths of the batch's records are.
    lengths_at: usize,
}

impl Plain {
    fn begin(&mut self, head: &BatchHead) -> Option<()> {
        head.put(0, &mut self.out);
        self.lengths_at = self.out.len();
        let lengths_bytes = (head.count as usize).checked_mul(LENGTH_BYTES)?;
        if self.bytes_max.checked_sub(self.out.len())? < lengths_bytes {
            return None;
        }
        self.out.resize(self.lengths_at + lengths_bytes, 0);
        Some(())
    }

    fn record(
        &mut self,
        index: u32,
        kind: Kind,
        pieces: &[Piece<'_>],
        columns: &mut [Column<'_>],
    ) -> Option<()> {
        let start = self.out.len();
        let mut columns = columns.iter_mut();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => self.out.extend_from_slice(literal),
                Piece::Number => put_digits(&mut self.out, columns.next()?.values.next()?),
                Piece::Bare => self.out.extend_from_slice(columns.next()?.next_bytes()?),
                Piece::Text => {
                    self.out.push(b'"');
                    self.out.extend_from_slice(columns.next()?.next_bytes()?);
                    self.out.push(b'"');
                }
            }
        }
        if self.out.len() > self.bytes_max {
            return None;
        }
        let at = self.lengths_at + index as usize * LENGTH_BYTES;
        let length = coded_length(self.out.len() - start, kind)?;
        self.out[at..at + LENGTH_BYTES].copy_from_slice(&length);
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        let bytes = u32::try_from(self.out.len() - self.lengths_at).ok()?;
        self.out[self.lengths_at - 4..self.lengths_at].copy_from_slice(&bytes.to_le_bytes());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::NewRecord;
    use crate::sealed::batch::{Batch, encode_records};
    use bytes::Bytes;
    use proptest::prelude::*;

    fn plain(batches: &[Batch]) -> Vec<u8> {
        let mut out = Vec::new();
        for Batch { head, body } in batches {
            head.put(u32::try_from(body.len()).unwrap(), &mut out);
            out.extend_from_slice(body);
        }
        out
    }

    fn folded(batches: &[Batch]) -> Vec<u8> {
        let heads: Vec<BatchHead> = batches.iter().map(|batch| batch.head).collect();
        let records: Vec<Record> = batches.iter().flat_map(|batch| batch.records().unwrap()).collect();
        fold(&heads, &records)
    }

    fn batch(first: u64, run: u32, time: i64, records: &[(u8, Vec<u8>)]) -> Batch {
        let records = records.iter().map(|(kind, bytes)| NewRecord {
            kind: Kind::from_code(*kind).unwrap(),
            bytes: Bytes::copy_from_slice(bytes),
        });
        let records: Vec<NewRecord> = records.collect();
        let count = u32::try_from(records.len()).unwrap();
        let head = BatchHead { first, count, run: RunNo(run), time: Timestamp(time) };
        Batch { head, body: encode_records(&records).unwrap().into() }
    }

    fn record() -> impl Strategy<Value = Vec<u8>> {
        let piece =
            r#"\{"type":"[AB]","id":"[a-c]","delta":"[a-z" \\\\]{0,9}","time":(0|[1-9][0-9]{0,20}|00)\}"#;
        prop_oneof![
            8 => piece.prop_map(String::into_bytes),
            1 => proptest::collection::vec(any::<u8>(), 0..50),
            1 => r#"\[("x",){15,17}1\]"#.prop_map(String::into_bytes),
        ]
    }

    fn batches() -> impl Strategy<Value = Vec<Batch>> {
        let one = (any::<u64>(), any::<u32>(), any::<i64>());
        let one = (one, proptest::collection::vec((0_u8..4, record()), 0..20));
        let one = one.prop_map(|((first, run, time), records)| batch(first, run, time, &records));
        proptest::collection::vec(one, 0..5)
    }

    proptest! {
        #[test]
        fn what_was_folded_is_unfolded_to_the_same_bytes(batches in batches(), at in any::<prop::sample::Index>(), with: u8) {
            let plain = plain(&batches);
            let mut folded = folded(&batches);
            prop_assert_eq!(unfold(&folded, plain.len()), Some(plain.clone()));
            prop_assert_eq!(unfold(&folded, plain.len() + 1), None);
            if let Some(fewer) = plain.len().checked_sub(1) {
                prop_assert_eq!(unfold(&folded, fewer), None);
            }
            for length in 0..folded.len() {
                prop_assert_eq!(unfold(&folded[..length], plain.len()), None);
            }
            // Whatever is in a frame is unfolded or refused.
            let at = at.index(folded.len());
            folded[at] = with;
            let other = unfold(&folded, plain.len());
            prop_assert!(other.is_none_or(|other| other.len() == plain.len()));
        }

        #[test]
        fn any_bytes_are_unfolded_or_refused(bytes in proptest::collection::vec(0_u8..6, 0..60), length in 0..200_usize) {
            _ = unfold(&bytes, length);
        }
    }

    #[test]
    fn records_that_are_like_too_many_others_are_kept_as_they_are() {
        let records: Vec<_> = (0..200_u32).map(|n| (0, format!("{{\"{n}-\":1}}").into_bytes())).collect();
        let batches = [batch(0, 0, 0, &records)];
        let folded = folded(&batches);
        let plain = plain(&batches);
        assert_eq!(unfold(&folded, plain.len()), Some(plain));
        let mut rest = &folded[6..];
        assert_eq!(varint::take(&mut rest), Some(TEMPLATES_MAX as u64 + 1));
    }

    #[test]
    fn pieces_of_a_message_take_little_more_than_their_text() {
        let event = |n: u64| {
            let time = 1_760_000_000_000 + n * 37;
            format!(
                r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-1","delta":"{} words","timestamp":{time}}}"#,
                n * n
            )
        };
        let records: Vec<_> = (0..100).map(|n| (0, event(n).into_bytes())).collect();
        let folded = folded(&[batch(0, 0, 0, &records)]);
        assert!(folded.len() < 100 * 15 + 150, "{}", folded.len());
    }
}
