//! Runs whose writers are gone.

use super::stage::{Stage, answer, ids, request, thread};
use crate::store::Ending;
use threadline_log::run::RunStatus;
use threadline_log::thread::{MetadataChange, ThreadQuery};
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

/// Nobody waits for their checkpoints, which are made for searches when there is time.
pub async fn abandoned_runs_get_their_checkpoints_later(stage: Stage) {
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&writer, &answer("1")[..3]).await;
    stage.clock.advance(100_000);
    stage.engine.close_expired().await.expect("it is closed");
    let query = ThreadQuery { words: Some("a-1".to_owned()), limit: 2, ..ThreadQuery::default() };
    let found = async || {
        stage.settle().await;
        stage.engine.threads(&query).await.expect("a list").len()
    };
    let seen = stage.fold(&t, At::Head).await;
    assert_eq!((stage.store.checkpoint(&t, writer.run).await, found().await), (Ok(None), 0));
    stage.engine.keep_missing_checkpoint(&t, writer.run).await.expect("it can be folded");
    let checkpoint = stage.store.checkpoint(&t, writer.run).await.expect("a store that works");
    assert!(checkpoint.is_some_and(|checkpoint| !checkpoint.delta.is_empty()));
    assert_eq!((found().await, ids(&stage.fold(&t, At::Head).await)), (1, ids(&seen)));
}

/// A thread that is being copied is left to who copies it, and a run that goes on is not folded, though it was listed before as one that had ended.
pub async fn checkpoints_are_made_of_what_is_whole(stage: Stage) {
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&writer, &answer("1")[..3]).await;
    let early = stage.engine.keep_missing_checkpoint(&t, writer.run).await;
    assert!(matches!(early, Err(Error::RunActive(_))), "{early:?}");
    stage.clock.advance(100_000);
    assert_eq!(stage.engine.close_expired().await, Ok(vec![(t.clone(), writer.run)]));
    for (is_copied, left) in [(Some("true".to_owned()), 1), (None, 0)] {
        let labels = [("threadline:importing".to_owned(), is_copied)].into();
        let change = MetadataChange { labels, ..MetadataChange::default() };
        stage.engine.describe(&t, change).await.expect("a thread");
        stage.engine.keep_missing_checkpoint(&t, writer.run).await.expect("nothing is wrong");
        assert_eq!(stage.store.unfolded().await.expect("a list").len(), left);
    }
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

/// A writer whose thread was deleted in its back does not write to the new one of that name, though its run and its epoch
/// are there, too.
pub async fn a_writer_of_a_deleted_thread_is_refused(stage: Stage) {
    let t = thread("t");
    let stale = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.clock.advance(100_000);
    stage.engine.close_expired().await.expect("it is closed");
    stage.engine.delete(&t).await.expect("nothing goes on");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    assert_eq!((writer.run, writer.epoch), (stale.run, stale.epoch));
    let late = stage.engine.append(&stale, vec![NewRecord::event("late")].into()).await;
    assert!(matches!(late, Err(Error::OtherIncarnation(_))), "{late:?}");
    assert!(matches!(stage.engine.renew(&stale).await, Err(Error::OtherIncarnation(_))));
    stage.say(&writer, &answer("1")).await;
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
