//! The operations of JSON Patch, RFC 6902.

use crate::json::{Json, Reader, Text};
use crate::schema::{Context, Field, ReadError, object, union};
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

/// Operations that are applied in order, all or none.
pub type JsonPatch<'a> = Vec<Operation<'a>>;

union! {
    /// One operation of a patch. Unlike the protocol's own objects, operations are open: what they do not define
    /// is no departure and is never stripped.
    pub enum Operation, tag "op" {
        /// Inserts a value.
        Add(Add) = "add",
        /// Removes a value.
        Remove(Remove) = "remove",
        /// Replaces a value.
        Replace(Replace) = "replace",
        /// Moves a value.
        Move(Move) = "move",
        /// Copies a value.
        Copy(Copy) = "copy",
        /// Checks a value.
        Test(Test) = "test",
    }
}

object! {
    /// Inserts `value` at `path`.
    pub struct Add, tag "op" = "add"; open {
        /// Where.
        required path: Pointer<'a> = "path";
        /// What; `null` is a value.
        required value: Json<'a> = "value";
    }
}

object! {
    /// Removes the value at `path`.
    pub struct Remove, tag "op" = "remove"; open {
        /// Where.
        required path: Pointer<'a> = "path";
    }
}

object! {
    /// Replaces the value at `path`.
    pub struct Replace, tag "op" = "replace"; open {
        /// Where.
        required path: Pointer<'a> = "path";
        /// By what; `null` is a value.
        required value: Json<'a> = "value";
    }
}

object! {
    /// Moves the value at `from` to `path`.
    pub struct Move, tag "op" = "move"; open {
        /// From where.
        required from: Pointer<'a> = "from";
        /// Where to.
        required path: Pointer<'a> = "path";
    }
}

object! {
    /// Copies the value at `from` to `path`.
    pub struct Copy, tag "op" = "copy"; open {
        /// From where.
        required from: Pointer<'a> = "from";
        /// Where to.
        required path: Pointer<'a> = "path";
    }
}

object! {
    /// Checks that the value at `path` is `value`.
    pub struct Test, tag "op" = "test"; open {
        /// Where.
        required path: Pointer<'a> = "path";
        /// What should be there; `null` is a value.
        required value: Json<'a> = "value";
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
}
