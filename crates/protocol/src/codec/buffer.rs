//! The input that a decoder holds: what arrived and is not yet consumed.

/// The UTF-8 byte order mark.
pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A queue of bytes that is filled at one end and consumed at the other, in linear time however the input
/// is cut into chunks.
///
/// Consumed bytes stay in place until the next push, so that an event can be lent out after it is consumed.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// Bytes before this index are consumed.
    start: usize,
    /// How many pending bytes `find` has searched in vain.
    searched: usize,
    /// How many bytes of input came before `start`.
    offset: u64,
    /// Whether what arrived so far may yet turn out to be (part of) a byte order mark.
    maybe_bom: bool,
    closed: bool,
}

impl Buffer {
    /// For text: removes a byte order mark at the start of the input.
    pub(super) fn text() -> Self {
        Self { bytes: Vec::new(), start: 0, searched: 0, offset: 0, maybe_bom: true, closed: false }
    }

    /// For anything else.
    pub(super) fn binary() -> Self {
        Self { maybe_bom: false, ..Self::text() }
    }

    /// Adds input, unless the buffer is closed.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        if self.closed {
            return;
        }
        // Moving no more bytes than were consumed since the last move keeps the total cost linear.
        if self.start >= self.pending_len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(chunk);
        if self.maybe_bom {
            self.strip_bom();
        }
    }

    fn strip_bom(&mut self) {
        self.maybe_bom = self.bytes.len() < BOM.len() && BOM.starts_with(&self.bytes);
        if self.bytes.starts_with(BOM) {
            self.consume(BOM.len());
        }
    }

    /// Ends the input: whatever is pushed from now on is ignored.
    pub(super) fn close(&mut self) {
        self.maybe_bom = false;
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many bytes of input came before the pending ones.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The input that arrived and is not consumed.
    pub(super) fn pending(&self) -> &[u8] {
        if self.maybe_bom {
            return &[];
        }
        self.bytes.get(self.start..).unwrap_or_default()
    }

    fn pending_len(&self) -> usize {
        self.pending().len()
    }

    /// Runs `search` over the pending bytes that no earlier search covered, and gives the position found,
    /// relative to all pending bytes. What was found should be consumed before the next search.
    pub(super) fn find(&mut self, search: impl FnOnce(&[u8]) -> Option<usize>) -> Option<usize> {
        let pending = self.pending();
        let len = pending.len();
        let found = search(pending.get(self.searched..).unwrap_or_default());
        match found {
            Some(at) => Some(self.searched + at),
            None => {
                self.searched = len;
                None
            }
        }
    }

    /// Drops the first `len` pending bytes.
    pub(super) fn consume(&mut self, len: usize) {
        let len = len.min(self.pending_len());
        self.start += len;
        self.searched = self.searched.saturating_sub(len);
        self.offset += len as u64;
    }

    /// Drops all pending bytes.
    pub(super) fn consume_all(&mut self) {
        self.consume(self.pending_len());
    }

    /// Consumes the first `len` pending bytes and lends them out.
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let start = self.start;
        self.consume(len);
        self.bytes.get(start..self.start).unwrap_or_default()
    }

    /// Drops all pending bytes but the first `len`, as if they had never arrived.
    pub(super) fn truncate(&mut self, len: usize) {
        let dropped = self.pending_len().saturating_sub(len);
        self.bytes.truncate(self.bytes.len() - dropped);
        self.searched = self.searched.min(len);
    }

    /// The memory in use, to test that it is bounded.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_searched_once() {
        let mut buffer = Buffer::text();
        let mut searched = 0;
        for _ in 0..1000 {
            buffer.push(b"x");
            let found = buffer.find(|bytes| {
                searched += bytes.len();
                None
            });
            assert_eq!(found, None);
        }
        assert_eq!(searched, 1000);
        buffer.push(b"\n");
        assert_eq!(buffer.find(|bytes| memchr::memchr(b'\n', bytes)), Some(1000));
    }

    #[test]
    fn consumed_bytes_are_dropped_when_that_is_cheap() {
        let mut buffer = Buffer::text();
        for _ in 0..1000 {
            buffer.push(b"0123456789");
            assert_eq!(buffer.take(10), b"0123456789");
        }
        assert_eq!(buffer.offset(), 10_000);
        assert!(buffer.held_bytes() < 100);
    }

    #[test]
    fn bom_is_removed_once_and_counted() {
        let mut buffer = Buffer::text();
        for byte in BOM {
            assert!(buffer.pending().is_empty());
            buffer.push(&[*byte]);
        }
        buffer.push(BOM);
        assert_eq!(buffer.pending(), BOM);
        assert_eq!(buffer.offset(), 3);

        let mut buffer = Buffer::binary();
        buffer.push(BOM);
        assert_eq!(buffer.pending(), BOM);
    }

    #[test]
    fn half_a_bom_is_content() {
        let mut buffer = Buffer::text();
        buffer.push(b"\xEF\xBB");
        assert!(buffer.pending().is_empty());
        buffer.truncate(0);
        buffer.consume_all();
        buffer.close();
        assert_eq!(buffer.pending(), b"\xEF\xBB");
        buffer.push(b"ignored");
        assert_eq!(buffer.pending(), b"\xEF\xBB");
    }
}
