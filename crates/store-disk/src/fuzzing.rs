//! Ways to the decoders past the checksums, which would keep a fuzzer out. Whatever is in a frame is decoded or refused.

use crate::entry::{FactEntry, PACKED, RECORDS, SHARED};
use crate::fs::sim::SimDisk;
use crate::history::{BlockKind, reread, salvaged};
use crate::journal::format::segment_name;
use crate::journal::{self, EntryHead, Journal, Options, Salt, framed};
use bytes::Bytes;
use std::sync::Arc;
use threadline_log::sealed::batch::{BatchHead, decode_records};
use threadline_log::sealed::shared;
use threadline_log::{RunNo, Timestamp};

const SALT: Salt = Salt(*b"fuzzing!");

/// Opens a journal whose only group holds these bytes, said to be so many entries.
pub fn group(entries: u32, bytes: &[u8]) {
    open(framed::segment(entries, bytes, SALT));
}

/// Opens a journal with one entry of a kind, with these flags and counts and this body. Records that share are as long as the first offset says.
pub fn entry(kind: u8, flags: u8, first: u64, count: u32, body: &[u8]) {
    let head = EntryHead { kind, flags, first, count, weight: first, ..EntryHead::default() };
    open(framed::segment(1, &framed::entry(&head, body, SALT), SALT));
}

/// Opens a journal whose first segment is this file, and looks at it as the doctor does.
pub fn open(segment: Vec<u8>) {
    let disk = SimDisk::with_files([(segment_name(1), segment)]);
    _ = journal::check(&disk, Some(SALT), journal::Known::default());
    let mut options = Options::new(SALT);
    options.segment_bytes = 4096;
    _ = Journal::open(Arc::new(disk), &options, |found| {
        let Some(body) = found.body else { return };
        let (run, time) = (RunNo(u32::try_from(found.head.run).unwrap_or(u32::MAX)), Timestamp(0));
        let EntryHead { kind, flags, first, count, weight, .. } = found.head;
        let batch = BatchHead { first, count, run, time };
        let body = match kind == RECORDS && flags & SHARED != 0 {
            true => shared::decode(count, weight, body).ok(),
            false => Some(Bytes::copy_from_slice(body)),
        };
        body.into_iter().for_each(|body| decode(kind, flags, batch, body));
    });
}

/// Reads a block that holds these bytes, said to be so many records or facts.
pub fn block(has_records: bool, count: u32, bytes: &[u8]) {
    let kind = if has_records { BlockKind::Records } else { BlockKind::Facts };
    let Ok(block) = reread(kind, count, bytes) else { return };
    for batch in block.batches().unwrap_or_default() {
        decode(RECORDS, 0, batch.head, batch.body);
    }
    for FactEntry { kind, flags, run, time, tail, body } in block.facts().unwrap_or_default() {
        decode(kind, flags, BatchHead { first: tail, count: 0, run, time }, body);
    }
}

/// Looks for blocks in a history file that is this.
pub fn history(file: Vec<u8>) {
    for block in salvaged(file) {
        _ = block.batches();
        _ = block.facts();
    }
}

fn decode(kind: u8, flags: u8, head: BatchHead, body: Bytes) {
    if kind == RECORDS {
        let records = decode_records(head, &body).map(|records| records.len()).ok();
        assert!(records.is_none_or(|records| records == head.count as usize));
        return;
    }
    let BatchHead { first: tail, run, time, .. } = head;
    let entry = FactEntry { kind, flags: flags & PACKED, run, time, tail, body };
    _ = (entry.fact(), entry.attached(), crate::overlay::Item::of_fact(&entry).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn p15_whatever_is_in_a_frame_is_decoded_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            small in proptest::collection::vec(0_u8..8, 0..300),
            (kind, flags, first, count) in (0_u8..8, 0_u8..8, prop_oneof![0..600_u64, any::<u64>()], 0_u32..40),
        ) {
            for bytes in [&bytes, &small] {
                group(count, bytes);
                entry(kind, flags, first, count, bytes);
                block(kind % 2 == 0, count, bytes);
                open(bytes.clone());
                history(bytes.clone());
            }
        }
    }
}
