//! The machinery behind the types: one table of fields a type, from which reading, writing, stripping and
//! construction follow.

mod error;
mod field;
mod object;
mod union;

pub(crate) use error::token;
pub use error::{Departure, DepartureKind, ReadError, ReadErrorKind};
pub use field::UnknownWords;
pub(crate) use field::{Context, Field, Flow, Notes, Removals};
pub(crate) use object::object;
pub use union::{Unknown, UnknownToken};
pub(crate) use union::{tokens, union};

use crate::json::Reader;

/// Reads a value that is the whole of a JSON text.
pub(crate) fn read_json<'a, T: Field<'a>>(json: &'a str) -> Result<(T, Vec<Departure>), ReadError> {
    let mut reader = Reader::new(json);
    let mut context = Context::default();
    let value = T::read(&mut reader, &mut context)?;
    reader.end()?;
    Ok((value, context.into_departures()))
}

/// Writes a value as a JSON text.
pub(crate) fn to_json<'a>(value: &impl Field<'a>) -> String {
    let mut out = String::with_capacity(128);
    value.write(&mut out);
    out
}
