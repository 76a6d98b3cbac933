//! What can be wrong with a JSON text that should be a protocol object.

use crate::json::{Kind, Text};
use std::fmt;
use thiserror::Error;

/// Why a text is not the protocol object it should be, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub struct ReadError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}{}", At(.pointer, *.offset))]
struct Inner {
    kind: ReadErrorKind,
    pointer: String,
    offset: usize,
}

struct At<'a>(&'a str, usize);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(pointer, offset) = self;
        if pointer.is_empty() {
            write!(f, ". byte={offset}")
        } else {
            write!(f, ". path={pointer}, byte={offset}")
        }
    }
}

/// The kinds of [`ReadError`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The bytes are no UTF-8.
    #[error("not UTF-8")]
    Utf8,
    /// The text is no JSON.
    #[error("not JSON: {0}")]
    Syntax(&'static str),
    /// The JSON is no event at all: no object, or one without a type.
    #[error("not an event: {0}")]
    NotAnEvent(&'static str),
    /// A required field is not there.
    #[error("missing field {0}")]
    Missing(&'static str),
    /// A known field holds what the protocol does not allow there.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// What the protocol wants.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Internal to reading: the discriminator appears again with another value, which is the one that counts.
    #[doc(hidden)]
    #[error("discriminator repeated")]
    Retagged,
}

impl ReadError {
    fn new(kind: ReadErrorKind, offset: usize) -> Self {
        Self(Box::new(Inner { kind, pointer: String::new(), offset }))
    }

    #[cold]
    pub(crate) fn utf8(offset: usize) -> Self {
        Self::new(ReadErrorKind::Utf8, offset)
    }

    #[cold]
    pub(crate) fn syntax(message: &'static str, offset: usize) -> Self {
        Self::new(ReadErrorKind::Syntax(message), offset)
    }

    #[cold]
    pub(crate) fn not_an_event(message: &'static str, offset: usize) -> Self {
        Self::new(ReadErrorKind::NotAnEvent(message), offset)
    }

    #[cold]
    pub(crate) fn missing(field: &'static str, offset: usize) -> Self {
        Self::new(ReadErrorKind::Missing(field), offset)
    }

    #[cold]
    pub(crate) fn mismatch(expected: &'static str, found: impl Into<String>, offset: usize) -> Self {
        Self::new(ReadErrorKind::Mismatch { expected, found: found.into() }, offset)
    }

    #[cold]
    pub(crate) fn found(expected: &'static str, found: Kind, offset: usize) -> Self {
        Self::mismatch(expected, found.name(), offset)
    }

    #[cold]
    pub(crate) fn retagged(offset: usize) -> Self {
        Self::new(ReadErrorKind::Retagged, offset)
    }

    /// Says that the object with the error stands under `segment` of another one.
    #[cold]
    pub(crate) fn under(mut self, segment: impl fmt::Display) -> Self {
        self.0.pointer = format!("/{segment}{}", self.0.pointer);
        self
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> &ReadErrorKind {
        &self.0.kind
    }

    /// Where it is wrong, as a JSON pointer into the event. Empty for the event itself, and for texts that are
    /// no JSON.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// Where it is wrong, in bytes from the start of the text.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.0.offset
    }

    /// Whether the discriminator appeared again with another value, and not in an object further inside.
    pub(crate) fn is_retagged(&self) -> bool {
        self.0.kind == ReadErrorKind::Retagged && self.0.pointer.is_empty()
    }

    /// Whether no event could be seen at all, as opposed to an event with a field that is wrong.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        matches!(self.0.kind, ReadErrorKind::Utf8 | ReadErrorKind::Syntax(_) | ReadErrorKind::NotAnEvent(_))
    }
}

/// Something in an event that AG-UI 1.0 does not describe, but that did not keep the event from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Where, as a JSON pointer into the event.
    pub pointer: String,
    /// What it is.
    pub kind: DepartureKind,
}

/// The kinds of [`Departure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DepartureKind {
    /// A member that the object does not have in 1.0.
    UnknownMember,
    /// A role, part, source, outcome or operation that 1.0 does not have.
    UnknownVariant,
    /// A word that is none of the allowed ones.
    UnknownToken,
    /// `null` where the field should be left out.
    NullOptional,
}

impl DepartureKind {
    /// A few words for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::UnknownMember => "unknown member",
            Self::UnknownVariant => "unknown variant",
            Self::UnknownToken => "unknown word",
            Self::NullOptional => "null in place of an absent field",
        }
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. path={}", self.kind.describe(), self.pointer)
    }
}

/// A key as a reference token of a JSON pointer.
pub(crate) fn token(key: &Text<'_>) -> String {
    key.to_str().replace('~', "~0").replace('/', "~1")
}
