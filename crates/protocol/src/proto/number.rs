//! The field numbers of `google/protobuf/struct.proto`.

// Value, a oneof.
pub(super) const NULL: u32 = 1;
pub(super) const NUMBER: u32 = 2;
pub(super) const STRING: u32 = 3;
pub(super) const BOOL: u32 = 4;
pub(super) const STRUCT: u32 = 5;
pub(super) const LIST: u32 = 6;

// ListValue.
pub(super) const ELEMENT: u32 = 1;

// Struct, and an entry of its map.
pub(super) const ENTRY: u32 = 1;
pub(super) const KEY: u32 = 1;
pub(super) const VALUE: u32 = 2;
