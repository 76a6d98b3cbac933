//! Facts made anew from what is known of a thread, where those that were written cannot be read any more.
//!
//! Stating a fact a second time changes nothing, so that it does not matter which of them are lost.

use crate::entry::{Attached, FACT, FactEntry, OPENED, encode_fact};
use crate::kept::Compacted;
use threadline_log::fact::Fact;
use threadline_log::run::RunInfo;
use threadline_log::state::ThreadState;
use threadline_log::{Epoch, Timestamp};

/// All that a state says which facts have said, but for requests and checkpoints: these are bytes of their own.
pub(crate) fn restated(state: &ThreadState, compacted: &Compacted) -> Vec<FactEntry> {
    let info = state.info();
    let created = Fact::Created { key: info.key, incarnation: info.incarnation };
    let mut facts = vec![
        entry(info.created, 0, &created),
        entry(info.updated, 0, &Fact::Described { change: info.metadata.as_change() }),
    ];
    for run in state.runs() {
        facts.push(entry(run.started, run.offsets.start, &opened(run)));
        if run.is_running() || run.epoch > Epoch(1) {
            // What was lost may be the last of several claims.
            let claimed = Fact::Claimed { run: run.no, epoch: run.epoch, lease_until: run.lease_until };
            facts.push(entry(run.started, run.offsets.end, &claimed));
        }
        if let (Some(end), Some(time)) = (&run.end, run.ended) {
            let ended = Fact::Ended { run: run.no, end: end.clone(), at: run.ended_at };
            facts.push(entry(time, run.offsets.end, &ended));
        }
    }
    for (run, key, ack) in state.keys() {
        let keyed = Fact::Keyed { run, key: key.clone(), first: ack.first, count: ack.count };
        facts.push(entry(ack.time, ack.offsets().end, &keyed));
    }
    if info.offsets.start > 0 {
        facts.push(entry(info.updated, info.offsets.end, &Fact::Trimmed { first: info.offsets.start }));
    }
    let compacted = compacted.iter().map(|(run, tail)| (*tail, Fact::Compacted { run: *run }));
    facts.extend(compacted.map(|(tail, fact)| entry(info.updated, tail, &fact)));
    facts
}

fn opened(run: &RunInfo) -> Fact {
    Fact::Opened {
        run: run.no,
        id: run.id.clone(),
        parent: run.parent,
        spawned_by: run.spawned_by.clone(),
        base_state: run.base_state,
        request_digest: run.request_digest.clone(),
        first: run.offsets.start,
        epoch: run.epoch,
        lease_until: run.lease_until,
    }
}

fn entry(time: Timestamp, tail: u64, fact: &Fact) -> FactEntry {
    let entry = encode_fact(time, tail, fact, &Attached::default());
    // It has no request, and whoever looks for that must not find an empty one.
    let kind = if entry.kind == OPENED { FACT } else { entry.kind };
    FactEntry { kind, ..entry }
}
