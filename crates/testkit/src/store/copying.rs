//! Threads that go to another store and come back.

use super::scene::{self, Scene};
use super::view::{ThreadView, View};
use crate::engine::{CountingIds, ManualClock};
use proptest::prop_assert_eq;
use proptest::test_runner::TestCaseResult;
use std::sync::Arc;
use threadline_log::run::{RunInfo, RunLineage, RunStatus};
use threadline_log::store::Append;
use threadline_log::{
    Checkpoint, Engine, Epoch, MemoryStore, NewRecord, Options, Store, ThreadKey, Timestamp,
};

/// Copies the threads of a store to another one and back again, which must make no difference.
pub(super) async fn copies_are_the_same(
    scene: &Scene,
    threads: &[ThreadKey],
    now: Timestamp,
) -> TestCaseResult {
    let engine = |store: &Arc<dyn Store>| {
        let (clock, ids) = (Arc::new(ManualClock::default()), Arc::new(CountingIds::default()));
        Engine::new(store.clone(), clock, ids, Options::default())
    };
    let other: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (here, there) = (engine(&scene.store), engine(&other));
    let mut known: Vec<ThreadKey> = Vec::new();
    for thread in threads {
        if scene.store.thread(thread).await.is_ok() {
            settle_runs(&*scene.store, thread, now).await;
            known.push(thread.clone());
        }
    }
    scene.settle().await;
    let original = comparable(&*scene.store, &known, now).await;
    for thread in &known {
        here.copy_thread(thread, &there, &|_| ()).await.expect("nothing goes on");
    }
    prop_assert_eq!(&comparable(&*other, &known, now).await, &original);
    for thread in &known {
        scene.store.delete(thread, None, now).await.expect("it is there");
        there.copy_thread(thread, &here, &|_| ()).await.expect("its place is free");
    }
    scene.settle().await;
    prop_assert_eq!(&comparable(&*scene.store, &known, now).await, &original);
    Ok(())
}

/// Ends all runs, and gives each a checkpoint: nothing has to be folded.
async fn settle_runs(store: &dyn Store, thread: &ThreadKey, now: Timestamp) {
    for run in store.runs(thread).await.expect("it is there") {
        if run.is_running() {
            let append = Append {
                thread: thread.clone(),
                incarnation: None,
                run: run.no,
                epoch: run.epoch,
                records: vec![NewRecord::made("the end")],
                key: None,
                expected_tail: None,
                end: Some(scene::ended(RunStatus::Finished).into()),
                time: now,
            };
            store.append(append).await.expect("it goes on");
        }
        if run.lineage.is_none() {
            let checkpoint = Checkpoint {
                run: run.no,
                version: 1,
                delta: "".into(),
                stands_alone: false,
                full: None,
                lineage: RunLineage::default(),
                chained: None,
            };
            store.put_checkpoint(thread, None, checkpoint, now).await.expect("it has ended");
        }
    }
}

/// All that can be seen of threads but for what is not copied.
async fn comparable(store: &dyn Store, threads: &[ThreadKey], now: Timestamp) -> Vec<Option<ThreadView>> {
    let mut views = View::of(store, threads, now).await.expect("it can be read").threads;
    for view in views.iter_mut().flatten() {
        view.info.bytes = 0;
        for run in &mut view.runs {
            run.info = RunInfo { epoch: Epoch(1), lease_until: Timestamp(0), ..run.info.clone() };
        }
    }
    views
}
