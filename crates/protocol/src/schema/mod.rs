//! The machinery behind the types: one table of fields a type, from which reading, writing, stripping and
//! construction follow.

mod error;
mod field;
mod object;
mod union;

pub use error::{Departure, DepartureKind, ReadError, ReadErrorKind};
pub(crate) use field::{Context, Failures, Field, Flow, Removals};
pub(crate) use object::object;
pub use union::{Unknown, UnknownToken};
pub(crate) use union::{tokens, union};
