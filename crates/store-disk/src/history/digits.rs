//! Ids and digests as the bytes that their digits stand for.
//!
//! Persisted, so must be kept stable. Hexadecimal digits of something random can be packed to half of their length at best, and are not, where there is prose
//! beside them. Here UUIDs, and 32 or 64 digits in a row, all in lower case, are *lifted* from a text: what is left of it is worth packing, and their bytes, each
//! value once, are not. Nothing is understood of the text: whatever it is, it comes back.
//!
//! | what | |
//! |---|---|
//! | places | how many; for each the bytes of text between it and the one before, the number of its value, and if that is the next new one its form: 0 a UUID, 1 32 digits, 2 64 digits |
//! | text | what is left |
//!
//! Numbers are varints. The values lie elsewhere, in the order of their numbers, which begin with 0.

use std::collections::HashMap;
use threadline_log::{hex, varint};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Uuid,
    Digits32,
    Digits64,
}

/// The lengths of the parts of a UUID, between which are dashes.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];
const FORMS: [Form; 3] = [Form::Uuid, Form::Digits32, Form::Digits64];

impl Form {
    const fn code(self) -> u64 {
        self as u64
    }

    fn from_code(code: u64) -> Option<Self> {
        FORMS.get(usize::try_from(code).ok()?).copied()
    }

    /// How many bytes its digits stand for.
    const fn value_bytes(self) -> usize {
        match self {
            Self::Uuid | Self::Digits32 => 16,
            Self::Digits64 => 32,
        }
    }

    /// How many bytes it has when it is written.
    const fn text_bytes(self) -> usize {
        match self {
            Self::Uuid => 36,
            Self::Digits32 | Self::Digits64 => 2 * self.value_bytes(),
        }
    }

    /// The form of a text that begins with so many digits and no more.
    fn of(text: &[u8], digits: usize) -> Option<Self> {
        match digits {
            8 => is_uuid(text).then_some(Self::Uuid),
            32 => Some(Self::Digits32),
            64 => Some(Self::Digits64),
            _ => None,
        }
    }

    fn write(self, value: &[u8]) -> String {
        let mut text = hex::to_hex(value);
        if self == Self::Uuid {
            [8, 13, 18, 23].into_iter().for_each(|at| text.insert(at, '-'));
        }
        text
    }
}

/// How many digits a text begins with.
fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count()
}

/// Whether a text begins with a UUID.
fn is_uuid(mut text: &[u8]) -> bool {
    UUID_PARTS.iter().enumerate().all(|(index, digits)| {
        let has_dash = index == 0 || text.split_off_first() == Some(&b'-');
        has_dash && leading_digits(text) == *digits && text.split_off(..*digits).is_some()
    })
}

/// The bytes that the digits of a text stand for.
fn value(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.iter().filter(|byte| **byte != b'-').map(|byte| char::from(*byte)).collect::<String>();
    hex::from_hex(&digits)
}

/// Appends the places and what is left of a text. Returns the values.
pub(super) fn lift(text: &[u8], out: &mut Vec<u8>) -> Vec<u8> {
    let (mut places, mut count) = (Vec::new(), 0_u64);
    let (mut left, mut values) = (Vec::with_capacity(text.len()), Vec::new());
    let mut numbers = HashMap::new();
    let (mut at, mut place_before) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let digits = leading_digits(rest);
        let lifted = Form::of(rest, digits).and_then(|form| Some((form, value(&rest[..form.text_bytes()])?)));
        let Some((form, value)) = lifted else {
            left.extend_from_slice(&rest[..digits.max(1)]);
            at += digits.max(1);
            continue;
        };
        varint::put(&mut places, (left.len() - place_before) as u64);
        place_before = left.len();
        let next = numbers.len() as u64;
        let number = *numbers.entry(&rest[..form.text_bytes()]).or_insert(next);
        varint::put(&mut places, number);
        if number == next {
            varint::put(&mut places, form.code());
            values.extend_from_slice(&value);
        }
        count += 1;
        at += form.text_bytes();
    }
    varint::put(out, count);
    out.extend_from_slice(&places);
    out.extend_from_slice(&left);
    values
}

/// The text from which something was lifted, in so many bytes. None if it is not so.
pub(super) fn lower(mut lifted: &[u8], mut values: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let count = varint::take(&mut lifted)?;
    let mut written = Vec::new();
    let mut places = Vec::new();
    for _ in 0..count {
        let between = usize::try_from(varint::take(&mut lifted)?).ok()?;
        let number = usize::try_from(varint::take(&mut lifted)?).ok()?;
        if number == written.len() {
            let form = Form::from_code(varint::take(&mut lifted)?)?;
            written.push(form.write(values.split_off(..form.value_bytes())?));
        }
        places.push((between, number));
    }
    let mut text = Vec::with_capacity(bytes.min(lifted.len().saturating_mul(4)));
    for (between, number) in places {
        text.extend_from_slice(lifted.split_off(..between)?);
        text.extend_from_slice(written.get(number)?.as_bytes());
        // What is claimed again and again is no reason to take more memory than was promised.
        if text.len() > bytes {
            return None;
        }
    }
    text.extend_from_slice(lifted);
    (values.is_empty() && text.len() == bytes).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0198c0de-7a3f-4b7c-80d8-e07830a17560";
    const DIGEST: &str = "6f1a9c432314ad5394507ceb3bb06fcf572794656979e568bbd895cc7b682a49";

    #[test]
    fn ids_and_digests_are_lifted_once_and_come_back() {
        let half = &DIGEST[..32];
        for (text, left, value_bytes) in [
            (String::new(), String::new(), 0),
            (format!("{{\"id\":\"{ID}\"}}"), "{\"id\":\"\"}".to_owned(), 16),
            (format!("<{DIGEST}>{ID}"), "<>".to_owned(), 48),
            (format!("{ID}, {ID}{ID} {half}-{half}"), format!(", {ID}{ID} -"), 32),
            (format!("{ID} {ID} {DIGEST} {ID}"), "   ".to_owned(), 48),
            (format!("decade {ID}0 a{ID} {half}f"), format!("decade {ID}0 a{ID} {half}f"), 0),
            (ID.to_uppercase(), ID.to_uppercase(), 0),
            (ID[..35].to_owned(), ID[..35].to_owned(), 0),
        ] {
            let mut lifted = Vec::new();
            let values = lift(text.as_bytes(), &mut lifted);
            assert_eq!(values.len(), value_bytes, "{text}");
            assert!(lifted.ends_with(left.as_bytes()), "{text}");
            assert!(lifted.len() <= 1 + 3 * 4 + left.len(), "{text}");
            assert_eq!(lower(&lifted, &values, text.len()).as_deref(), Some(text.as_bytes()));
            assert_eq!(lower(&lifted, &values, text.len() + 1), None, "{text}");
        }
    }

    #[test]
    fn no_more_is_written_than_was_promised() {
        // A thousand places of one value.
        let mut lifted = vec![0xe8, 7, 0, 0, 0];
        lifted.resize(5 + 2 * 999, 0);
        assert_eq!(lower(&lifted, &[7; 16], 36 * 1000).unwrap().len(), 36 * 1000);
        assert_eq!(lower(&lifted, &[7; 16], 100), None);
    }
}
