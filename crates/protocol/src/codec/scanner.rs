//! Finds where a JSON value ends, without parsing it.

use memchr::memchr2;

/// Whether JSON allows `byte` between tokens.
pub(super) fn is_json_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// An incremental search for the end of one JSON value, whose first byte is the first one scanned.
///
/// It tracks strings and nesting, and checks nothing: `{]` counts as closed. Whoever parses the value will
/// see. The depth is a counter, so deep nesting costs no stack.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueScanner {
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, Debug, Default)]
enum Within {
    /// Nothing: no byte was scanned.
    #[default]
    Nothing,
    /// A number, a literal, or garbage.
    Scalar,
    /// An object or array, outside its strings.
    Container,
    String,
    /// A string, right after a backslash.
    Escape,
}

impl ValueScanner {
    /// Whether what was scanned ends inside a string.
    pub(super) fn is_in_string(&self) -> bool {
        matches!(self.within, Within::String | Within::Escape)
    }

    /// Scans on. If the value ends in `bytes`, gives how many of them belong to it.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.within {
                Within::Nothing => {
                    self.within = match byte {
                        b'"' => Within::String,
                        b'{' | b'[' => {
                            self.depth = 1;
                            Within::Container
                        }
                        _ => Within::Scalar,
                    };
                    at += 1;
                }
                Within::Scalar => {
                    if is_json_whitespace(byte) || matches!(byte, b',' | b']' | b'}' | b'[' | b'{' | b'"') {
                        return Some(at);
                    }
                    at += 1;
                }
                Within::Container => {
                    at += 1;
                    match byte {
                        b'"' => self.within = Within::String,
                        b'{' | b'[' => self.depth += 1,
                        b'}' | b']' => {
                            self.depth -= 1;
                            if self.depth == 0 {
                                return Some(at);
                            }
                        }
                        _ => {}
                    }
                }
                Within::String => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let found = memchr2(b'"', b'\\', rest)?;
                    at += found + 1;
                    if rest.get(found) == Some(&b'\\') {
                        self.within = Within::Escape;
                    } else if self.depth == 0 {
                        return Some(at);
                    } else {
                        self.within = Within::Container;
                    }
                }
                Within::Escape => {
                    self.within = Within::String;
                    at += 1;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value at the start of `text`, found in one go and byte by byte.
    fn first_value(text: &str) -> Option<&str> {
        let end = ValueScanner::default().scan(text.as_bytes());
        let mut scanner = ValueScanner::default();
        let bytewise =
            text.bytes().enumerate().find_map(|(at, byte)| scanner.scan(&[byte]).map(|taken| at + taken));
        assert_eq!(end, bytewise);
        end.and_then(|end| text.get(..end))
    }

    #[test]
    fn finds_the_end_of_any_value() {
        assert_eq!(first_value("{\"a\":[1,{}]} {"), Some("{\"a\":[1,{}]}"));
        assert_eq!(first_value("[[]],"), Some("[[]]"));
        assert_eq!(first_value("\"a,]\" "), Some("\"a,]\""));
        assert_eq!(first_value("-1.5e3]"), Some("-1.5e3"));
        assert_eq!(first_value("true\n"), Some("true"));
        assert_eq!(first_value("1{}"), Some("1"));
    }

    #[test]
    fn strings_hide_brackets_and_escapes_hide_quotes() {
        assert_eq!(first_value(r#"{"}":"\"}\\"}x"#), Some(r#"{"}":"\"}\\"}"#));
        assert_eq!(first_value(r#""\\",1"#), Some(r#""\\""#));
    }

    #[test]
    fn an_open_value_has_no_end() {
        for text in ["", "{", "{\"a\":\"}", "\"\\\"", "12", "[[]"] {
            assert_eq!(first_value(text), None, "{text}");
        }
    }
}
