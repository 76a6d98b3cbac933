//! The chain over a thread's records.

use super::stage::{Stage, answer, finished, request, thread};
use crate::store::Ending;
use serde_json::json;
use sha2::{Digest, Sha256};
use threadline_log::chain::{Chain, ChainValue, Chained, RunDigest};
use threadline_log::retention::{KeepRaw, Retention};
use threadline_log::{Checkpoint, Error, Kind, Record, RunNo, ThreadKey};

/// What the chain is by its description, whatever the engine does.
fn value<'a>(records: impl IntoIterator<Item = &'a Record>) -> ChainValue {
    ChainValue(records.into_iter().fold([0; 32], |before, record| {
        let (offset, length) = (record.offset.to_le_bytes(), (record.bytes.len() as u64).to_le_bytes());
        Sha256::digest([&before[..], &offset, &length, &record.bytes].concat()).into()
    }))
}

async fn records(stage: &Stage, t: &ThreadKey) -> Vec<Record> {
    stage.store.read(t, 0..u64::MAX, None, usize::MAX).await.expect("records").records
}

async fn checkpoint(stage: &Stage, t: &ThreadKey, run: RunNo) -> Checkpoint {
    stage.store.checkpoint(t, run).await.expect("it is read").expect("it is there")
}

async fn chained(stage: &Stage, t: &ThreadKey, run: RunNo) -> Chained {
    checkpoint(stage, t, run).await.chained.expect("a run that has ended is chained")
}

/// A run, and two on branches of their own of which the later ends first.
async fn overlapping_runs(stage: &Stage) -> ThreadKey {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let beside = |run: &str, message: &str| {
        let mut beside = request(&t, run, &[message]);
        beside["parentRunId"] = json!("1");
        beside
    };
    let second = stage.start(&t, &beside("2", "u2")).await;
    let third = stage.start(&t, &beside("3", "u3")).await;
    stage.say(&second, &answer("2")).await;
    stage.say(&third, &answer("3")).await;
    stage.say(&third, &[finished(&t, "3")]).await;
    stage.say(&second, &[finished(&t, "2")]).await;
    stage.converse(&t, &request(&t, "4", &["u4"])).await;
    t
}

/// What is kept at the end of a run is what its records, and all before them, give; after a restart too.
pub async fn ends_of_runs_have_the_chains_value(stage: Stage) {
    let t = overlapping_runs(&stage).await;
    let all = records(&stage, &t).await;
    for run in stage.runs(&t).await {
        let Chained { thread, events } = chained(&stage, &t, run.no).await;
        let (at, before) = (run.offsets.end, &all[..usize::try_from(run.offsets.end).expect("few")]);
        assert_eq!(thread, Chain { from: 0, at, value: value(before) }, "{}", run.id);
        let own: Vec<&Record> =
            all.iter().filter(|record| record.run == run.no && record.kind == Kind::Event).collect();
        let digest = RunDigest { count: own.len() as u64, value: value(own) };
        assert_eq!(events, digest, "{}", run.id);
    }
    let tail = all.len() as u64;
    let stage = if stage.lasts() { stage.reopen(Ending::Crash).await } else { stage };
    let rechecked = stage.engine.recheck(&t).await.expect("it is read");
    assert_eq!((rechecked.values, rechecked.records, rechecked.not_checked), (4, tail, 0));
    assert_eq!(rechecked.broken, []);
    let head = Chain { from: 0, at: tail, value: value(&all) };
    assert_eq!(rechecked.head, head);
    assert_eq!(stage.engine.chain(&t, None).await, Ok(head));
    for at in 0..=tail {
        let value = value(&all[..usize::try_from(at).expect("few")]);
        assert_eq!(stage.engine.chain(&t, Some(at)).await, Ok(Chain { from: 0, at, value }));
    }
    let beyond = stage.engine.chain(&t, Some(tail + 1)).await;
    assert_eq!(beyond, Err(Error::BeyondTail { offset: tail + 1, tail }));
}

/// A value that the records do not give is found, with the records that it speaks of.
pub async fn records_that_are_not_those_chained_are_found(stage: Stage) {
    let t = overlapping_runs(&stage).await;
    let last = RunNo(3);
    let kept = checkpoint(&stage, &t, last).await;
    let right = kept.chained.expect("a run that has ended is chained");
    let wrong = Chain { value: ChainValue([7; 32]), ..right.thread };
    let altered = Checkpoint { chained: Some(Chained { thread: wrong, ..right }), ..kept };
    stage.store.put_checkpoint(&t, None, altered, stage.engine.now()).await.expect("it is kept");
    let rechecked = stage.engine.recheck(&t).await.expect("it is read");
    assert_eq!(rechecked.values, 3);
    let start = stage.runs(&t).await[3].offsets.start;
    let [broken] = &rechecked.broken[..] else { panic!("{:?}", rechecked.broken) };
    assert_eq!((broken.run, broken.from, broken.at), (last, start, right.thread.at));
    assert_eq!((broken.expected, broken.actual), (wrong.value, right.thread.value));
}

/// Values outlive the records that they speak of, and the chain goes on from them.
pub async fn chains_go_on_when_records_are_gone(stage: Stage) {
    let t = overlapping_runs(&stage).await;
    let all = records(&stage, &t).await;
    let first_end = stage.runs(&t).await[0].offsets.end;
    let mut kept = Vec::new();
    for run in 0..4 {
        kept.push(chained(&stage, &t, RunNo(run)).await);
    }
    stage.store.compact_run(&t, RunNo(0), stage.engine.now()).await.expect("its records go");
    let rechecked = stage.engine.recheck(&t).await.expect("it is read");
    assert_eq!((rechecked.values, rechecked.not_checked, rechecked.broken.len()), (3, 1, 0));
    assert_eq!(rechecked.records, all.len() as u64 - first_end);
    assert_eq!(rechecked.head.value, value(&all));
    let inside = stage.engine.chain(&t, Some(1)).await;
    assert!(matches!(inside, Err(Error::Compacted { .. })), "{inside:?}");
    // Two that overlap hide each other's records, when one of them is gone.
    stage.settle().await;
    stage.clock.advance(1_000);
    let retention = Retention { keep_raw: KeepRaw::For(0), ..Retention::default() };
    stage.engine.retain(&retention).await.expect("all are due");
    stage.store.tidy().await.expect("bytes are given back");
    stage.converse(&t, &request(&t, "5", &["u5"])).await;
    let rechecked = stage.engine.recheck(&t).await.expect("it is read");
    assert_eq!((rechecked.values, rechecked.not_checked, rechecked.broken.len()), (1, 4, 0));
    assert_eq!(rechecked.head.from, 0);
    let tail = stage.store.thread(&t).await.expect("a thread").offsets.end;
    assert_eq!(rechecked.head.at, tail);
    stage.engine.trim(&t, tail).await.expect("the past goes");
    for (run, kept) in kept.into_iter().enumerate() {
        let run = RunNo(u32::try_from(run).expect("few"));
        assert_eq!(chained(&stage, &t, run).await, kept, "it stays as it was");
    }
    stage.converse(&t, &request(&t, "6", &["u6"])).await;
    let last = chained(&stage, &t, RunNo(5)).await;
    assert_eq!(last.thread.from, 0, "it goes on from the value before the records that are gone");
    let rechecked = stage.engine.recheck(&t).await.expect("it is read");
    assert_eq!((rechecked.values, rechecked.broken.len()), (1, 0));
}
