//! From JSON to `google.protobuf.Value`, without recursion.
//!
//! Lengths stand before what they measure, so values are laid out from the inside: what can be written at once goes
//! into one buffer, in pieces, and a container that ends becomes a piece of the one around it. Then the pieces are
//! put into order. Every byte is written twice, however deep it stands.

use super::number;
use crate::json::{Json, JsonObject, Kind, Reader, Text};
use crate::limits::PROTO_DEPTH_MAX as DEPTH_MAX;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use std::collections::HashMap;
use std::ops::Range;

/// Why a JSON value has no binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    TooDeep,
    /// A number that no double comes near.
    NumberRange,
}

/// The fields of the `Value`, and whether they say all of it: lone surrogates they cannot.
pub(super) fn value(json: &Json<'_>) -> Result<(Vec<u8>, bool), Error> {
    let mut layout = Layout::new();
    let root = layout.read(json.reader())?;
    Ok((layout.in_order(std::slice::from_ref(&root), root.len), layout.whole))
}

/// The fields of the `Struct`, and whether they say all of it: lone surrogates they cannot.
pub(super) fn object(json: &JsonObject<'_>) -> Result<(Vec<u8>, bool), Error> {
    let mut layout = Layout::new();
    let root = layout.read(json.as_json().reader())?;
    let entries = &layout.closed[root.body.clone()];
    Ok((layout.in_order(entries, root.len - root.head.len()), layout.whole))
}

/// Bytes, and the pieces that follow them.
#[derive(Clone, Debug)]
struct Piece {
    /// Where in the buffer the bytes are.
    head: Range<usize>,
    /// Which of the closed pieces follow.
    body: Range<usize>,
    /// How many bytes all of it is.
    len: usize,
}

/// A value, as far as its own field goes.
enum Form<'a> {
    Null,
    Number(f64),
    String(Text<'a>),
    Bool(bool),
    /// With so many bytes of entries.
    Struct(usize),
    /// With so many bytes of elements.
    List(usize),
}

/// What a value stands in.
enum Place<'a, 'k> {
    Root,
    Element,
    Entry(&'k Text<'a>),
}

/// An array or object that is being read.
struct Open<'a> {
    /// Its own key, if it stands in an object.
    key: Option<Text<'a>>,
    /// Where the members are among the pieces, if it is an object.
    members: Option<HashMap<Text<'a>, usize>>,
    first: bool,
    pieces: Vec<Piece>,
}

struct Layout {
    buffer: Vec<u8>,
    closed: Vec<Piece>,
    whole: bool,
}

const READ_BEFORE: &str = "a Json holds what a reader has passed";

impl Layout {
    const fn new() -> Self {
        Self { buffer: Vec::new(), closed: Vec::new(), whole: true }
    }

    fn read(&mut self, mut reader: Reader<'_>) -> Result<Piece, Error> {
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut key = None;
        loop {
            let mut done = match reader.kind().expect(READ_BEFORE) {
                container @ (Kind::Object | Kind::Array) => {
                    if open.len() == DEPTH_MAX {
                        return Err(Error::TooDeep);
                    }
                    reader.open();
                    open.push(Open::new(key.take(), container));
                    None
                }
                scalar => {
                    let form = Form::scalar(scalar, &mut reader)?;
                    Some(self.piece(&Place::of(key.as_ref(), &open), &form, 0..0))
                }
            };
            // Leave whatever ends here, then go to the next value.
            key = loop {
                let Some(container) = open.last_mut() else { return Ok(done.expect("the root is done")) };
                if let Some(piece) = done.take() {
                    container.add(key.take(), piece);
                }
                match container.next(&mut reader) {
                    Next::Member(key) => break Some(key),
                    Next::Element => break None,
                    Next::End => {}
                }
                let (ended, form, body) = self.close(open.pop().expect("it was there"));
                key = ended;
                done = Some(self.piece(&Place::of(key.as_ref(), &open), &form, body));
            };
        }
    }

    /// Puts the pieces of a container where they stay.
    fn close<'a>(&mut self, mut container: Open<'a>) -> (Option<Text<'a>>, Form<'static>, Range<usize>) {
        let len = container.pieces.iter().map(|piece| piece.len).sum();
        let form = if container.members.is_some() { Form::Struct(len) } else { Form::List(len) };
        let start = self.closed.len();
        self.closed.append(&mut container.pieces);
        (container.key, form, start..self.closed.len())
    }

    /// Writes all of a value but its body.
    fn piece(&mut self, place: &Place<'_, '_>, form: &Form<'_>, body: Range<usize>) -> Piece {
        let start = self.buffer.len();
        let value_len = form.len();
        match place {
            Place::Root => {}
            Place::Element => self.length_delimited(number::ELEMENT, value_len),
            Place::Entry(key) => {
                self.whole &= key.is_well_formed();
                let key = key.to_str();
                // A key that is empty is left out, as the reference does.
                let key_len = if key.is_empty() { 0 } else { length_delimited_len(key.len()) };
                self.length_delimited(number::ENTRY, key_len + length_delimited_len(value_len));
                if !key.is_empty() {
                    self.length_delimited(number::KEY, key.len());
                    self.buffer.extend_from_slice(key.as_bytes());
                }
                self.length_delimited(number::VALUE, value_len);
            }
        }
        self.form(form);
        let head = start..self.buffer.len();
        let body_len = if let Form::Struct(len) | Form::List(len) = *form { len } else { 0 };
        Piece { len: head.len() + body_len, head, body }
    }

    fn form(&mut self, form: &Form<'_>) {
        match form {
            Form::Null => self.varint(number::NULL, false),
            Form::Bool(value) => self.varint(number::BOOL, *value),
            Form::Number(value) => {
                encode_key(number::NUMBER, WireType::SixtyFourBit, &mut self.buffer);
                self.buffer.extend_from_slice(&value.to_le_bytes());
            }
            Form::String(text) => {
                self.whole &= text.is_well_formed();
                let text = text.to_str();
                self.length_delimited(number::STRING, text.len());
                self.buffer.extend_from_slice(text.as_bytes());
            }
            Form::Struct(len) => self.length_delimited(number::STRUCT, *len),
            Form::List(len) => self.length_delimited(number::LIST, *len),
        }
    }

    fn varint(&mut self, field: u32, value: bool) {
        encode_key(field, WireType::Varint, &mut self.buffer);
        self.buffer.push(value.into());
    }

    fn length_delimited(&mut self, field: u32, len: usize) {
        encode_key(field, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(len as u64, &mut self.buffer);
    }

    fn in_order(&self, pieces: &[Piece], len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len);
        let mut open = vec![pieces.iter()];
        while let Some(pieces) = open.last_mut() {
            if let Some(piece) = pieces.next() {
                out.extend_from_slice(&self.buffer[piece.head.clone()]);
                open.push(self.closed[piece.body.clone()].iter());
            } else {
                open.pop();
            }
        }
        out
    }
}

/// Of a field whose number is below 16.
const fn length_delimited_len(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

impl<'a> Form<'a> {
    fn scalar(kind: Kind, reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(match kind {
            Kind::Number => {
                let number =
                    reader.number().expect(READ_BEFORE).parse::<f64>().expect("JSON's numbers are Rust's");
                if number.is_infinite() {
                    return Err(Error::NumberRange);
                }
                Self::Number(number)
            }
            Kind::String => Self::String(reader.string().expect(READ_BEFORE)),
            _ => match reader.literal().expect(READ_BEFORE) {
                "null" => Self::Null,
                word => Self::Bool(word == "true"),
            },
        })
    }

    /// How many bytes the `Value` is.
    fn len(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 2,
            Self::Number(_) => 9,
            Self::String(text) => length_delimited_len(text.to_str().len()),
            Self::Struct(len) | Self::List(len) => length_delimited_len(*len),
        }
    }
}

impl<'a, 'k> Place<'a, 'k> {
    const fn of(key: Option<&'k Text<'a>>, open: &[Open<'a>]) -> Self {
        match key {
            Some(key) => Self::Entry(key),
            None if open.is_empty() => Self::Root,
            None => Self::Element,
        }
    }
}

/// What comes next in a container.
enum Next<'a> {
    Member(Text<'a>),
    Element,
    End,
}

impl<'a> Open<'a> {
    fn new(key: Option<Text<'a>>, kind: Kind) -> Self {
        let members = (kind == Kind::Object).then(HashMap::new);
        Self { key, members, first: true, pieces: Vec::new() }
    }

    fn next(&mut self, reader: &mut Reader<'a>) -> Next<'a> {
        if self.members.is_some() {
            reader.next_key(&mut self.first).expect(READ_BEFORE).map_or(Next::End, Next::Member)
        } else if reader.next_element(&mut self.first).expect(READ_BEFORE) {
            Next::Element
        } else {
            Next::End
        }
    }

    /// Takes in what it contains. Of duplicate keys the last value stands, at the first one's place.
    fn add(&mut self, key: Option<Text<'a>>, piece: Piece) {
        if let Some((members, key)) = self.members.as_mut().zip(key) {
            let place = *members.entry(key).or_insert(self.pieces.len());
            match self.pieces.get_mut(place) {
                Some(earlier) => *earlier = piece,
                None => self.pieces.push(piece),
            }
            return;
        }
        match self.pieces.last_mut() {
            // Scalars in a row are one piece, so that a list of many costs little more than its bytes.
            Some(last) if last.body.is_empty() && piece.body.is_empty() => {
                debug_assert_eq!(last.head.end, piece.head.start, "nothing was written between them");
                last.head.end = piece.head.end;
                last.len += piece.len;
            }
            _ => self.pieces.push(piece),
        }
    }
}
