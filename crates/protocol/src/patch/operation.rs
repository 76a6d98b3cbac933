//! The operations of JSON Patch, RFC 6902.

use super::Pointer;
use crate::json::Json;
use crate::schema::{object, union};

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
