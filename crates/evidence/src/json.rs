//! JSON that means one thing to every reader: no key twice, no half of a character, nothing before it and nothing after.

use crate::bounds::DEPTH_MAX;
use crate::reason::{Reason, Refusal};
use std::collections::HashSet;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool,
    /// As it is written.
    Number(String),
    String(String),
    Array(Vec<Self>),
    Object(Members),
}

/// The members of an object, in the order they came, each key once.
pub(crate) type Members = Vec<(String, Value)>;

impl Value {
    /// The value of a member.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads one value, and refuses whatever two readers could take differently.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, Refusal> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(Refusal::new(Reason::Bom, "", "a byte order mark stands before the JSON"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Refusal::new(Reason::NotUtf8, "", format!("not UTF-8. byte={}", error.valid_up_to()))
    })?;
    let mut reader = Reader { text, at: 0 };
    reader.skip_whitespace();
    let value = reader.value(0)?;
    reader.skip_whitespace();
    if reader.at < text.len() {
        return Err(reader.refuse(Reason::TrailingBytes, "something follows the JSON"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn refuse(&self, reason: Reason, what: &str) -> Refusal {
        Refusal::new(reason, "", format!("{what}. byte={}", self.at))
    }

    fn not_json(&self) -> Refusal {
        let what = if self.at < self.text.len() { "no JSON" } else { "the JSON is cut off" };
        self.refuse(Reason::NotJson, what)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Goes past this byte, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), Refusal> {
        if self.take(byte) { Ok(()) } else { Err(self.not_json()) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Refusal> {
        match self.peek() {
            Some(b'{' | b'[') if depth == DEPTH_MAX => {
                Err(self.refuse(Reason::TooDeep, &format!("nests too deep. max={DEPTH_MAX}")))
            }
            Some(b'{') => self.object(depth + 1).map(Value::Object),
            Some(b'[') => self.array(depth + 1).map(Value::Array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            _ => {
                let rest = &self.text[self.at..];
                let word = ["null", "true", "false"].into_iter().find(|word| rest.starts_with(word));
                let word = word.ok_or_else(|| self.not_json())?;
                self.at += word.len();
                Ok(if word == "null" { Value::Null } else { Value::Bool })
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, Refusal> {
        let mut elements = Vec::new();
        self.expect(b'[')?;
        self.skip_whitespace();
        if self.take(b']') {
            return Ok(elements);
        }
        loop {
            self.skip_whitespace();
            elements.push(self.value(depth)?);
            self.skip_whitespace();
            if self.take(b']') {
                return Ok(elements);
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Members, Refusal> {
        let (mut members, mut keys) = (Members::new(), HashSet::new());
        self.expect(b'{')?;
        self.skip_whitespace();
        if self.take(b'}') {
            return Ok(members);
        }
        loop {
            self.skip_whitespace();
            let key = self.string()?;
            if !keys.insert(key.clone()) {
                return Err(self.refuse(Reason::DuplicateKey, "an object has a key twice"));
            }
            self.skip_whitespace();
            self.expect(b':')?;
            self.skip_whitespace();
            members.push((key, self.value(depth)?));
            self.skip_whitespace();
            if self.take(b'}') {
                return Ok(members);
            }
            self.expect(b',')?;
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|character| matches!(character, '"' | '\\' | '\0'..='\x1F'));
            let plain = plain.unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            if self.take(b'"') {
                return Ok(out);
            }
            self.expect(b'\\')?;
            out.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Result<char, Refusal> {
        let byte = self.peek().ok_or_else(|| self.not_json())?;
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\x08',
            b'f' => '\x0C',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.not_json()),
        };
        self.at += 1;
        Ok(character)
    }

    /// A character by its number, or by the numbers of its two halves.
    fn unicode(&mut self) -> Result<char, Refusal> {
        let first = self.hex()?;
        if let Some(character) = char::from_u32(first.into()) {
            return Ok(character);
        }
        let start = self.at;
        let second = if self.take(b'\\') && self.take(b'u') { self.hex().ok() } else { None };
        let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
        pair.ok_or_else(|| {
            self.at = start;
            self.refuse(Reason::LoneSurrogate, "half of a surrogate pair")
        })
    }

    fn hex(&mut self) -> Result<u16, Refusal> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.not_json())?;
        self.at += 4;
        Ok(unit)
    }

    fn number(&mut self) -> Result<String, Refusal> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(self.text[start..self.at].to_owned())
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.not_json()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(text: &str) -> Option<Reason> {
        read(text.as_bytes()).err().map(|refusal| refusal.reason)
    }

    #[test]
    fn what_two_readers_take_differently_is_refused_by_name() {
        assert_eq!(reason("\u{FEFF}{}"), Some(Reason::Bom));
        assert_eq!(read(b"\"\xED\xA0\x80\"").unwrap_err().reason, Reason::NotUtf8);
        assert_eq!(reason("{} x"), Some(Reason::TrailingBytes));
        assert_eq!(reason("{}{}"), Some(Reason::TrailingBytes));
        assert_eq!(reason(r#"{"a":1,"\u0061":2}"#), Some(Reason::DuplicateKey));
        assert_eq!(reason(r#"[{"a":{"b":1,"b":1}}]"#), Some(Reason::DuplicateKey));
        for half in [
            r#""\ud83d""#,
            r#""\ude00""#,
            r#""\ud83dx""#,
            r#""\ud83d\n""#,
            r#""\ud83d\u0041""#,
            r#""\ud83d\ud83d""#,
        ] {
            assert_eq!(reason(half), Some(Reason::LoneSurrogate), "{half}");
        }
        for bad in [
            "",
            " ",
            "{",
            "nul",
            "[01]",
            "1.",
            "+1",
            ".5",
            "1e",
            "[1,]",
            "{a:1}",
            "'a'",
            "\"\n\"",
            r#""\x""#,
            r#""\u12g4""#,
            "NaN",
            "[1 2]",
        ] {
            assert_eq!(reason(bad), Some(Reason::NotJson), "{bad}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(reason(&nested(DEPTH_MAX)), None);
        assert_eq!(reason(&nested(DEPTH_MAX + 1)), Some(Reason::TooDeep));
        assert_eq!(reason(&"[".repeat(1_000_000)), Some(Reason::TooDeep));
    }

    #[test]
    fn strings_are_unescaped() {
        let read = |text: &str| read(text.as_bytes()).unwrap();
        assert_eq!(read(r#" "a\u0041\ud83d\ude00\n\/é" "#), Value::String("aA😀\n/é".to_owned()));
        assert_eq!(
            read(r#"{"b":[-1.5e+3,true]}"#).get("b"),
            Some(&Value::Array(vec![Value::Number("-1.5e+3".to_owned()), Value::Bool]))
        );
    }

    proptest! {
        #[test]
        fn nothing_crashes_it(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&bytes);
        }

        #[test]
        fn it_takes_what_serde_json_takes(text in r#"[\[\]{}",:0-9a-fnrtul\\ e.\-]{0,24}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            let ours = reason(&text);
            // A key twice is legal JSON, and a number too large for a float is JSON.
            if theirs {
                prop_assert!(matches!(ours, None | Some(Reason::DuplicateKey)), "{ours:?}");
            } else if ours.is_none() {
                prop_assert!(text.contains(['e', 'E']) || text.contains("\\u"), "{text}");
            }
        }
    }
}
