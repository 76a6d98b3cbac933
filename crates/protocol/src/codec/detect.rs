//! Telling the format of an input by how it begins.

use std::fmt;

use memchr::memchr;

use super::buffer::BOM;
use super::scanner::ValueScanner;

/// How events are laid out in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON event a line.
    Jsonl,
    /// One JSON array of events.
    JsonArray,
    /// One JSON event, over any number of lines.
    JsonDocument,
    /// Server-sent events.
    Sse,
    /// Length-prefixed protobuf messages.
    Proto,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Jsonl => "jsonl",
            Self::JsonArray => "json-array",
            Self::JsonDocument => "json",
            Self::Sse => "sse",
            Self::Proto => "proto",
        })
    }
}

/// Tells the format of the input that begins with `head`, or `None` if that takes more bytes.
///
/// If `head` is the `complete` input, there is always an answer. Input like no format counts as
/// [`Format::Jsonl`], whose reader can name the line that makes no sense.
#[must_use]
pub fn detect(head: &[u8], complete: bool) -> Option<Format> {
    Detector::default().detect(head, complete)
}

/// [`detect`] for a head that grows: looks at every byte once.
#[derive(Debug, Default)]
pub(super) struct Detector {
    /// How many bytes after the byte order mark need no second look.
    seen: usize,
    /// Looks for the end of the object that the input begins with, if it begins with one.
    object: Option<ValueScanner>,
}

impl Detector {
    /// As [`detect`]. Each `head` must begin with the one before.
    pub(super) fn detect(&mut self, head: &[u8], complete: bool) -> Option<Format> {
        let undecided = complete.then_some(Format::Jsonl);
        // A frame within any sensible limit is shorter than 16 MiB, so its first length byte is 0.
        if head.first() == Some(&0) {
            return Some(Format::Proto);
        }
        if !complete && head.len() < BOM.len() && BOM.starts_with(head) {
            return None;
        }
        let text = head.strip_prefix(BOM).unwrap_or(head);
        let mut rest = text.get(self.seen..).unwrap_or_default();
        if self.object.is_none() {
            rest = rest.trim_ascii_start();
            self.seen = text.len() - rest.len();
            match rest.first() {
                None => return undecided,
                Some(b'{') => {}
                Some(b'[') => return Some(Format::JsonArray),
                Some(_) => {
                    let is_sse = begins_like_sse(rest, complete)?;
                    return Some(if is_sse { Format::Sse } else { Format::Jsonl });
                }
            }
        }
        let line_end = memchr(b'\n', rest);
        let line = line_end.and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.seen += line.len();
        if self.object.get_or_insert_default().scan(line).is_some() {
            return Some(Format::Jsonl);
        }
        let Some(after) = line_end.and_then(|end| rest.get(end..)) else { return undecided };
        // A string cannot go on in another line, so this is one line of several that was cut off.
        if self.object.as_ref().is_some_and(ValueScanner::is_in_string) {
            return Some(Format::Jsonl);
        }
        // A document goes on after these; after anything else it goes on with no `{`.
        let so_far = text.get(..self.seen).unwrap_or_default().trim_ascii_end();
        if let Some(b'{' | b'[' | b',' | b':') = so_far.last() {
            return Some(Format::JsonDocument);
        }
        match after.trim_ascii_start().first() {
            Some(b'{') => Some(Format::Jsonl),
            Some(_) => Some(Format::JsonDocument),
            None => complete.then_some(Format::JsonDocument),
        }
    }
}

/// Whether `text` begins with a comment or a field of an SSE stream, or `None` if it breaks off before that is
/// clear.
fn begins_like_sse(text: &[u8], complete: bool) -> Option<bool> {
    for field in [&b"data"[..], b"event", b"id", b"retry"] {
        if let Some(rest) = text.strip_prefix(field) {
            return match rest.first() {
                Some(b':') => Some(true),
                Some(b'\n' | b'\r') => Some(field == b"data"),
                Some(_) => Some(false),
                None => complete.then_some(field == b"data"),
            };
        }
        if !complete && field.starts_with(text) {
            return None;
        }
    }
    Some(text.starts_with(b":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_tell_most_formats() {
        for (head, format) in [
            (&b"\0\0"[..], Format::Proto),
            (b"[", Format::JsonArray),
            (b"\xEF\xBB\xBF \r\n\t[", Format::JsonArray),
            (b":", Format::Sse),
            (b"\n\ndata:", Format::Sse),
            (b"data\r", Format::Sse),
            (b"event:", Format::Sse),
            (b"id:", Format::Sse),
            (b"retry:", Format::Sse),
            (b"id\n", Format::Jsonl),
            (b"database: ", Format::Jsonl),
            (b"dat:", Format::Jsonl),
            (b"\"text\"", Format::Jsonl),
            (b"\xEF\xBB[", Format::Jsonl),
        ] {
            let shown = head.escape_ascii();
            assert_eq!(detect(head, false), Some(format), "{shown}");
            assert_eq!(detect(head, true), Some(format), "{shown}");
        }
    }

    #[test]
    fn an_object_is_a_line_or_a_document() {
        assert_eq!(detect(b"{\"a\":\"}\"}", false), Some(Format::Jsonl));
        assert_eq!(detect(b"\n{\"a\":{}}\n{", false), Some(Format::Jsonl));
        for document in
            ["{\r\n}", "{\n  \"a\"", "{\"a\":[\n{", "{\"a\":1\n}", "{\"a\": {}\n, \"b\"", "{\"a\":\n{"]
        {
            assert_eq!(detect(document.as_bytes(), false), Some(Format::JsonDocument), "{document}");
        }
    }

    #[test]
    fn a_first_line_that_was_cut_off_makes_no_document_of_the_others() {
        for lines in ["{\"a\":\"}\n", "{\"a\":1\n{", "{\"a\":{}\n\n {\"b\"", "{\"a\"\n{"] {
            assert_eq!(detect(lines.as_bytes(), false), Some(Format::Jsonl), "{lines}");
        }
        assert_eq!(detect(b"{\"a\":1\n", false), None);
        assert_eq!(detect(b"{\"a\":1\n", true), Some(Format::JsonDocument));
    }

    #[test]
    fn an_unclear_head_needs_more_bytes() {
        for (head, format_if_complete) in [
            (&b""[..], Format::Jsonl),
            (b" \n", Format::Jsonl),
            (b"\xEF\xBB", Format::Jsonl),
            (b"\xEF\xBB\xBF", Format::Jsonl),
            (b"da", Format::Jsonl),
            (b"data", Format::Sse),
            (b"event", Format::Jsonl),
            (b"{\"a\":\"}", Format::Jsonl),
        ] {
            let shown = head.escape_ascii();
            assert_eq!(detect(head, false), None, "{shown}");
            assert_eq!(detect(head, true), Some(format_if_complete), "{shown}");
        }
    }

    #[test]
    fn formats_have_names() {
        let names = [Format::Jsonl, Format::JsonArray, Format::JsonDocument, Format::Sse, Format::Proto]
            .map(|format| format.to_string());
        assert_eq!(names, ["jsonl", "json-array", "json", "sse", "proto"]);
    }
}
