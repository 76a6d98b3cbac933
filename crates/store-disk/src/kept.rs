//! What is kept of a thread's records after trims and compactions.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use threadline_log::sealed::batch::{BatchHead, decode_records, encode_records};
use threadline_log::state::ThreadState;
use threadline_log::{Error, NewRecord, RunNo};

/// The tail at the last compaction of each run that was compacted: what came later is kept.
pub(crate) type Compacted = BTreeMap<RunNo, u64>;

/// What is kept of a thread's records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    first: u64,
    /// The offsets of runs that were compacted.
    compacted: Vec<(RunNo, Range<u64>)>,
}

impl Kept {
    pub(crate) fn of(state: &ThreadState, compacted: &Compacted) -> Self {
        let ranges = compacted.iter().filter_map(|(run, end)| {
            let start = state.run(*run).ok()?.offsets.start;
            Some((*run, start..*end))
        });
        Self { first: state.first(), compacted: ranges.collect() }
    }

    /// The first offset that can be read.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Offsets that need not be there.
    pub(crate) fn may_be_gone(&self) -> impl Iterator<Item = Range<u64>> {
        self.compacted.iter().map(|(_, offsets)| offsets.clone())
    }

    /// Whether records of a run that begin at an offset were compacted. A compaction never comes within a batch.
    pub(crate) fn is_compacted(&self, run: RunNo, first: u64) -> bool {
        self.compacted.iter().any(|(compacted, offsets)| *compacted == run && first < offsets.end)
    }

    /// What is left of a batch.
    pub(crate) fn keep(&self, head: BatchHead, body: Bytes) -> Result<Option<(BatchHead, Bytes)>, Error> {
        if self.is_compacted(head.run, head.first) || head.end() <= self.first {
            return Ok(None);
        }
        if head.first >= self.first {
            return Ok(Some((head, body)));
        }
        let records = decode_records(head, &body).map_err(|error| Error::Corrupt {
            place: format!("offset={}", head.first),
            what: error.to_string(),
        })?;
        let left: Vec<NewRecord> = records
            .into_iter()
            .filter(|record| record.offset >= self.first)
            .map(|record| NewRecord { kind: record.kind, bytes: record.bytes })
            .collect();
        let count = u32::try_from(left.len()).expect("a part of a batch is no longer than it");
        let body = encode_records(&left).expect("no record has grown");
        Ok(Some((BatchHead { first: self.first, count, ..head }, body.into())))
    }
}
