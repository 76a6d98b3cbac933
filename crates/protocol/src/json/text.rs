//! Strings of JSON, which may hold lone surrogates.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A string as JSON knows it: Unicode text, or text with lone surrogates in it.
///
/// A JavaScript producer that slices a string may cut an emoji in two and send `"\ud83d"` in one delta and
/// `"\ude00"` in the next. Each half is legal JSON and no Rust `str`. A `Text` carries both, and [`push`]
/// makes one emoji of the two halves. Almost every text is a plain, usually borrowed `str`.
///
/// [`push`]: Text::push
#[derive(Clone, Default)]
pub struct Text<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Str(Cow<'a, str>),
    /// Boxed because it is rare, and a text should be small.
    IllFormed(Box<IllFormed>),
}

/// WTF-8: UTF-8 in which lone surrogates are encoded as if they were characters. Holds at least one, so that every text
/// has exactly one representation and equality is equality of bytes.
#[derive(Clone)]
struct IllFormed {
    bytes: Vec<u8>,
    /// How many, so that nobody has to look whether there are any left.
    lone: usize,
}

impl<'a> Text<'a> {
    /// A text that borrows `text`.
    #[must_use]
    pub const fn borrowed(text: &'a str) -> Self {
        Self(Repr::Str(Cow::Borrowed(text)))
    }

    /// Takes WTF-8, in which no high surrogate stands before a low one.
    pub(crate) fn from_wtf8(bytes: Vec<u8>) -> Self {
        let lone = count_surrogates(&bytes);
        Self::with_surrogates(bytes, lone)
    }

    fn with_surrogates(bytes: Vec<u8>, lone: usize) -> Self {
        if lone > 0 {
            return Self(Repr::IllFormed(Box::new(IllFormed { bytes, lone })));
        }
        Self::from(String::from_utf8(bytes).expect("WTF-8 without surrogates is UTF-8"))
    }

    /// The text, unless it holds a lone surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Str(text) => Some(text),
            Repr::IllFormed(_) => None,
        }
    }

    /// The text, with U+FFFD in place of each lone surrogate.
    #[must_use]
    pub fn to_str(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Str(text) => Cow::Borrowed(text),
            Repr::IllFormed(text) => Cow::Owned(lossy(&text.bytes)),
        }
    }

    /// Whether this is Unicode text, without lone surrogates.
    #[must_use]
    pub const fn is_well_formed(&self) -> bool {
        matches!(self.0, Repr::Str(_))
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wtf8().is_empty()
    }

    /// The text as WTF-8, which is UTF-8 where it is well formed.
    #[must_use]
    pub fn wtf8(&self) -> &[u8] {
        match &self.0 {
            Repr::Str(text) => text.as_bytes(),
            Repr::IllFormed(text) => &text.bytes,
        }
    }

    /// Appends `other`. A high surrogate at the end of this text and a low one at the start of the other
    /// become the character that they are halves of.
    pub fn push(&mut self, other: &Text<'_>) {
        if let (Repr::Str(text), Repr::Str(more)) = (&mut self.0, &other.0) {
            text.to_mut().push_str(more);
            return;
        }
        let (mut bytes, mut lone) = match std::mem::take(&mut self.0) {
            Repr::Str(text) => (text.into_owned().into_bytes(), 0),
            Repr::IllFormed(text) => (text.bytes, text.lone),
        };
        lone += match &other.0 {
            Repr::Str(_) => 0,
            Repr::IllFormed(text) => text.lone,
        };
        let more = other.wtf8();
        let halves =
            last_surrogate(&bytes).zip(first_surrogate(more)).and_then(|(high, low)| join(high, low));
        if let Some(character) = halves {
            lone -= 2;
            bytes.truncate(bytes.len() - SURROGATE_BYTES);
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            bytes.extend_from_slice(&more[SURROGATE_BYTES..]);
        } else {
            bytes.extend_from_slice(more);
        }
        *self = Self::with_surrogates(bytes, lone);
    }

    /// Writes the text as a JSON string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        super::write_string(&mut json, self);
        json
    }

    /// The same text, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Text<'static> {
        Text(match self.0 {
            Repr::Str(text) => Repr::Str(Cow::Owned(text.into_owned())),
            Repr::IllFormed(text) => Repr::IllFormed(text),
        })
    }
}

/// The bytes of one surrogate in WTF-8.
const SURROGATE_BYTES: usize = 3;

fn surrogate(bytes: [u8; SURROGATE_BYTES]) -> Option<u16> {
    match bytes {
        [0xED, second @ 0xA0..=0xBF, third] => {
            Some(0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

fn first_surrogate(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().copied().and_then(surrogate)
}

fn last_surrogate(bytes: &[u8]) -> Option<u16> {
    bytes.last_chunk().copied().and_then(surrogate)
}

/// The character whose UTF-16 halves are `high` and `low`, if that is what they are.
pub(super) fn join(high: u16, low: u16) -> Option<char> {
    let pair = [high, low];
    let mut decoded = char::decode_utf16(pair);
    match (decoded.next(), decoded.next()) {
        (Some(Ok(character)), None) => Some(character),
        _ => None,
    }
}

/// Appends a surrogate to WTF-8.
pub(super) fn push_surrogate(bytes: &mut Vec<u8>, unit: u16) {
    let [high, low] = unit.to_be_bytes();
    bytes.extend_from_slice(&[0xED, 0x80 | ((high & 0x0F) << 2) | (low >> 6), 0x80 | (low & 0x3F)]);
}

/// Splits WTF-8 at its surrogates and hands out the pieces in order.
pub(super) fn pieces(mut bytes: &[u8], mut each: impl FnMut(Piece<'_>)) {
    let mut from = 0;
    while let Some(at) = memchr::memchr(0xED, &bytes[from..]).map(|at| from + at) {
        if let Some(unit) = first_surrogate(&bytes[at..]) {
            text_piece(&bytes[..at], &mut each);
            each(Piece::Surrogate(unit));
            bytes = &bytes[at + SURROGATE_BYTES..];
            from = 0;
        } else {
            from = at + 1;
        }
    }
    text_piece(bytes, &mut each);
}

pub(super) enum Piece<'a> {
    Text(&'a str),
    Surrogate(u16),
}

fn text_piece(bytes: &[u8], each: &mut impl FnMut(Piece<'_>)) {
    let text = std::str::from_utf8(bytes).expect("WTF-8 without its surrogates is UTF-8");
    each(Piece::Text(text));
}

fn count_surrogates(bytes: &[u8]) -> usize {
    let mut count = 0;
    pieces(bytes, |piece| count += usize::from(matches!(piece, Piece::Surrogate(_))));
    count
}

fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    pieces(bytes, |piece| match piece {
        Piece::Text(text) => out.push_str(text),
        Piece::Surrogate(_) => out.push(char::REPLACEMENT_CHARACTER),
    });
    out
}

impl Default for Repr<'_> {
    fn default() -> Self {
        Self::Str(Cow::Borrowed(""))
    }
}

/// As JSON has it, so that lone surrogates can be told apart.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// Lone surrogates show as U+FFFD.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_str(), f)
    }
}

impl PartialEq<Text<'_>> for Text<'_> {
    fn eq(&self, other: &Text<'_>) -> bool {
        self.wtf8() == other.wtf8()
    }
}

impl Eq for Text<'_> {}

/// Texts are found by their bytes in maps, without an owned copy to look them up with.
impl Borrow<[u8]> for Text<'_> {
    fn borrow(&self) -> &[u8] {
        self.wtf8()
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.wtf8() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialEq<String> for Text<'_> {
    fn eq(&self, other: &String) -> bool {
        self == other.as_str()
    }
}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.wtf8().cmp(other.wtf8())
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.wtf8().hash(state);
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::borrowed(text)
    }
}

impl<'a> From<&'a String> for Text<'a> {
    fn from(text: &'a String) -> Self {
        Self::borrowed(text)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Repr::Str(Cow::Owned(text)))
    }
}

impl<'a> From<Cow<'a, str>> for Text<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(Repr::Str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(unit: u16) -> Text<'static> {
        let mut bytes = Vec::new();
        push_surrogate(&mut bytes, unit);
        Text::from_wtf8(bytes)
    }

    #[test]
    fn two_halves_become_one_emoji() {
        let mut text = Text::from("a");
        text.push(&half(0xD83D));
        assert!(!text.is_well_formed());
        assert_eq!(text.to_str(), "a\u{FFFD}");
        text.push(&half(0xDE00));
        assert_eq!(text.as_str(), Some("a😀"));
        text.push(&Text::from("b"));
        assert_eq!(text, "a😀b");
    }

    #[test]
    fn halves_in_the_wrong_order_stay_apart() {
        let mut text = half(0xDE00);
        text.push(&half(0xD83D));
        assert_eq!(text.to_str(), "\u{FFFD}\u{FFFD}");
        text.push(&half(0xDE00));
        assert_eq!(text.to_str(), "\u{FFFD}😀");
    }

    #[test]
    fn a_character_that_begins_like_a_surrogate_is_none() {
        // U+D7FF is ED 9F BF, right below the surrogates.
        let mut text = half(0xD83D);
        text.push(&Text::from("\u{D7FF}"));
        assert_eq!(text.to_str(), "\u{FFFD}\u{D7FF}");
    }
}
