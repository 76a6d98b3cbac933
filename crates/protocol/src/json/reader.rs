//! A pull reader over one JSON text.

use super::text::{Text, join, push_surrogate};
use crate::schema::ReadError;

/// A cursor over a JSON text that hands out what it passes: keys, strings, and exact slices of values.
///
/// Everything that is passed is checked to be JSON. Nothing recurses: depth costs one bit a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    pos: usize,
}

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

type Read<T> = Result<T, ReadError>;

impl<'a> Reader<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, pos: 0 }
    }

    pub(crate) const fn offset(&self) -> usize {
        self.pos
    }

    /// The exact text from `start` to here.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.pos]
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn byte(&self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    #[cold]
    fn syntax(&self, message: &'static str) -> ReadError {
        if self.pos >= self.text.len() {
            ReadError::syntax("unexpected end of JSON", self.pos)
        } else {
            ReadError::syntax(message, self.pos)
        }
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.pos += 1;
        }
    }

    /// Looks at the next value without passing it.
    pub(crate) fn kind(&mut self) -> Read<Kind> {
        self.skip_whitespace();
        match self.byte() {
            Some(b'"') => Ok(Kind::String),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'n') => Ok(Kind::Null),
            Some(b't' | b'f') => Ok(Kind::Bool),
            _ => Err(self.syntax("expected a JSON value")),
        }
    }

    /// Passes the end of the text; anything but whitespace before it is an error.
    pub(crate) fn end(&mut self) -> Read<()> {
        self.skip_whitespace();
        if self.pos == self.text.len() { Ok(()) } else { Err(self.syntax("text after the JSON value")) }
    }

    /// Enters the object or array that is next.
    pub(crate) fn open(&mut self) {
        self.pos += 1;
    }

    /// Passes a value if it is written exactly so and no whitespace comes first.
    pub(crate) fn pass(&mut self, value: &str) -> bool {
        let is_next = self.bytes()[self.pos..].starts_with(value.as_bytes());
        if is_next {
            self.pos += value.len();
        }
        is_next
    }

    /// Passes the next key of the object and its colon, or the end of the object.
    pub(crate) fn next_key(&mut self, first: &mut bool) -> Read<Option<Text<'a>>> {
        // As it is between the members of nearly every object.
        if !*first && self.pass(",\"") {
            let key = self.string_body()?;
            self.colon()?;
            return Ok(Some(key));
        }
        self.skip_whitespace();
        match self.byte() {
            Some(b'}') => {
                self.pos += 1;
                return Ok(None);
            }
            Some(b',') if !*first => {
                self.pos += 1;
                self.skip_whitespace();
            }
            Some(b'"') if *first => {}
            _ => return Err(self.syntax(if *first { "expected a key or }" } else { "expected , or }" })),
        }
        *first = false;
        let key = self.string()?;
        self.colon()?;
        Ok(Some(key))
    }

    /// Goes to the next element of the array, or passes its end.
    pub(crate) fn next_element(&mut self, first: &mut bool) -> Read<bool> {
        self.skip_whitespace();
        match self.byte() {
            Some(b']') => {
                self.pos += 1;
                return Ok(false);
            }
            Some(b',') if !*first => {
                self.pos += 1;
                self.skip_whitespace();
                if self.byte() == Some(b']') {
                    return Err(self.syntax("expected a JSON value"));
                }
            }
            Some(_) if *first => {}
            _ => return Err(self.syntax("expected , or ]")),
        }
        *first = false;
        Ok(true)
    }

    /// How many elements are left in the array, the one that is next included. Passes nothing.
    pub(crate) fn count_elements(mut self) -> Read<usize> {
        let mut count = 0;
        let mut first = true;
        while self.next_element(&mut first)? {
            self.value()?;
            count += 1;
        }
        Ok(count)
    }

    fn colon(&mut self) -> Read<()> {
        self.skip_whitespace();
        if self.byte() != Some(b':') {
            return Err(self.syntax("expected :"));
        }
        self.pos += 1;
        Ok(())
    }

    /// Passes a string and decodes it. Borrows where no escape stands in the way.
    pub(crate) fn string(&mut self) -> Read<Text<'a>> {
        self.skip_whitespace();
        if self.byte() != Some(b'"') {
            return Err(self.syntax("expected a string"));
        }
        self.pos += 1;
        self.string_body()
    }

    /// Passes a string whose opening quote is passed.
    fn string_body(&mut self) -> Read<Text<'a>> {
        let start = self.pos;
        self.pos = plain_end(self.bytes(), start);
        if self.byte() == Some(b'"') {
            let text = &self.text[start..self.pos];
            self.pos += 1;
            return Ok(Text::borrowed(text));
        }
        self.string_with_escapes(start)
    }

    /// Decodes the string that began at `start`, where what comes before the first escape is passed.
    fn string_with_escapes(&mut self, start: usize) -> Read<Text<'a>> {
        let plain = self.since(start);
        // A guess that is right for most strings with an escape or two.
        let mut decoded = String::with_capacity(2 * plain.len() + 32);
        decoded.push_str(plain);
        loop {
            if self.byte() == Some(b'"') {
                self.pos += 1;
                return Ok(Text::from(decoded));
            }
            match self.escape()? {
                Escape::Character(character) => decoded.push(character),
                Escape::Surrogate(unit) => {
                    return self.string_with_surrogates(decoded.into_bytes(), unit);
                }
            }
            decoded.push_str(self.plain());
        }
    }

    /// Decodes the rest of a string after its first lone surrogate.
    #[cold]
    fn string_with_surrogates(&mut self, mut decoded: Vec<u8>, unit: u16) -> Read<Text<'a>> {
        push_surrogate(&mut decoded, unit);
        loop {
            decoded.extend_from_slice(self.plain().as_bytes());
            if self.byte() == Some(b'"') {
                self.pos += 1;
                return Ok(Text::from_wtf8(decoded));
            }
            match self.escape()? {
                Escape::Character(character) => {
                    decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Escape::Surrogate(unit) => push_surrogate(&mut decoded, unit),
            }
        }
    }

    /// Passes plain characters.
    fn plain(&mut self) -> &'a str {
        let start = self.pos;
        self.pos = plain_end(self.bytes(), start);
        self.since(start)
    }

    fn escape(&mut self) -> Read<Escape> {
        if self.byte() != Some(b'\\') {
            return Err(self.syntax("control character in a string"));
        }
        self.pos += 1;
        let plain = match self.byte() {
            Some(plain @ (b'"' | b'\\' | b'/')) => plain,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.syntax("unknown escape in a string")),
        };
        self.pos += 1;
        Ok(Escape::Character(plain.into()))
    }

    fn unicode_escape(&mut self) -> Read<Escape> {
        self.pos += 1;
        let unit = self.hex4()?;
        if let Some(character) = char::from_u32(unit.into()) {
            return Ok(Escape::Character(character));
        }
        // A surrogate. Its other half makes a character of it, if that follows at once.
        let after = self.pos;
        if self.bytes()[after..].starts_with(b"\\u") {
            self.pos += 2;
            if let Some(character) = join(unit, self.hex4()?) {
                return Ok(Escape::Character(character));
            }
            self.pos = after;
        }
        Ok(Escape::Surrogate(unit))
    }

    fn hex4(&mut self) -> Read<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.syntax("expected four hexadecimal digits")) };
            unit = unit << 4 | digit;
            self.pos += 1;
        }
        Ok(u16::try_from(unit).expect("four hexadecimal digits are 16 bits"))
    }

    /// Passes a string without decoding it.
    fn skip_string(&mut self) -> Read<()> {
        self.pos += 1;
        loop {
            self.pos = plain_end(self.bytes(), self.pos);
            match self.byte() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.pos += 1;
                    match self.byte() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 1,
                        Some(b'u') => {
                            self.pos += 1;
                            self.hex4()?;
                        }
                        _ => return Err(self.syntax("unknown escape in a string")),
                    }
                }
                _ => return Err(self.syntax("control character in a string")),
            }
        }
    }

    /// Passes a number and gives its text.
    pub(crate) fn number(&mut self) -> Read<&'a str> {
        self.skip_whitespace();
        let start = self.pos;
        if self.byte() == Some(b'-') {
            self.pos += 1;
        }
        if self.byte() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(self.since(start))
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.byte() {
            self.pos += 1;
        }
        if self.pos == start { Err(self.syntax("expected a digit")) } else { Ok(()) }
    }

    /// Passes `true`, `false` or `null` and gives it.
    pub(crate) fn literal(&mut self) -> Read<&'static str> {
        self.skip_whitespace();
        let rest = &self.bytes()[self.pos..];
        for literal in ["true", "false", "null"] {
            if rest.starts_with(literal.as_bytes()) {
                self.pos += literal.len();
                return Ok(literal);
            }
        }
        Err(self.syntax("expected a JSON value"))
    }

    /// Passes any value and gives its exact text.
    pub(crate) fn value(&mut self) -> Read<&'a str> {
        let mut kind = self.kind()?;
        let start = self.pos;
        let mut open = Nesting::default();
        loop {
            // Pass one value, or enter it.
            match kind {
                Kind::String => self.skip_string()?,
                Kind::Number => drop(self.number()?),
                Kind::Null | Kind::Bool => drop(self.literal()?),
                Kind::Object | Kind::Array => {
                    self.pos += 1;
                    self.skip_whitespace();
                    let object = kind == Kind::Object;
                    if self.byte() == Some(if object { b'}' } else { b']' }) {
                        self.pos += 1;
                    } else {
                        open.push(object);
                        if object {
                            self.skip_key()?;
                        }
                        kind = self.kind()?;
                        continue;
                    }
                }
            }
            // Leave whatever ends here, then go to the next value.
            loop {
                let Some(object) = open.top() else { return Ok(self.since(start)) };
                self.skip_whitespace();
                match (self.byte(), object) {
                    (Some(b','), _) => {
                        self.pos += 1;
                        if object {
                            self.skip_key()?;
                        }
                        kind = self.kind()?;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.pos += 1;
                        open.pop();
                    }
                    (_, true) => return Err(self.syntax("expected , or }")),
                    (_, false) => return Err(self.syntax("expected , or ]")),
                }
            }
        }
    }

    fn skip_key(&mut self) -> Read<()> {
        self.skip_whitespace();
        if self.byte() != Some(b'"') {
            return Err(self.syntax("expected a key"));
        }
        self.skip_string()?;
        self.colon()
    }

    /// The string under `key` in the object that is next, without passing the object: the first one, or the
    /// last one, which is the one that counts. `None` if there is none or it is no string.
    pub(crate) fn peek_member(mut self, key: &str, which: Which) -> Read<Option<Text<'a>>> {
        if self.kind()? != Kind::Object {
            return Ok(None);
        }
        self.open();
        let mut found = None;
        let mut first = true;
        while let Some(member) = self.next_key(&mut first)? {
            if member != key {
                self.value()?;
                continue;
            }
            found = match self.kind()? {
                Kind::String => Some(self.string()?),
                _ => {
                    self.value()?;
                    None
                }
            };
            if which == Which::First {
                break;
            }
        }
        Ok(found)
    }
}

/// What an escape stands for.
enum Escape {
    Character(char),
    /// A lone one.
    Surrogate(u16),
}

/// Which of several members with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    First,
    Last,
}

/// Where the plain part of a string ends: at a quote, a backslash or a control character.
///
/// Looks at eight bytes at a time; a byte of `hits` is flagged when the byte there is one of them. Borrows may
/// flag too many bytes, but only above a true one, and the lowest is what counts.
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = from;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5C);
        let hits = (word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash);
        let hits = hits & HIGH;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// Which of the open containers are objects: one bit a level, 64 levels before anything is allocated.
#[derive(Default)]
struct Nesting {
    bits: u64,
    depth: usize,
    spilled: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.spilled.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.spilled.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn validate(text: &str) -> Result<&str, ReadError> {
        let mut reader = Reader::new(text);
        let value = reader.value()?;
        reader.end()?;
        Ok(value)
    }

    fn string(text: &str) -> Text<'_> {
        Reader::new(text).string().unwrap()
    }

    #[test]
    fn values_come_back_as_they_were_written() {
        for text in ["1.50", "-0", "1E+2", r#""a\u0062\/""#, "[ 1 , {\"k\" : [ ] } ]", "true", "{}"] {
            assert_eq!(validate(text).unwrap(), text);
            assert_eq!(validate(&format!(" {text}\n")).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, offset) in [
            ("", 0),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("nul", 0),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("{\"a\":1,}", 7),
            ("{\"a\":1]", 6),
            ("[1}", 2),
            ("\"\u{1}\"", 1),
            (r#""\x""#, 2),
            (r#""\u12g4""#, 5),
            ("\"open", 5),
            ("1 2", 2),
        ] {
            let error = validate(text).unwrap_err();
            assert_eq!(error.offset(), offset, "{text:?}: {error}");
        }
    }

    #[test]
    fn strings_are_decoded() {
        assert_eq!(string(r#""plain""#), "plain");
        assert_eq!(string(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#), "\"\\/\u{8}\u{c}\n\r\té😀");
        assert_eq!(string(r#""\ud83dx""#).to_str(), "\u{FFFD}x");
        assert_eq!(string(r#""\ud83d\ud83d\ude00""#).to_str(), "\u{FFFD}😀");
        assert_eq!(string(r#""\ude00""#).to_str(), "\u{FFFD}");
    }

    #[test]
    fn depth_needs_no_stack() {
        let deep = 200_000;
        let text = format!("{}{}", "[{\"k\":".repeat(deep), "0");
        assert!(validate(&text).is_err());
        let text = format!("{text}{}", "}]".repeat(deep));
        assert_eq!(validate(&text).unwrap().len(), text.len());
        let wrong = format!("{}{}", "[{\"k\":".repeat(deep), "]}".repeat(deep));
        assert!(validate(&wrong).is_err());
    }

    #[test]
    fn the_last_of_duplicate_members_counts() {
        let reader = Reader::new(r#"{"a":{"t":"no"},"t":"x","t":3,"t":"y"}"#);
        assert_eq!(reader.peek_member("t", Which::First).unwrap().unwrap(), "x");
        assert_eq!(reader.peek_member("t", Which::Last).unwrap().unwrap(), "y");
        assert_eq!(reader.peek_member("u", Which::Last).unwrap(), None);
    }

    fn jsonish() -> impl Strategy<Value = String> {
        // Fragments of JSON in any order: valid often enough, nearly valid most of the time.
        let fragment = prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(","),
            Just(":"),
            Just("\"k\""),
            Just("\"\\u00e9\""),
            Just("\"\\ud83d\""),
            Just("12"),
            Just("-0.5e+3"),
            Just("true"),
            Just("null"),
            Just(" "),
            Just("\n"),
            Just("\"long enough to use words ü\""),
            Just("\"\\"),
            Just("\u{1}"),
            Just("0"),
            Just("1e"),
        ];
        proptest::collection::vec(fragment, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        /// serde_json skips values without decoding them, lone surrogates included, so it is the oracle.
        #[test]
        fn agrees_with_serde_json_on_what_json_is(text in jsonish()) {
            let ours = validate(&text).is_ok();
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn agrees_with_serde_json_on_values(value in any::<Vec<(String, f64)>>()) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(validate(&text).unwrap(), &text);
        }

        #[test]
        fn strings_survive(text in any::<String>()) {
            let mut written = String::new();
            super::super::write_string(&mut written, &Text::from(&text));
            prop_assert_eq!(&string(&written), text.as_str());
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }

        #[test]
        fn any_units_survive(units in proptest::collection::vec(prop_oneof![any::<u16>(), 0xD7F0..0xE010u16], 0..12)) {
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let escaped = format!("\"{escaped}\"");
            let text = string(&escaped);
            prop_assert_eq!(text.to_str(), String::from_utf16_lossy(&units));
            let mut written = String::new();
            super::super::write_string(&mut written, &text);
            prop_assert_eq!(string(&written), text);
        }

        #[test]
        fn joining_is_joining_of_utf16(left in proptest::collection::vec(0xD7F0..0xE010u16, 0..4), right in proptest::collection::vec(0xD7F0..0xE010u16, 0..4)) {
            let text = |units: &[u16]| {
                let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
                string(&format!("\"{escaped}\"")).into_owned()
            };
            let mut joined = text(&left);
            joined.push(&text(&right));
            prop_assert_eq!(joined, text(&[left, right].concat()));
        }
    }
}
