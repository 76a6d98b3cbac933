//! Events that the protocol carries and does not interpret.

use super::event;
use crate::json::{Json, Text};

event! {
    /// An event of another system.
    pub struct Raw = "RAW", attributed {
        /// The event; `null` is one.
        required event: Json<'a> = "event";
        /// Where it came from.
        optional source with_source: Text<'a> = "source";
    }
}

event! {
    /// An extension of the protocol.
    pub struct Custom = "CUSTOM", attributed {
        /// Which extension.
        required name: Text<'a> = "name";
        /// What it carries; `null` is a value.
        required value: Json<'a> = "value";
    }
}
