//! What is kept of a run's fold, so that history costs what its answer costs.

use crate::chain::Chained;
use crate::names::RunNo;
use crate::run::RunLineage;
use bytes::Bytes;

/// What a run changed, and every few runs what its branch holds after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The run.
    pub run: RunNo,
    /// The version of the fold that made it. Of another version the full fold is as good as absent; the delta is events, and
    /// means the same to every version.
    pub version: u32,
    /// The run's events as clients see them, compacted, a line each. A fold of the parent's takes them to be its own.
    pub delta: Bytes,
    /// The delta is taken to nothing, not to what the parent holds: it restates the whole branch, whose past is trimmed.
    pub stands_alone: bool,
    /// The fold of the whole branch up to the run's end, if it is kept here.
    pub full: Option<Bytes>,
    /// The messages of the branch.
    pub lineage: RunLineage,
    /// The chain over the thread's records up to the run's end. Absent in old logs.
    pub chained: Option<Chained>,
}
