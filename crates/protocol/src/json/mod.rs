//! JSON as AG-UI needs it: exact slices of the input, and a tree only for what is patched; the last of duplicate
//! keys, strings that may hold half of an emoji, and no recursion without a bound. See
//! `docs/adr/0002-own-json-reader.md`.

mod decimal;
mod number;
mod reader;
mod text;
mod tree;
mod value;
mod write;

pub use number::{Count, OutOfRange, SafeInt};
pub(crate) use reader::{Kind, Reader, Which};
pub use text::Text;
pub(crate) use tree::{Members, Tree};
pub use value::{Json, JsonNonNull, JsonObject, NotJson};
pub(crate) use write::{string_bytes, write_string};
