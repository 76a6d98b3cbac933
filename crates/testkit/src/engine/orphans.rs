//! Runs whose writers are gone.

use super::stage::{Stage, answer, ids, request, thread};
use crate::store::Ending;
use threadline_log::run::RunStatus;
use threadline_log::{At, Error, Kind, NewRecord, RunWriter};

/// A run whose lease is over is closed by whoever notices, and its writer is fenced.
pub async fn abandoned_runs_are_closed(stage: Stage) {
    let (t, other) = (thread("t"), thread("other"));
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&writer, &answer("1")[..3]).await;
    stage.clock.advance(20_000);
    stage.engine.renew(&writer).await.expect("the lease is renewed");
    let alive = stage.start(&other, &request(&other, "1", &["u1"])).await;
    stage.clock.advance(20_000);
    stage.engine.renew(&alive).await.expect("the lease is renewed");
    assert_eq!(stage.engine.close_expired().await, Ok(Vec::new()));
    stage.clock.advance(20_000);
    assert_eq!(stage.engine.close_expired().await, Ok(vec![(t.clone(), writer.run)]));
    assert_eq!(stage.engine.close_expired().await, Ok(Vec::new()));
    assert_abandoned(&stage, &writer).await;
    stage.say(&alive, &answer("1")).await;
}

/// The same at start-up, for a store that outlives its process.
pub async fn abandoned_runs_are_closed_after_a_crash(stage: Stage) {
    if !stage.lasts() {
        return;
    }
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&writer, &answer("1")[..3]).await;
    let stage = stage.reopen(Ending::Crash).await;
    assert_eq!(stage.engine.close_orphans().await, Ok(vec![(t.clone(), writer.run)]));
    assert_abandoned(&stage, &writer).await;
}

async fn assert_abandoned(stage: &Stage, writer: &RunWriter) {
    let t = &writer.thread;
    let run = stage.runs(t).await.remove(0);
    assert_eq!(run.status(), RunStatus::Abandoned);
    assert_eq!(ids(&stage.fold(t, At::Head).await), ["u1", "a-1"]);
    let page = stage.engine.read(t, run.offsets, None, usize::MAX).await.expect("records are read");
    let last = &page.records[page.records.len() - 2..];
    let types: Vec<bool> = ["TEXT_MESSAGE_END", "RUN_ERROR"]
        .iter()
        .zip(last)
        .map(|(name, record)| {
            record.kind == Kind::Made && String::from_utf8_lossy(&record.bytes).contains(name)
        })
        .collect();
    assert_eq!(types, [true, true]);
    let stale = stage.engine.append(writer, vec![NewRecord::event("late")].into()).await;
    assert!(matches!(stale, Err(Error::Fenced { .. })), "{stale:?}");
}
