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

fn write_escaped(out: &mut String, text: &str) {
    let mut plain_from = 0;
    loop {
        let at = plain_end(text.as_bytes(), plain_from);
        out.push_str(&text[plain_from..at]);
        let Some(&byte) = text.as_bytes().get(at) else {
            return;
        };
        plain_from = at + 1;
        let short = match byte {
            b'\n' => 'n',
            b'\r' => 'r',
            b'\t' => 't',
            0x08 => 'b',
            0x0C => 'f',
            0x00..0x20 => {
                write_unit(out, byte.into());
                continue;
            }
            // A quote or a backslash.
            itself => itself.into(),
        };
        out.push('\\');
        out.push(short);
    }
}

fn write_unit(out: &mut String, unit: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(HEX[usize::from((unit >> shift) & 0xF)]);
    }
}
