//! JSON Pointers, RFC 6901.

use crate::json::{Reader, Text};
use crate::schema::{Context, Field, ReadError};
use thiserror::Error;

/// A JSON Pointer, RFC 6901: empty for the whole document, or tokens that begin with a slash each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pointer<'a>(Text<'a>);

/// A text that is no JSON Pointer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a JSON pointer: {0:?}")]
pub struct NotAPointer(String);

impl<'a> Pointer<'a> {
    /// The pointer as it was written.
    #[must_use]
    pub const fn as_text(&self) -> &Text<'a> {
        &self.0
    }

    /// The whole document.
    pub(super) const fn root() -> Self {
        Self(Text::borrowed(""))
    }

    /// Whether this is the whole document.
    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The reference tokens from the root down, without their escapes.
    pub(super) fn tokens(&self) -> impl Iterator<Item = Text<'_>> {
        self.0.wtf8().split(|&byte| byte == b'/').skip(1).map(unescape)
    }

    /// Whether what this points to holds what `other` points to, in whatever document.
    pub(super) fn is_above(&self, other: &Pointer<'_>) -> bool {
        // No token has two spellings, so a prefix of the text is a prefix of the tokens.
        other.0.wtf8().strip_prefix(self.0.wtf8()).is_some_and(|rest| rest.starts_with(b"/"))
    }

    /// The same, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Pointer<'static> {
        Pointer(self.0.into_owned())
    }
}

/// Whether every token begins with a slash and every tilde is an escape.
fn is_pointer(text: &[u8]) -> bool {
    let escaped = |at: usize| matches!(text.get(at + 1), Some(b'0' | b'1'));
    matches!(text.first(), None | Some(b'/'))
        && text.iter().enumerate().all(|(at, &byte)| byte != b'~' || escaped(at))
}

impl<'a> TryFrom<Text<'a>> for Pointer<'a> {
    type Error = NotAPointer;

    fn try_from(text: Text<'a>) -> Result<Self, NotAPointer> {
        if is_pointer(text.wtf8()) { Ok(Self(text)) } else { Err(NotAPointer(text.to_str().into_owned())) }
    }
}

impl<'a> TryFrom<&'a str> for Pointer<'a> {
    type Error = NotAPointer;

    fn try_from(text: &'a str) -> Result<Self, NotAPointer> {
        Text::from(text).try_into()
    }
}

impl<'a> Field<'a> for Pointer<'a> {
    type Owned = Pointer<'static>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        let offset = reader.offset();
        let text = Text::read(reader, context)?;
        Self::try_from(text)
            .map_err(|NotAPointer(text)| ReadError::mismatch("a JSON pointer", format!("{text:?}"), offset))
    }

    fn write(&self, out: &mut String) {
        self.0.write(out);
    }

    fn into_owned(self) -> Self::Owned {
        Pointer::into_owned(self)
    }
}

/// A token without its escapes. Tokens are split at slashes, which no surrogate pair spans.
fn unescape(token: &[u8]) -> Text<'_> {
    if let Ok(plain) = std::str::from_utf8(token)
        && !plain.contains('~')
    {
        return Text::borrowed(plain);
    }
    let mut unescaped = Vec::with_capacity(token.len());
    let mut bytes = token.iter();
    while let Some(&byte) = bytes.next() {
        let escaped = if byte == b'~' { bytes.next() } else { None };
        unescaped.push(if escaped == Some(&b'1') { b'/' } else { byte });
    }
    Text::from_wtf8(unescaped)
}

/// The way to a value on a walk through a document.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pointer: Vec<u8>,
    /// The length of the pointer at each level above.
    levels: Vec<usize>,
}

impl Trail {
    /// How far below the root the walk is.
    pub(super) const fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Goes down to what has this key or index.
    pub(super) fn enter(&mut self, token: &Text<'_>) {
        self.levels.push(self.pointer.len());
        self.pointer.push(b'/');
        for &byte in token.wtf8() {
            match byte {
                b'~' => self.pointer.extend_from_slice(b"~0"),
                b'/' => self.pointer.extend_from_slice(b"~1"),
                other => self.pointer.push(other),
            }
        }
    }

    /// Goes up again.
    pub(super) fn leave(&mut self) {
        self.pointer.truncate(self.levels.pop().unwrap_or_default());
    }

    /// Where the walk is.
    pub(super) fn pointer(&self) -> Pointer<'static> {
        Pointer(Text::from_wtf8(self.pointer.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers() {
        for good in ["", "/", "/a/b", "//", "/~0/~1x", "/0"] {
            assert!(Pointer::try_from(good).is_ok(), "{good:?}");
        }
        for bad in ["a", "a/b", "/~", "/~2", "/a~"] {
            assert!(Pointer::try_from(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn tokens_lose_their_escapes_and_get_them_back() {
        for (pointer, tokens) in [
            ("", &[][..]),
            ("/", &[""]),
            ("//a", &["", "a"]),
            ("/a~1b/~0~01/m~0n", &["a/b", "~~1", "m~n"]),
            ("/é/0/-", &["é", "0", "-"]),
        ] {
            let pointer = Pointer::try_from(pointer).unwrap();
            let mut trail = Trail::default();
            trail.enter(&Text::from("gone"));
            trail.leave();
            for token in pointer.tokens() {
                trail.enter(&token);
            }
            assert_eq!(pointer.tokens().collect::<Vec<_>>(), tokens);
            assert_eq!(trail.depth(), tokens.len());
            assert_eq!(trail.pointer(), pointer);
        }
    }

    #[test]
    fn half_an_emoji_is_a_token() {
        let text = Reader::new(r#""/\ud83d/a~1\ude00""#).string().unwrap();
        let pointer = Pointer::try_from(text).unwrap();
        let mut trail = Trail::default();
        for token in pointer.tokens() {
            assert!(!token.is_well_formed());
            trail.enter(&token);
        }
        assert_eq!(trail.pointer(), pointer);
    }

    #[test]
    fn above_is_a_matter_of_tokens() {
        let above =
            |upper, lower| Pointer::try_from(upper).unwrap().is_above(&Pointer::try_from(lower).unwrap());
        assert!(above("", "/a") && above("/a", "/a/b") && above("", "/") && above("/", "//"));
        assert!(!above("", "") && !above("/a", "/a") && !above("/a", "/ab") && !above("/a/b", "/a"));
    }
}
