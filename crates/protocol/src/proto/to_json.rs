//! From `google.protobuf.Value` to JSON, without recursion.
//!
//! A message may come in pieces, of which protobuf makes one by reading them one after the other. Of the kinds of a
//! value the last one counts; structs and lists that follow their own kind continue it. Of entries with the same key
//! the last one counts, at the first one's place. What does not count is not looked into. A field of another wire type
//! than the schema's is skipped like an unknown one.
//!
//! A value of no kind is `null`. The reference makes `null` of it in lists, and leaves it out elsewhere.

#![warn(clippy::indexing_slicing)]

use super::number;
use super::wire::{Fields, Payload};
use crate::json::{Text, write_string};
use crate::limits::PROTO_DEPTH_MAX as DEPTH_MAX;
use prost::DecodeError;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::iter::FlatMap;
use std::vec::IntoIter;

/// Why a message has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Error {
    TooDeep,
    /// NaN or an infinity.
    NotFinite,
    Utf8,
    Wire(DecodeError),
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Wire(error)
    }
}

/// Appends what the fields of a `Value` say.
pub(super) fn write_value(fields: &[u8], out: &mut String) -> Result<(), Error> {
    write(Kind::of(&[fields])?, out)
}

/// Appends what the fields of a `Struct` say.
pub(super) fn write_object(fields: &[u8], out: &mut String) -> Result<(), Error> {
    write(Kind::Struct(vec![fields]), out)
}

/// A message in pieces.
type Pieces<'a> = Vec<&'a [u8]>;

/// What a value is. Structs and lists are not read yet.
enum Kind<'a> {
    Null,
    Number(f64),
    String(&'a [u8]),
    Bool(bool),
    Struct(Pieces<'a>),
    List(Pieces<'a>),
}

impl<'a> Kind<'a> {
    fn of(value: &[&'a [u8]]) -> Result<Self, DecodeError> {
        let mut kind = Self::Null;
        for field in value.iter().copied().flat_map(Fields::new) {
            match (field?, &mut kind) {
                ((number::NULL, Payload::Varint(_)), _) => kind = Self::Null,
                ((number::NUMBER, Payload::Double(value)), _) => kind = Self::Number(value),
                ((number::STRING, Payload::Bytes(text)), _) => kind = Self::String(text),
                ((number::BOOL, Payload::Varint(value)), _) => kind = Self::Bool(value != 0),
                ((number::STRUCT, Payload::Bytes(more)), Self::Struct(pieces))
                | ((number::LIST, Payload::Bytes(more)), Self::List(pieces)) => pieces.push(more),
                ((number::STRUCT, Payload::Bytes(first)), _) => kind = Self::Struct(vec![first]),
                ((number::LIST, Payload::Bytes(first)), _) => kind = Self::List(vec![first]),
                _ => {}
            }
        }
        Ok(kind)
    }
}

/// The fields of a message in pieces.
type AllFields<'a> = FlatMap<IntoIter<&'a [u8]>, Fields<'a>, fn(&'a [u8]) -> Fields<'a>>;

/// A struct or list that is being written.
enum Open<'a> {
    Struct(IntoIter<(&'a str, Pieces<'a>)>),
    List(AllFields<'a>),
}

impl<'a> Open<'a> {
    /// Writes the key of what comes next and gives its value.
    fn next(&mut self, out: &mut String) -> Result<Option<Kind<'a>>, Error> {
        match self {
            Self::Struct(members) => {
                let Some((key, value)) = members.next() else { return Ok(None) };
                write_string(out, &Text::borrowed(key));
                out.push(':');
                Ok(Some(Kind::of(&value)?))
            }
            Self::List(fields) => {
                for field in fields {
                    if let (number::ELEMENT, Payload::Bytes(value)) = field? {
                        return Ok(Some(Kind::of(&[value])?));
                    }
                }
                Ok(None)
            }
        }
    }

    const fn bracket(&self) -> char {
        match self {
            Self::Struct(_) => '}',
            Self::List(_) => ']',
        }
    }
}

fn write(mut kind: Kind<'_>, out: &mut String) -> Result<(), Error> {
    let mut open = Vec::new();
    loop {
        // Write one value, or its opening bracket.
        match kind {
            Kind::Null => out.push_str("null"),
            Kind::Number(value) => write_number(value, out)?,
            Kind::String(text) => write_string(out, &Text::borrowed(utf8(text)?)),
            Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            Kind::Struct(_) | Kind::List(_) if open.len() == DEPTH_MAX => return Err(Error::TooDeep),
            Kind::Struct(pieces) => {
                out.push('{');
                open.push(Open::Struct(members(&pieces)?.into_iter()));
            }
            Kind::List(pieces) => {
                out.push('[');
                open.push(Open::List(pieces.into_iter().flat_map(Fields::new)));
            }
        }
        // Leave whatever ends here, then go to the next value. A comma too many makes way for the bracket.
        kind = loop {
            let Some(container) = open.last_mut() else { return Ok(()) };
            if !out.ends_with(['{', '[']) {
                out.push(',');
            }
            if let Some(next) = container.next(out)? {
                break next;
            }
            if out.ends_with(',') {
                out.pop();
            }
            out.push(container.bracket());
            open.pop();
        };
    }
}

/// Objects with fewer members are searched, others hashed.
const LINEAR_MAX: usize = 16;

/// The entries of a struct.
fn members<'a>(pieces: &[&'a [u8]]) -> Result<Vec<(&'a str, Pieces<'a>)>, Error> {
    let mut members: Vec<(&str, Pieces<'_>)> = Vec::new();
    let mut places = HashMap::new();
    for field in pieces.iter().copied().flat_map(Fields::new) {
        let (number::ENTRY, Payload::Bytes(entry)) = field? else { continue };
        let (key, value) = member(entry)?;
        // Nearly every object is small, and comparing a few keys is quicker than hashing them.
        let place = if members.len() < LINEAR_MAX {
            members.iter().position(|(earlier, _)| *earlier == key).unwrap_or(members.len())
        } else {
            if places.is_empty() {
                places.extend(members.iter().enumerate().map(|(place, (key, _))| (*key, place)));
            }
            *places.entry(key).or_insert(members.len())
        };
        match members.get_mut(place) {
            Some((_, earlier)) => *earlier = value,
            None => members.push((key, value)),
        }
    }
    Ok(members)
}

fn member(entry: &[u8]) -> Result<(&str, Pieces<'_>), Error> {
    let mut key: &[u8] = &[];
    let mut value = Vec::new();
    for field in Fields::new(entry) {
        match field? {
            (number::KEY, Payload::Bytes(text)) => key = text,
            (number::VALUE, Payload::Bytes(piece)) => value.push(piece),
            _ => {}
        }
    }
    Ok((utf8(key)?, value))
}

fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_where| Error::Utf8)
}

/// Appends the fewest digits that read back as the same double. An exponent stands where JavaScript writes one, so
/// that integers look like integers to readers that care.
fn write_number(value: f64, out: &mut String) -> Result<(), Error> {
    if !value.is_finite() {
        return Err(Error::NotFinite);
    }
    let written = if value == 0.0 || (1e-6..1e21).contains(&value.abs()) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
    written.expect("a String takes everything");
    Ok(())
}
