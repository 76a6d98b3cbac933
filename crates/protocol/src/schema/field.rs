//! What every field of a protocol object can do.

use super::error::{Departure, DepartureKind, ReadError, token};
use crate::json::{Count, Json, JsonNonNull, JsonObject, Kind, Reader, SafeInt, Text, write_string};
use std::fmt;

/// A value that can stand in a protocol object.
pub(crate) trait Field<'a>: Sized {
    /// The same type, borrowing nothing.
    type Owned;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError>;

    fn write(&self, out: &mut String);

    /// Removes what 1.0 does not describe. [`Flow::Drop`] says that the value itself is such a thing.
    fn strip(&mut self, _removals: &mut Removals) -> Flow {
        Flow::Keep
    }

    fn into_owned(self) -> Self::Owned;
}

/// What becomes of a value that was stripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Keep,
    Drop,
}

/// Collects the departures of one event while it is read.
#[derive(Debug, Default)]
pub(crate) struct Context {
    departures: Vec<Departure>,
}

impl Context {
    pub(crate) fn into_departures(self) -> Vec<Departure> {
        self.departures
    }

    pub(crate) const fn mark(&self) -> usize {
        self.departures.len()
    }

    /// Forgets what was recorded after `mark`.
    pub(crate) fn rewind(&mut self, mark: usize) {
        self.departures.truncate(mark);
    }

    #[cold]
    pub(crate) fn depart(&mut self, kind: DepartureKind) {
        self.departures.push(Departure { pointer: String::new(), kind });
    }

    #[cold]
    pub(crate) fn depart_member(&mut self, key: &Text<'_>) {
        let pointer = format!("/{}", token(key));
        self.departures.push(Departure { pointer, kind: DepartureKind::UnknownMember });
    }

    /// Says that what was recorded after `mark` stands under `segment`.
    pub(crate) fn nest(&mut self, mark: usize, segment: impl fmt::Display) {
        for departure in &mut self.departures[mark..] {
            departure.pointer = format!("/{segment}{}", departure.pointer);
        }
    }
}

/// What was noted about the known members of an object that is being read. Of duplicate keys the last one counts, so
/// errors and departures are kept by member until the object's end.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    failed: Vec<(&'static str, ReadError)>,
    departed: Vec<(&'static str, Vec<Departure>)>,
}

impl Notes {
    pub(crate) const fn any(&self) -> bool {
        !self.failed.is_empty() || !self.departed.is_empty()
    }

    /// The member `key` was read, and departed from the protocol after `mark`.
    #[cold]
    pub(crate) fn departed(&mut self, key: &'static str, context: &mut Context, mark: usize) {
        context.nest(mark, key);
        self.departed.push((key, context.departures.split_off(mark)));
    }

    /// The member `key` could not be read.
    #[cold]
    pub(crate) fn failed(&mut self, key: &'static str, error: ReadError) {
        self.failed.push((key, error.under(key)));
    }

    /// The member `key` is given again: nothing about the earlier one counts.
    #[cold]
    pub(crate) fn overrule(&mut self, key: &str) {
        self.failed.retain(|(failed, _)| *failed != key);
        self.departed.retain(|(departed, _)| *departed != key);
    }

    /// At the object's end: the first error that stands, or the departures that do.
    pub(crate) fn settle(&mut self, context: &mut Context) -> Result<(), ReadError> {
        if self.any() { self.settle_noted(context) } else { Ok(()) }
    }

    #[cold]
    fn settle_noted(&mut self, context: &mut Context) -> Result<(), ReadError> {
        if let Some((_, error)) = self.failed.drain(..).next() {
            return Err(error);
        }
        context.departures.extend(self.departed.drain(..).flat_map(|(_, departures)| departures));
        Ok(())
    }
}

/// What stripping removed, as JSON pointers.
#[derive(Debug)]
pub(crate) struct Removals {
    words: UnknownWords,
    at: Vec<String>,
    removed: Vec<String>,
}

/// What to do with a word that 1.0 does not allow where it stands, such as an unknown role of a text message.
///
/// The normative prose wants it stripped like every unknown thing; the reference client refuses the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownWords {
    /// Refuse the event, as the reference does.
    #[default]
    Refuse,
    /// Remove the field, as the prose says; from a required place, what it is required for goes with it.
    Strip,
}

impl Removals {
    pub(crate) const fn new(words: UnknownWords) -> Self {
        Self { words, at: Vec::new(), removed: Vec::new() }
    }

    /// What becomes of an unknown word.
    pub(crate) const fn unknown_word(&self) -> Flow {
        match self.words {
            UnknownWords::Refuse => Flow::Keep,
            UnknownWords::Strip => Flow::Drop,
        }
    }

    pub(crate) fn into_pointers(self) -> Vec<String> {
        self.removed
    }

    pub(crate) fn remove(&mut self, key: &Text<'_>) {
        let pointer = format!("{}/{}", self.at.concat(), token(key));
        self.removed.push(pointer);
    }

    /// Strips what stands under `segment`. If it must go whole, only that is reported.
    pub(crate) fn strip<'a>(
        &mut self,
        segment: impl fmt::Display,
        value: &mut impl Field<'a>,
        absorbs: bool,
    ) -> Flow {
        let mark = self.removed.len();
        self.at.push(format!("/{segment}"));
        let flow = value.strip(self);
        if flow == Flow::Drop {
            self.removed.truncate(mark);
            if absorbs {
                self.removed.push(self.at.concat());
            }
        }
        self.at.pop();
        flow
    }
}

impl<'a> Field<'a> for Text<'a> {
    type Owned = Text<'static>;

    fn read(reader: &mut Reader<'a>, _: &mut Context) -> Result<Self, ReadError> {
        match reader.kind()? {
            Kind::String => reader.string(),
            other => Err(ReadError::found("a string", other, reader.offset())),
        }
    }

    fn write(&self, out: &mut String) {
        write_string(out, self);
    }

    fn into_owned(self) -> Self::Owned {
        Text::into_owned(self)
    }
}

impl<'a> Field<'a> for bool {
    type Owned = Self;

    fn read(reader: &mut Reader<'a>, _: &mut Context) -> Result<Self, ReadError> {
        match reader.kind()? {
            Kind::Bool => Ok(reader.literal()? == "true"),
            other => Err(ReadError::found("a boolean", other, reader.offset())),
        }
    }

    fn write(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }

    fn into_owned(self) -> Self {
        self
    }
}

/// Reads a number whose text `convert` accepts.
fn read_number<T>(
    reader: &mut Reader<'_>,
    expected: &'static str,
    convert: impl FnOnce(&str) -> Option<T>,
) -> Result<T, ReadError> {
    let kind = reader.kind()?;
    let offset = reader.offset();
    if kind != Kind::Number {
        return Err(ReadError::found(expected, kind, offset));
    }
    let number = reader.number()?;
    convert(number).ok_or_else(|| ReadError::mismatch(expected, number, offset))
}

impl<'a> Field<'a> for SafeInt {
    type Owned = Self;

    fn read(reader: &mut Reader<'a>, _: &mut Context) -> Result<Self, ReadError> {
        read_number(reader, "an integer between -(2^53 - 1) and 2^53 - 1", Self::from_json)
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.get().to_string());
    }

    fn into_owned(self) -> Self {
        self
    }
}

impl<'a> Field<'a> for Count {
    type Owned = Self;

    fn read(reader: &mut Reader<'a>, _: &mut Context) -> Result<Self, ReadError> {
        read_number(reader, "an integer between 0 and 2^53 - 1", Self::from_json)
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.get().to_string());
    }

    fn into_owned(self) -> Self {
        self
    }
}

impl<'a> Field<'a> for Json<'a> {
    type Owned = Json<'static>;

    fn read(reader: &mut Reader<'a>, _: &mut Context) -> Result<Self, ReadError> {
        reader.value().map(Json::trusted)
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.as_str());
    }

    fn into_owned(self) -> Self::Owned {
        Json::into_owned(self)
    }
}

impl<'a> Field<'a> for JsonNonNull<'a> {
    type Owned = JsonNonNull<'static>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        let kind = reader.kind()?;
        let offset = reader.offset();
        let value = Json::read(reader, context)?;
        Self::try_from(value).map_err(|_null| ReadError::found("any JSON but null", kind, offset))
    }

    fn write(&self, out: &mut String) {
        self.as_json().write(out);
    }

    fn into_owned(self) -> Self::Owned {
        JsonNonNull::into_owned(self)
    }
}

impl<'a> Field<'a> for JsonObject<'a> {
    type Owned = JsonObject<'static>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        let kind = reader.kind()?;
        let offset = reader.offset();
        let value = Json::read(reader, context)?;
        Self::try_from(value).map_err(|_other| ReadError::found("an object", kind, offset))
    }

    fn write(&self, out: &mut String) {
        self.as_json().write(out);
    }

    fn into_owned(self) -> Self::Owned {
        JsonObject::into_owned(self)
    }
}

/// Lists of more elements are counted before they are read on: growing by doubling would let a list of small
/// elements cost many times its text.
const COUNTED_FROM: usize = 1_024;

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        let kind = reader.kind()?;
        if kind != Kind::Array {
            return Err(ReadError::found("an array", kind, reader.offset()));
        }
        reader.open();
        let mut items = Self::new();
        let mut first = true;
        while reader.next_element(&mut first)? {
            if items.len() == COUNTED_FROM {
                items.reserve_exact(reader.count_elements()?);
            }
            let mark = context.mark();
            let item = T::read(reader, context).map_err(|error| error.under(items.len()))?;
            context.nest(mark, items.len());
            items.push(item);
        }
        Ok(items)
    }

    fn write(&self, out: &mut String) {
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            item.write(out);
        }
        out.push(']');
    }

    fn strip(&mut self, removals: &mut Removals) -> Flow {
        let mut index = 0;
        self.retain_mut(|item| {
            let flow = removals.strip(index, item, true);
            index += 1;
            flow == Flow::Keep
        });
        Flow::Keep
    }

    fn into_owned(self) -> Self::Owned {
        self.into_iter().map(Field::into_owned).collect()
    }
}

impl<'a, T: Field<'a>> Field<'a> for Box<T> {
    type Owned = Box<T::Owned>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        T::read(reader, context).map(Self::new)
    }

    fn write(&self, out: &mut String) {
        T::write(self, out);
    }

    fn strip(&mut self, removals: &mut Removals) -> Flow {
        T::strip(self, removals)
    }

    fn into_owned(self) -> Self::Owned {
        Box::new((*self).into_owned())
    }
}
