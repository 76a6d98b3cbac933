//! Writing the JSON of an event as producers do: the type first, no whitespace, characters as they are.

/// An object that is being written, member by member.
#[derive(Debug)]
pub(super) struct Writer(String);

impl Writer {
    pub(super) fn object() -> Self {
        Self("{".to_owned())
    }

    pub(super) fn event(event_type: &str) -> Self {
        Self::object().text("type", event_type)
    }

    /// Adds a string.
    pub(super) fn text(self, key: &str, text: &str) -> Self {
        self.json(key, &quoted(text))
    }

    /// Adds a value that is JSON already.
    pub(super) fn json(mut self, key: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// An array of values that are JSON already.
pub(super) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string can be written")
}

/// A JSON string of ASCII alone, as Python's `json.dumps` writes it.
pub(super) fn quoted_ascii(text: &str) -> String {
    let mut out = String::new();
    for character in quoted(text).chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}
