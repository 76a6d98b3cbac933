//! Encoding of server-sent event streams.

use memchr::memchr2_iter;

/// The id of an SSE frame: text that fits in an `id` line, so free of CR, LF and NUL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SseId(String);

impl SseId {
    /// Checks an id.
    ///
    /// # Errors
    ///
    /// If it contains CR, LF or NUL.
    pub fn new(id: impl Into<String>) -> Result<Self, SseIdError> {
        let id = id.into();
        match id.find(['\r', '\n', '\0']) {
            Some(at) => Err(SseIdError { at }),
            None => Ok(Self(id)),
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SseId {
    type Error = SseIdError;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        Self::new(id)
    }
}

/// Text that cannot be the id of an SSE frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sse id contains cr, lf or nul. at byte {at}")]
pub struct SseIdError {
    /// How many bytes precede the first of them.
    pub at: usize,
}

/// Appends one frame to `out`: an `id` line if there is an id, and exactly one `data` line.
///
/// CR and LF, which JSON allows only between tokens, become spaces: whatever the text, it stays one frame.
pub fn encode_frame(out: &mut Vec<u8>, json: &[u8], id: Option<&SseId>) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_str().as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    append_as_one_line(out, json);
    out.extend_from_slice(b"\n\n");
}

/// Appends a comment to `out`, which readers ignore: a keep-alive. CR and LF become spaces.
pub fn encode_comment(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b": ");
    append_as_one_line(out, text.as_bytes());
    out.extend_from_slice(b"\n\n");
}

fn append_as_one_line(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    out.extend_from_slice(text);
    for at in memchr2_iter(b'\n', b'\r', text) {
        if let Some(byte) = out.get_mut(start + at) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_is_one_data_line() {
        let mut out = Vec::new();
        encode_frame(&mut out, b"{\"a\":1}", None);
        encode_frame(&mut out, b"{\r\n\"a\":\n1}", Some(&SseId::new("t/7").unwrap()));
        assert_eq!(out, b"data: {\"a\":1}\n\nid: t/7\ndata: {  \"a\": 1}\n\n");
    }

    #[test]
    fn comment_cannot_break_out() {
        let mut out = Vec::new();
        encode_comment(&mut out, "ping\n\ndata: x\r");
        assert_eq!(out, b": ping  data: x \n\n");
    }

    #[test]
    fn id_is_one_line() {
        assert_eq!(SseId::new("a b").unwrap().as_str(), "a b");
        for id in ["ab\n", "ab\r", "ab\0"] {
            assert_eq!(SseId::try_from(id.to_owned()), Err(SseIdError { at: 2 }));
        }
    }
}
