//! Entries on their way to the journal.

use super::Position;
use super::checksum::checksum;
use super::entry::EntryHead;
use smallvec::SmallVec;

/// What an entry begins with.
const CHECKSUM_BYTES: usize = 4;

/// Entries that are committed together: after a crash all of them are there, or none.
///
/// Whoever submits brings the bodies. The committer copies them into its group and puts heads and checksums to them: what is in a
/// head is known only to who has the order, and meanwhile holds up others.
#[derive(Debug, Default)]
pub struct Frames {
    entries: SmallVec<[Frame; 1]>,
    bytes: usize,
}

#[derive(Debug)]
struct Frame {
    /// Its first byte among those of all.
    start: u32,
    head: EntryHead,
    body: Vec<u8>,
}

impl Frames {
    /// Puts an entry behind those that are there.
    pub fn push(&mut self, head: EntryHead, body: Vec<u8>) {
        let body_bytes = body.len();
        // What is longer than that is refused as a whole.
        let start = u32::try_from(self.bytes).unwrap_or(u32::MAX);
        self.bytes += CHECKSUM_BYTES + head.bytes(body_bytes) + body_bytes;
        self.entries.push(Frame { start, head, body });
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

    /// Appends them as they are written, and shows each to `visit`: its first byte among `bytes`, its head as it is there, and
    /// its body if it is a fact.
    pub(super) fn encode(
        &self,
        seed: u32,
        bytes: &mut Vec<u8>,
        mut visit: impl FnMut(usize, &[u8], Option<&[u8]>),
    ) {
        bytes.reserve(self.bytes);
        for Frame { head, body, .. } in &self.entries {
            let start = bytes.len();
            bytes.extend([0; CHECKSUM_BYTES]);
            head.put(body.len(), bytes);
            visit(start, &bytes[start + CHECKSUM_BYTES..], head.is_fact().then_some(body));
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
    /// Where each entry of the frames is.
    pub fn positions(self, frames: &Frames) -> impl Iterator<Item = Position> {
        frames.entries.iter().map(move |frame| Position { byte: self.start.byte + frame.start, ..self.start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::entry::Layout;
    use crate::journal::format::FLAG_WEIGHT;
    use proptest::prelude::*;

    /// Numbers of all lengths.
    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
    }

    proptest! {
        #[test]
        fn entries_take_as_many_bytes_as_was_said_and_begin_where_was_said(
            heads in proptest::collection::vec((number(), number(), number(), any::<u32>(), number(), number(), number()), 1..5),
            flags in any::<u8>(),
            body_bytes in 0..300_usize,
        ) {
            let heads = heads.into_iter().map(|(thread, run, first, count, time_min, time_max, weight)| EntryHead {
                flags,
                weight: if flags & FLAG_WEIGHT == 0 { 0 } else { weight },
                thread,
                run,
                first,
                count,
                time_min: time_min.cast_signed(),
                time_max: time_max.cast_signed(),
                ..EntryHead::default()
            });
            let mut frames = Frames::default();
            let heads: Vec<EntryHead> = heads.collect();
            heads.iter().for_each(|head| frames.push(*head, vec![7; body_bytes]));
            let mut bytes = vec![1; 3];
            let mut visited = Vec::new();
            frames.encode(5, &mut bytes, |start, mut head, fact| {
                visited.push((start, EntryHead::take(&mut head), head.len(), fact.map(<[u8]>::len)));
            });
            prop_assert_eq!(bytes.len(), 3 + frames.bytes());
            let start = Position { segment: 1, byte: 3 };
            let committed = Committed { group: 1, start, is_last: true };
            prop_assert_eq!(visited.len(), heads.len());
            for ((head, position), visited) in heads.into_iter().zip(committed.positions(&frames)).zip(visited) {
                let written = Some((head, u32::try_from(body_bytes).unwrap()));
                let fact = head.is_fact().then_some(body_bytes);
                prop_assert_eq!(visited, (position.byte as usize, written, 0, fact));
                let layout = Layout::verified(&bytes[position.byte as usize..], 5);
                prop_assert_eq!(layout.map(|layout| layout.head), Some(head));
            }
        }
    }
}
