//! What a reader does with an event stream: as little as shows that everything has come.

use memchr::memchr_iter;

/// Counts the frames of a stream, however it is cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frames {
    pub(super) count: usize,
    /// Whether the last piece ended with the end of a line.
    after_line: bool,
}

impl Frames {
    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) {
        for at in memchr_iter(b'\n', piece) {
            let is_blank = if at == 0 { self.after_line } else { piece[at - 1] == b'\n' };
            self.count += usize::from(is_blank);
        }
        if let Some(last) = piece.last() {
            self.after_line = *last == b'\n';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_wherever_they_are_cut() {
        let stream = b"id: 1\ndata: a\n\ndata: b\n\n: comment\n\n";
        for cut in 0..=stream.len() {
            let mut frames = Frames::default();
            let (first, second) = stream.split_at(cut);
            frames.take(first);
            frames.take(second);
            assert_eq!(frames.count, 3, "{cut}");
        }
    }
}
