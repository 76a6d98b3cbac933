//! Writing JSON strings.

use super::reader::plain_end;
use super::text::{Piece, Text, pieces};

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Appends `text` as a JSON string. Lone surrogates become escapes, everything else that may stand for
/// itself does.
pub(crate) fn write_string(out: &mut String, text: &Text<'_>) {
    out.push('"');
    if let Some(text) = text.as_str() {
        write_escaped(out, text);
    } else {
        pieces(text.wtf8(), |piece| match piece {
            Piece::Text(text) => write_escaped(out, text),
            Piece::Surrogate(unit) => write_unit(out, unit),
        });
    }
    out.push('"');
}

/// How many bytes [`write_string`] appends.
pub(crate) fn string_bytes(text: &Text<'_>) -> usize {
    if let Some(text) = text.as_str() {
        return "\"\"".len() + escaped_bytes(text.as_bytes());
    }
    let mut bytes = "\"\"".len();
    pieces(text.wtf8(), |piece| {
        bytes += match piece {
            Piece::Text(text) => escaped_bytes(text.as_bytes()),
            Piece::Surrogate(_) => UNIT_BYTES,
        }
    });
    bytes
}

fn escaped_bytes(text: &[u8]) -> usize {
    let mut bytes = text.len();
    let mut at = plain_end(text, 0);
    while let Some(&byte) = text.get(at) {
        let escape = if short_escape(byte).is_some() { 2 } else { UNIT_BYTES };
        bytes += escape - 1;
        at = plain_end(text, at + 1);
    }
    bytes
}

fn write_escaped(out: &mut String, text: &str) {
    let mut plain_from = 0;
    loop {
        let at = plain_end(text.as_bytes(), plain_from);
        out.push_str(&text[plain_from..at]);
        let Some(&byte) = text.as_bytes().get(at) else {
            return;
        };
        plain_from = at + 1;
        match short_escape(byte) {
            Some(letter) => out.extend(['\\', letter]),
            None => write_unit(out, byte.into()),
        }
    }
}

/// The letter that stands for a byte after a backslash, if it need not be written in digits.
const fn short_escape(byte: u8) -> Option<char> {
    match byte {
        b'\n' => Some('n'),
        b'\r' => Some('r'),
        b'\t' => Some('t'),
        0x08 => Some('b'),
        0x0C => Some('f'),
        0x00..0x20 => None,
        // A quote or a backslash.
        itself => Some(itself as char),
    }
}

/// The bytes of a backslash, a `u` and four digits.
const UNIT_BYTES: usize = 6;

fn write_unit(out: &mut String, unit: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(HEX[usize::from((unit >> shift) & 0xF)]);
    }
}
