//! Entries on their way to the journal.

use super::Position;
use super::checksum::checksum;
use super::entry::EntryHead;
use bytes::Bytes;

/// What an entry begins with.
const CHECKSUM_BYTES: usize = 4;

/// Entries that are committed together: after a crash all of them are there, or none.
///
/// They are encoded by the committer, into its group: whoever submits may hold up others, and only it has a buffer to copy to.
#[derive(Debug, Default)]
pub struct Frames {
    entries: Vec<(EntryHead, Bytes)>,
    bytes: usize,
}

impl Frames {
    /// Puts an entry behind those that are there. What is returned is for [`Committed::position`].
    pub fn push(&mut self, head: EntryHead, body: impl Into<Bytes>) -> u32 {
        let (start, body) = (self.bytes, body.into());
        self.bytes += CHECKSUM_BYTES + head.bytes(body.len()) + body.len();
        self.entries.push((head, body));
        // What is longer than that is refused as a whole.
        u32::try_from(start).unwrap_or(u32::MAX)
    }

    /// How many bytes they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many entries there are.
    #[must_use]
    pub fn entries(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    /// Appends them as they are written.
    pub(super) fn encode(&self, seed: u32, bytes: &mut Vec<u8>) {
        bytes.reserve(self.bytes);
        for (head, body) in &self.entries {
            let start = bytes.len();
            bytes.extend([0; CHECKSUM_BYTES]);
            head.put(body.len(), bytes);
            bytes.extend_from_slice(body);
            let (stored, rest) = bytes[start..].split_first_chunk_mut().expect("its space was just made");
            *stored = checksum(seed, rest).to_le_bytes();
        }
    }
}

/// Frames that are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the group that they are in.
    pub group: u64,
    /// Where the first entry is.
    pub start: Position,
    /// No other of the group is completed after it: what is done once for a group can be done now.
    pub is_last: bool,
}

impl Committed {
    /// Where the entry is for which [`Frames::push`] returned `start`.
    #[must_use]
    pub fn position(&self, start: u32) -> Position {
        Position { byte: self.start.byte + start, ..self.start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::entry::Layout;
    use proptest::prelude::*;

    /// Numbers of all lengths.
    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
    }

    proptest! {
        #[test]
        fn entries_take_as_many_bytes_as_was_said_and_begin_where_was_said(
            heads in proptest::collection::vec((number(), number(), number(), any::<u32>(), number(), number()), 1..5),
            body_bytes in 0..300_usize,
        ) {
            let heads = heads.into_iter().map(|(thread, run, first, count, time_min, time_max)| EntryHead {
                thread,
                run,
                first,
                count,
                time_min: time_min.cast_signed(),
                time_max: time_max.cast_signed(),
                ..EntryHead::default()
            });
            let mut frames = Frames::default();
            let pushed: Vec<_> =
                heads.map(|head| (head, frames.push(head, vec![7; body_bytes]) as usize)).collect();
            let mut bytes = vec![1; 3];
            frames.encode(5, &mut bytes);
            prop_assert_eq!(bytes.len(), 3 + frames.bytes());
            for (head, start) in pushed {
                let layout = Layout::verified(&bytes[3 + start..], 5);
                prop_assert_eq!(layout.map(|layout| layout.head), Some(head));
            }
        }
    }
}
