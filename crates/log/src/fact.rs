//! Facts: everything about a thread that is no record, as it is written to a log.
//!
//! A store that keeps facts and records can rebuild all else from them. A fact is a line of JSON, followed by bytes that
//! belong to it, such as a request or a checkpoint. "Persisted, so must be kept stable": members may be added, never renamed,
//! and a reader ignores those that it does not know.

use crate::chain::Chained;
use crate::names::{AppendKey, Epoch, Incarnation, RunId, RunNo, ThreadKey, Timestamp};
use crate::run::{BaseState, RunEnd, RunLineage};
use crate::thread::MetadataChange;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Something that became true about a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// The thread was made.
    Created {
        /// Its name.
        key: ThreadKey,
        /// Tells it from deleted ones of the same name.
        incarnation: Incarnation,
    },
    /// A run was opened. The bytes are the request that started it.
    Opened {
        /// Its place among the runs.
        run: RunNo,
        /// Its id.
        id: RunId,
        /// The run it continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<RunNo>,
        /// Who ordered it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawned_by: Option<String>,
        /// Which state it begins with.
        base_state: BaseState,
        /// The SHA-256 of the request.
        request_digest: String,
        /// The offset of its first record.
        first: u64,
        /// The generation of its writer.
        epoch: Epoch,
        /// When somebody else may take it over.
        lease_until: Timestamp,
    },
    /// A run's writer renewed its lease, or another took over.
    Claimed {
        /// The run.
        run: RunNo,
        /// The generation of its writer from now on.
        epoch: Epoch,
        /// When somebody else may take it over.
        lease_until: Timestamp,
    },
    /// Records were appended under a key.
    Keyed {
        /// The run.
        run: RunNo,
        /// The key.
        key: AppendKey,
        /// The first offset.
        first: u64,
        /// How many.
        count: u64,
    },
    /// A run ended.
    Ended {
        /// The run.
        run: RunNo,
        /// How.
        end: RunEnd,
        /// One past the record that it ended with: rejected ones may follow. Absent in old logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// A run was folded. The bytes are its compacted events, a line each, and then the full fold if there is one.
    Checkpointed {
        /// The run.
        run: RunNo,
        /// The version of the fold.
        version: u32,
        /// How many of the bytes are the compacted events.
        delta_bytes: u64,
        /// The events restate the whole branch.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stands_alone: bool,
        /// Its messages.
        lineage: RunLineage,
        /// The chain up to its end. Absent in old logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chained: Option<Chained>,
    },
    /// Metadata changed.
    Described {
        /// The change.
        change: MetadataChange,
    },
    /// Everything before an offset is gone.
    Trimmed {
        /// The first offset that can be read.
        first: u64,
    },
    /// A run's records were replaced by its compaction, which is in its checkpoint.
    Compacted {
        /// The run.
        run: RunNo,
    },
    /// The thread was deleted.
    Deleted,
}

/// A fact with its time and the bytes that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// When.
    pub time: Timestamp,
    /// What.
    pub fact: Fact,
    /// The bytes that belong to it.
    pub bytes: Bytes,
}

impl Stated {
    /// A fact without bytes.
    #[must_use]
    pub const fn new(time: Timestamp, fact: Fact) -> Self {
        Self { time, fact, bytes: Bytes::new() }
    }
}
