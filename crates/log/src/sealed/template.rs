//! What records have in common: a record without its values.
//!
//! Persisted, so must be kept stable. In a template byte 1 stands for a string with its quotes, 2 for a whole number, 3 for bytes as they
//! are. Nothing is understood of a record: whatever its bytes are, they come back.

use smallvec::SmallVec;

/// A string, with quotes around it.
const TEXT: u8 = 1;
/// A whole number, as it is written in digits.
const NUMBER: u8 = 2;
/// Bytes.
const BARE: u8 = 3;

/// A record with more is kept as it is: it is hardly like others.
const VALUES_MAX: usize = 16;
/// The type of an event tells which others are like it.
const TYPE_KEY: &[u8] = b"\"type\"";
const TYPE_BYTES_MAX: usize = 48;
/// More digits are not taken for a number.
const DIGITS_MAX: usize = 18;

/// What is missing from a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Bytes(&'a [u8]),
    Number(u64),
}

/// A record that was taken apart.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) template: Vec<u8>,
    pub(super) values: SmallVec<[Value<'a>; VALUES_MAX]>,
}

impl<'a> Parts<'a> {
    /// A record as it is.
    pub(super) fn whole(record: &'a [u8]) -> Self {
        let mut parts = Self::default();
        parts.put(BARE, Value::Bytes(record));
        parts
    }

    /// Takes a record apart. None if that is not worth it.
    pub(super) fn of(record: &'a [u8]) -> Option<Self> {
        let mut parts = Self::default();
        let (mut at, mut is_type) = (0, false);
        while let Some(byte) = record.get(at) {
            at = match byte {
                b'"' => {
                    let end = string_end(record, at)?;
                    let string = &record[at..end];
                    let is_key = record.get(end) == Some(&b':');
                    if is_key || (is_type && string.len() <= TYPE_BYTES_MAX) {
                        if string.iter().any(is_mark) {
                            return None;
                        }
                        parts.template.extend_from_slice(string);
                    } else {
                        parts.put(TEXT, Value::Bytes(&record[at + 1..end - 1]));
                    }
                    is_type = is_key && string == TYPE_KEY;
                    end
                }
                b'0'..=b'9' => {
                    let count = record[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let digits = &record[at..at + count];
                    match number(digits) {
                        Some(number) => parts.put(NUMBER, Value::Number(number)),
                        None => parts.put(BARE, Value::Bytes(digits)),
                    }
                    at + count
                }
                byte if is_mark(byte) => return None,
                byte => {
                    parts.template.push(*byte);
                    at + 1
                }
            };
            if parts.values.len() > VALUES_MAX {
                return None;
            }
        }
        Some(parts)
    }

    fn put(&mut self, mark: u8, value: Value<'a>) {
        self.template.push(mark);
        self.values.push(value);
    }
}

fn is_mark(byte: &u8) -> bool {
    (TEXT..=BARE).contains(byte)
}

/// One past the quote that ends the string which begins at a byte.
fn string_end(record: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', record.get(at..)?)?;
        match record[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// The number that would be written in these digits.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.len() > DIGITS_MAX || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Literal(&'a [u8]),
    Text,
    Number,
    Bare,
}

/// The parts of a template, in order.
pub(super) fn pieces(template: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.first() {
        let (piece, bytes) = match *first {
            TEXT => (Piece::Text, 1),
            NUMBER => (Piece::Number, 1),
            BARE => (Piece::Bare, 1),
            _ => {
                let bytes = rest.iter().position(is_mark).unwrap_or(rest.len());
                (Piece::Literal(&rest[..bytes]), bytes)
            }
        };
        pieces.push(piece);
        rest = &rest[bytes..];
    }
    pieces
}

/// Appends a number in digits.
pub(super) fn put_digits(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] += (number % 10).to_le_bytes()[0];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rebuilt(parts: &Parts<'_>) -> Vec<u8> {
        let (mut out, mut values) = (Vec::new(), parts.values.iter());
        for piece in pieces(&parts.template) {
            match piece {
                Piece::Literal(literal) => out.extend_from_slice(literal),
                Piece::Number => match values.next() {
                    Some(Value::Number(number)) => put_digits(&mut out, *number),
                    other => panic!("{other:?}"),
                },
                Piece::Text | Piece::Bare => match values.next() {
                    Some(Value::Bytes(bytes)) if piece == Piece::Text => {
                        out.extend([b"\"", *bytes, b"\""].concat());
                    }
                    Some(Value::Bytes(bytes)) => out.extend_from_slice(bytes),
                    other => panic!("{other:?}"),
                },
            }
        }
        assert_eq!(values.next(), None);
        out
    }

    #[test]
    fn events_of_a_message_have_one_template() {
        let event = |delta: &str, time: u64| {
            format!(
                r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"{delta}","timestamp":{time}}}"#
            )
        };
        let [one, two] = [event("he said: \\\"no\\\" ", 17), event("x", 1_760_000_000_000)];
        let [one, two] = [&one, &two].map(|event| Parts::of(event.as_bytes()).unwrap());
        assert_eq!(one.template, two.template);
        let template =
            "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\u{1},\"delta\":\u{1},\"timestamp\":\u{2}}";
        assert_eq!(one.template, template.as_bytes());
        assert_eq!(
            two.values[..],
            [Value::Bytes(b"a"), Value::Bytes(b"x"), Value::Number(1_760_000_000_000)]
        );
    }

    proptest! {
        #[test]
        fn whatever_is_taken_apart_comes_back(
            record in proptest::collection::vec(
                prop_oneof![Just(b'"'), Just(b':'), Just(b'\\'), b'0'..b'3', 0_u8..5, any::<u8>()], 0..60),
            json in r#"\{"type":"[A-Z_]{0,60}"(,"[a-z]{1,3}":("[a-z" \\\\]{0,5}"|-?[0-9.]{1,22})){0,3}\}"#,
        ) {
            for record in [&record[..], json.as_bytes()] {
                prop_assert_eq!(rebuilt(&Parts::whole(record)), record);
                if let Some(parts) = Parts::of(record) {
                    prop_assert_eq!(rebuilt(&parts), record);
                }
            }
        }
    }
}
