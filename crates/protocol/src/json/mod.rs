//! JSON as AG-UI needs it: exact slices of the input instead of a tree, the last of duplicate keys, strings
//! that may hold half of an emoji, and no recursion. See `docs/adr/0002-own-json-reader.md`.

mod number;
mod reader;
mod text;
mod value;
mod write;

pub use number::{Count, OutOfRange, SafeInt};
pub(crate) use reader::{Kind, Reader, Which};
pub use text::Text;
pub use value::{Json, JsonNonNull, JsonObject, NotJson};
pub(crate) use write::write_string;
