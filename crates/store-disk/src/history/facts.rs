//! The facts of a block.
//!
//! Persisted, so must be kept stable. One after the other: kind `u8`, flags `u8`, run `u32`, the thread's tail `u64`, time `i64`, bytes `u32`, body; all little-endian.
//!
//! *Folded* they are a text, which is worth packing, and [values](super::digits), which are not. The text, in which numbers are varints, or zigzags where they are
//! differences:
//!
//! | what | |
//! |---|---|
//! | facts | how many; for each its kind (a byte) and flags (a byte), its run, tail and time, each minus that of the one before (zigzag, modulo 2^64), and the bytes of its body |
//! | places | where values are missing from the bodies: how many, and each |
//! | bodies | one after the other, without these |

use super::digits;
use crate::entry::FactEntry;
use bytes::{Buf, Bytes};
use threadline_log::{RunNo, Timestamp, varint};

const HEAD_BYTES: usize = 26;

/// Facts in a form that takes few bytes.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) text: Vec<u8>,
    pub(super) values: Vec<u8>,
}

/// Appends a fact.
pub(super) fn put(fact: &FactEntry, out: &mut Vec<u8>) {
    let bytes = u32::try_from(fact.body.len()).expect("the journal takes no entries of 4 GiB");
    out.extend_from_slice(&[fact.kind, fact.flags]);
    out.extend_from_slice(&fact.run.0.to_le_bytes());
    out.extend_from_slice(&fact.tail.to_le_bytes());
    out.extend_from_slice(&fact.time.0.to_le_bytes());
    out.extend_from_slice(&bytes.to_le_bytes());
    out.extend_from_slice(&fact.body);
}

/// The facts in these bytes. None if it is not so.
pub(super) fn facts(mut raw: Bytes) -> Option<Vec<FactEntry>> {
    let mut facts = Vec::new();
    while raw.has_remaining() {
        if raw.remaining() < HEAD_BYTES {
            return None;
        }
        let (kind, flags) = (raw.get_u8(), raw.get_u8());
        let (run, tail) = (RunNo(raw.get_u32_le()), raw.get_u64_le());
        let (time, bytes) = (Timestamp(raw.get_i64_le()), raw.get_u32_le() as usize);
        if raw.remaining() < bytes {
            return None;
        }
        facts.push(FactEntry { kind, flags, run, time, tail, body: raw.split_to(bytes) });
    }
    Some(facts)
}

/// These facts, folded.
pub(super) fn fold(facts: &[FactEntry]) -> Folded {
    let mut text = Vec::new();
    varint::put(&mut text, facts.len() as u64);
    let mut before = [0; 3];
    for fact in facts {
        text.extend_from_slice(&[fact.kind, fact.flags]);
        let numbers = [u64::from(fact.run.0), fact.tail, fact.time.0.cast_unsigned()];
        for (number, before) in numbers.into_iter().zip(before) {
            varint::put_signed(&mut text, number.wrapping_sub(before).cast_signed());
        }
        before = numbers;
        varint::put(&mut text, fact.body.len() as u64);
    }
    let bodies = facts.iter().map(|fact| &fact.body[..]).collect::<Vec<_>>().concat();
    let values = digits::lift(&bodies, &mut text);
    Folded { text, values }
}

/// The facts that were folded, one after the other, in so many bytes. None if it is not so.
pub(super) fn unfold(mut text: &[u8], values: &[u8], bytes: usize) -> Option<Vec<u8>> {
    // Each takes a byte at least.
    let count = usize::try_from(varint::take(&mut text)?).ok().filter(|count| *count <= text.len())?;
    let body_bytes = bytes.checked_sub(count.checked_mul(HEAD_BYTES)?)?;
    let mut facts = Vec::with_capacity(count);
    let mut before = [0_u64; 3];
    for _ in 0..count {
        let &[kind, flags] = text.split_off(..2)?.as_array()?;
        for before in &mut before {
            *before = before.wrapping_add(varint::take_signed(&mut text)?.cast_unsigned());
        }
        let [run, tail, time] = before;
        let (run, time) = (RunNo(u32::try_from(run).ok()?), Timestamp(time.cast_signed()));
        let bytes = usize::try_from(varint::take(&mut text)?).ok()?;
        facts.push((FactEntry { kind, flags, run, time, tail, body: Bytes::new() }, bytes));
    }
    let mut bodies = Bytes::from(digits::lower(text, values, body_bytes)?);
    let mut raw = Vec::with_capacity(bytes);
    for (fact, bytes) in facts {
        if bodies.len() < bytes {
            return None;
        }
        put(&FactEntry { body: bodies.split_to(bytes), ..fact }, &mut raw);
    }
    bodies.is_empty().then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fact() -> impl Strategy<Value = FactEntry> {
        let body = prop_oneof![
            r#"\{"id":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}","digest":"([0-9a-f]{32}){0,2}"\}"#
                .prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..50),
        ];
        let fact = (any::<u8>(), any::<u8>(), any::<u32>(), any::<u64>(), any::<i64>(), body);
        fact.prop_map(|(kind, flags, run, tail, time, body)| FactEntry {
            kind,
            flags,
            run: RunNo(run),
            tail,
            time: Timestamp(time),
            body: body.into(),
        })
    }

    proptest! {
        #[test]
        fn what_was_folded_is_unfolded_to_the_same_facts(
            all in proptest::collection::vec(fact(), 0..6), at in any::<prop::sample::Index>(), with: u8,
        ) {
            let mut raw = Vec::new();
            all.iter().for_each(|fact| put(fact, &mut raw));
            prop_assert_eq!(facts(raw.clone().into()), Some(all.clone()));
            let Folded { mut text, mut values } = fold(&all);
            prop_assert_eq!(unfold(&text, &values, raw.len()), Some(raw.clone()));
            prop_assert_eq!(unfold(&text, &values, raw.len() + 1), None);
            for length in 0..text.len() {
                prop_assert_eq!(unfold(&text[..length], &values, raw.len()), None);
            }
            for length in 0..values.len() {
                prop_assert_eq!(unfold(&text, &values[..length], raw.len()), None);
            }
            // Whatever is in a block is unfolded or refused.
            let at = at.index(text.len());
            text[at] = with;
            let other = unfold(&text, &values, raw.len());
            prop_assert!(other.is_none_or(|other| other.len() == raw.len()));
            values.push(with);
            prop_assert_eq!(unfold(&fold(&all).text, &values, raw.len()), None);
        }

        #[test]
        fn any_bytes_are_unfolded_or_refused(
            text in proptest::collection::vec(0_u8..6, 0..60), values in proptest::collection::vec(any::<u8>(), 0..80),
            length in 0..400_usize,
        ) {
            _ = unfold(&text, &values, length);
        }
    }
}
