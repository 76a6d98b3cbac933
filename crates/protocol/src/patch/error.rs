//! Why a patch cannot be applied.

use super::Pointer;
use thiserror::Error;

/// Why a patch was refused, and at which of its operations. The document is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}. operation={operation}, path={pointer}")]
pub struct PatchError {
    kind: PatchErrorKind,
    operation: usize,
    pointer: String,
}

/// The kinds of [`PatchError`]: first those of RFC 6902, then those of [`PatchLimits`](crate::limits::PatchLimits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatchErrorKind {
    /// There is nothing at the path, or on the way to it.
    #[error("nothing is there")]
    NotFound,
    /// The path leads into a value that has no inside.
    #[error("neither an array nor an object")]
    NotAContainer,
    /// The path leads into an array, but not by an index: digits without leading zeros, or `-` for the end, where
    /// something is put.
    #[error("not an index of an array")]
    NotAnIndex,
    /// Something should be put beyond the end of an array.
    #[error("beyond the end of the array")]
    BeyondTheEnd,
    /// A value should be moved into itself.
    #[error("inside of the value that is moved")]
    IntoItself,
    /// The value is not the one that it should be.
    #[error("not the expected value")]
    TestFailed,
    /// The patch has too many operations.
    #[error("too many operations")]
    TooManyOperations,
    /// The document would be too large.
    #[error("document too large")]
    TooLarge,
    /// The patch would copy too much.
    #[error("too much copied")]
    TooMuchCloned,
    /// Something would be nested too deeply.
    #[error("nested too deep")]
    TooDeep,
    /// Too many values would have to make way.
    #[error("too much disturbed")]
    TooMuchDisturbed,
}

impl PatchError {
    #[cold]
    pub(super) fn new(kind: PatchErrorKind, operation: usize, pointer: &Pointer<'_>) -> Self {
        Self { kind, operation, pointer: pointer.as_text().to_str().into_owned() }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> PatchErrorKind {
        self.kind
    }

    /// Which operation of the patch is at fault, counted from zero.
    #[must_use]
    pub const fn operation(&self) -> usize {
        self.operation
    }

    /// The `path` or `from` of that operation, whichever is at fault.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}
