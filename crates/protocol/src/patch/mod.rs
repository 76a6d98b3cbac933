//! JSON Patch, RFC 6902: documents that are patched in place, within bounds, all or nothing; and the patch from one
//! document to another.

mod apply;
mod diff;
mod document;
mod error;
mod operation;
mod pointer;

pub use document::Document;
pub use error::{PatchError, PatchErrorKind};
pub use operation::{Add, Copy, JsonPatch, Move, Operation, Remove, Replace, Test};
pub use pointer::{NotAPointer, Pointer};
