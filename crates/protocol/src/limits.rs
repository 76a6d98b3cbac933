//! Every limit of the protocol crate, with its default.

/// Bounds on what a decoder accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest event, in bytes of its JSON or of its protobuf frame, prefix included. 10 MiB, as in the
    /// reference client.
    pub event_bytes_max: usize,
    /// The longest line of an SSE stream, in bytes, terminator excluded.
    pub line_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { event_bytes_max: 10 * 1024 * 1024, line_bytes_max: 10 * 1024 * 1024 + 16 }
    }
}
