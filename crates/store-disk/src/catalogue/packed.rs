//! Values in few bytes: numbers as varints, texts that are digits of numbers as these.

use serde::Serialize;
use serde::de::DeserializeOwned;
use threadline_log::varint;

/// A text as it is.
const PLAIN: u64 = 0;
/// A text of hexadecimal digits.
const HEX: u64 = 1;
/// Hexadecimal digits with hyphens as a UUID has them.
const UUID: u64 = 2;

/// Where a UUID has hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
const UUID_BYTES: usize = 36;

/// Values, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn number(&mut self, number: u64) {
        varint::put(&mut self.0, number);
    }

    pub(super) fn signed(&mut self, number: i64) {
        varint::put_signed(&mut self.0, number);
    }

    /// A number that may be any.
    pub(super) fn hash(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let is_uuid = text.len() == UUID_BYTES && HYPHENS.iter().all(|at| text.as_bytes()[*at] == b'-');
        let digits = if is_uuid { without_hyphens(text) } else { text.to_owned() };
        match unhex(&digits) {
            Some(bytes) => self.put(if is_uuid { UUID } else { HEX }, &bytes),
            None => self.put(PLAIN, text.as_bytes()),
        }
    }

    fn put(&mut self, form: u64, bytes: &[u8]) {
        self.number((bytes.len() as u64) << 2 | form);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn json(&mut self, value: &impl Serialize) {
        let json = serde_json::to_vec(value).expect("rows have no maps with odd keys");
        self.put(PLAIN, &json);
    }
}

/// Values that are taken one by one. None if the next is no such value.
#[derive(Debug)]
pub(super) struct Unpacked<'a>(&'a [u8]);

impl<'a> Unpacked<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        varint::take(&mut self.0)
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        varint::take_signed(&mut self.0)
    }

    pub(super) fn hash(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// None if there is neither a value nor that there is none.
    #[expect(clippy::option_option, reason = "what is not there is not what cannot be read")]
    pub(super) fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.number()? {
            0 => Some(None),
            1 => take(self).map(Some),
            _ => None,
        }
    }

    pub(super) fn text(&mut self) -> Option<String> {
        match self.bytes()? {
            (PLAIN, bytes) => String::from_utf8(bytes.to_vec()).ok(),
            (HEX, bytes) => Some(hex(bytes)),
            (UUID, bytes) => {
                let mut text = hex(bytes);
                HYPHENS.iter().all(|at| text.is_char_boundary(*at)).then_some(())?;
                HYPHENS.iter().for_each(|at| text.insert(*at, '-'));
                Some(text)
            }
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<(u64, &'a [u8])> {
        let code = self.number()?;
        Some((code & 3, self.0.split_off(..usize::try_from(code >> 2).ok()?)?))
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_slice(self.bytes()?.1).ok()
    }
}

fn without_hyphens(text: &str) -> String {
    let digits = text.char_indices().filter(|(at, _)| !HYPHENS.contains(at));
    digits.map(|(_, digit)| digit).collect()
}

/// The bytes that these digits are, if they are written as [`hex`] does.
fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |digit: &u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes =
        pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect::<Option<_>>()?;
    rest.is_empty().then_some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    let digit = |number: u8| char::from_digit(number.into(), 16).expect("it has four bits");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back(
            text in prop_oneof![
                ".{0,40}",
                "[0-9a-f]{0,70}",
                "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                "[0-9A-F-]{36}",
                "é{18}",
            ],
            number: u64,
            maybe: Option<i64>,
            cut in any::<prop::sample::Index>(),
        ) {
            let mut packed = Packed::default();
            packed.text(&text);
            packed.hash(number);
            packed.option(maybe, Packed::signed);
            packed.json(&text);
            let bytes = packed.into_bytes();
            let mut unpacked = Unpacked::new(&bytes);
            prop_assert_eq!(unpacked.text(), Some(text.clone()));
            prop_assert_eq!(unpacked.hash(), Some(number));
            prop_assert_eq!(unpacked.option(Unpacked::signed), Some(maybe));
            prop_assert_eq!(unpacked.json(), Some(text));
            prop_assert!(unpacked.is_empty());
            let mut short = Unpacked::new(&bytes[..cut.index(bytes.len())]);
            let all = short.text().and(short.hash()).and(short.option(Unpacked::signed));
            prop_assert!(all.is_none() || short.json::<String>().is_none());
        }
    }

    #[test]
    fn digits_take_half() {
        for (text, bytes) in
            [("0198c0de-7a3f-4b7c-80d8-e07830a17560", 17), ("6f1a9c432314ad53", 9), ("run-1", 6)]
        {
            let mut packed = Packed::default();
            packed.text(text);
            assert_eq!(packed.into_bytes().len(), bytes, "{text}");
        }
    }
}
