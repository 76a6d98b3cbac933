//! Branches: runs and those that they continue.

use crate::names::RunNo;
use crate::run::{RunInfo, RunLineage};
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::lineage::{History, id_hash};

/// A run and those before it on its branch, the oldest first.
#[must_use]
pub fn chain(runs: &[RunInfo], run: RunNo) -> Vec<RunNo> {
    let mut chain = Vec::new();
    let mut next = Some(run);
    while let Some(info) = next.and_then(|run| runs.get(run.index())) {
        chain.push(info.no);
        // A parent was opened before its children, so that this ends whatever the store says.
        next = info.parent.filter(|parent| *parent < info.no);
    }
    chain.reverse();
    chain
}

/// What a branch holds after a run, of which `before` is what it held when the run began.
#[must_use]
pub fn lineage_of(fold: &Fold, before: &Fold) -> RunLineage {
    let mut history = History::default();
    let mut ids = Vec::new();
    for message in fold.messages() {
        history.push(message);
        let new = message.id().filter(|id| before.message(id).is_none());
        ids.extend(new.map(id_hash));
    }
    RunLineage { said: history.said, hash: history.hash, ids }
}
