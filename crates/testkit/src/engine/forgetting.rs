//! What is let go.

use super::stage::{Stage, finished, ids, request, seen, thread};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threadline_log::retention::{KeepRaw, Retention};
use threadline_log::{At, Checkpoint, Error, RunNo, ThreadKey};

/// Three runs, of which the last is on a branch of its own.
async fn three_runs(stage: &Stage) -> ThreadKey {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    stage.converse(&t, &request(&t, "2", &["u1", "a-1", "u2"])).await;
    let mut beside = request(&t, "3", &["u3"]);
    beside["parentRunId"] = json!("1");
    stage.converse(&t, &beside).await;
    t
}

async fn ends(stage: &Stage, t: &ThreadKey, runs: &[u32]) -> Vec<String> {
    let mut ends = Vec::new();
    for run in runs {
        ends.push(seen(&stage.fold(t, At::Run(RunNo(*run))).await));
    }
    ends
}

/// When raw records are gone, every run's end can still be seen, and what cannot says so.
pub async fn compacted_runs_keep_their_meaning(stage: Stage) {
    let t = three_runs(&stage).await;
    let before = ends(&stage, &t, &[0, 1, 2]).await;
    let running = thread("running");
    stage.start(&running, &request(&running, "1", &["u1"])).await;
    stage.settle().await;
    let retention = Retention { keep_raw: KeepRaw::For(10), ..Retention::default() };
    stage.clock.advance(8);
    assert_eq!(stage.engine.retain(&retention).await.expect("two are due").compacted, 2);
    stage.clock.advance(1_000);
    assert_eq!(stage.engine.retain(&retention).await.expect("the rest is due").compacted, 1);
    assert_eq!(stage.engine.retain(&retention).await.expect("nothing is left").compacted, 0);
    stage.store.tidy().await.expect("bytes are given back");
    assert_eq!(ends(&stage, &t, &[0, 1, 2]).await, before);
    let inside = stage.engine.snapshot(&t, At::Offset(2)).await;
    assert!(matches!(inside, Err(Error::Compacted { .. })));
    // A run can go on from there.
    stage.converse(&t, &request(&t, "4", &["u1", "a-1", "u2", "a-2", "u4"])).await;
    assert_eq!(stage.parent(&t, RunNo(3)).await.as_deref(), Some("2"));
}

/// Trimming takes the past and leaves the present.
pub async fn trimmed_threads_keep_their_branches(stage: Stage) {
    let t = three_runs(&stage).await;
    let before = ends(&stage, &t, &[1, 2]).await;
    let runs = stage.runs(&t).await;
    let tail = runs[2].offsets.end;
    assert!(matches!(stage.engine.trim(&t, tail + 1).await, Err(Error::BeyondTail { .. })));
    let inside = At::Offset(runs[2].offsets.start + 2);
    let held_inside = seen(&stage.fold(&t, inside).await);
    let untouched = stage.store.checkpoint(&t, RunNo(2)).await.expect("it is read").expect("it is there");
    assert!(!untouched.stands_alone, "nothing was done");
    assert_eq!(stage.engine.trim(&t, runs[2].offsets.start).await, Ok(runs[2].offsets.start));
    assert_eq!(ends(&stage, &t, &[1, 2]).await, before);
    let gone = stage.engine.snapshot(&t, At::Offset(1)).await;
    assert!(matches!(gone, Err(Error::Trimmed { .. })));
    assert_eq!(seen(&stage.fold(&t, inside).await), held_inside, "its parent is gone, but for its end");
    assert_eq!(stage.engine.trim(&t, tail).await, Ok(tail));
    assert_eq!(stage.engine.trim(&t, 1).await, Ok(tail), "it is gone already");
    assert_eq!(ends(&stage, &t, &[1, 2]).await, before);
    stage.store.tidy().await.expect("bytes are given back");
    stage.converse(&t, &request(&t, "4", &["u1", "a-1", "u2", "a-2", "u4"])).await;
    assert_eq!(stage.parent(&t, RunNo(3)).await.as_deref(), Some("2"));
    // What a run that goes on has said is not trimmed.
    let writer = stage.start(&t, &request(&t, "5", &["u5"])).await;
    let start = stage.runs(&t).await[writer.run.index()].offsets.start;
    assert_eq!(stage.engine.trim(&t, start + 1).await, Ok(start));
}

/// A fold that an older engine kept is not believed, but made anew and kept.
pub async fn folds_of_another_version_are_made_anew(stage: Stage) {
    let t = thread("t");
    for run in ["1", "2", "3", "4"] {
        stage.converse(&t, &request(&t, run, &[&format!("u{run}")])).await;
    }
    let third = RunNo(2);
    let checkpoint = stage.store.checkpoint(&t, third).await.expect("it is read").expect("it is there");
    assert!(checkpoint.full.is_some(), "every third run has one");
    let before = ends(&stage, &t, &[2, 3]).await;
    let old = Checkpoint { version: 0, full: Some("{}".into()), ..checkpoint.clone() };
    stage.store.put_checkpoint(&t, None, old, stage.engine.now()).await.expect("it is kept");
    assert_eq!(ends(&stage, &t, &[2, 3]).await, before);
    let renewed = stage.store.checkpoint(&t, third).await.expect("it is read");
    assert_eq!(renewed, Some(checkpoint));
}

/// Threads go by age and by number, but not while they are in use.
pub async fn old_threads_are_deleted(stage: Stage) {
    for id in ["1", "2", "3"] {
        let t = thread(id);
        stage.converse(&t, &request(&t, "1", &["u1"])).await;
        stage.clock.advance(100);
    }
    let running = thread("running");
    stage.start(&running, &request(&running, "1", &["u1"])).await;
    stage.settle().await;
    let retention = Retention { threads_max: Some(3), ..Retention::default() };
    let retained = stage.engine.retain(&retention).await.expect("one is too many");
    assert_eq!(retained.deleted, [thread("1")]);
    stage.clock.advance(10_000);
    stage.settle().await;
    let retention = Retention { thread_age_ms_max: Some(5_000), ..Retention::default() };
    let retained = stage.engine.retain(&retention).await.expect("the rest is old");
    assert_eq!(retained.deleted, [thread("3"), thread("2")]);
    assert!(stage.store.thread(&running).await.is_ok());
}

/// What is wrong with one thread is told, and keeps nobody from letting go of the others.
pub async fn a_thread_that_cannot_be_retained_stands_alone(stage: Stage) {
    let (well, broken) = (thread("well"), thread("broken"));
    stage.converse(&well, &request(&well, "1", &["u1"])).await;
    let first = stage.converse(&broken, &request(&broken, "1", &["u1"])).await;
    let writer = stage.start(&broken, &request(&broken, "2", &["u2"])).await;
    let checkpoint = stage.store.checkpoint(&broken, first).await.expect("it is read").expect("it is there");
    let emptied = Checkpoint { delta: "".into(), full: None, ..checkpoint };
    stage.store.put_checkpoint(&broken, None, emptied, stage.engine.now()).await.expect("it is kept");
    stage.store.compact_run(&broken, first, stage.engine.now()).await.expect("its records go");
    stage.say(&writer, &[finished(&broken, "2")]).await;
    stage.settle().await;
    let retention = Retention { keep_raw: KeepRaw::For(0), ..Retention::default() };
    let retained = stage.engine.retain(&retention).await.expect("the store is well");
    assert_eq!(retained.compacted, 1);
    assert!(matches!(&retained.failed[..], [(thread, Error::Compacted { .. })] if *thread == broken));
}

/// Whatever is let go while runs begin and end, nothing of what was said is lost.
pub async fn letting_go_does_not_disturb_writers(stage: Stage) {
    const RUNS: usize = 60;
    let t = thread("t");
    stage.converse(&t, &request(&t, "0", &["u0"])).await;
    let (engine, key, is_over) = (stage.engine.clone(), t.clone(), Arc::new(AtomicBool::new(false)));
    let ends = Arc::clone(&is_over);
    let upkeep = tokio::spawn(async move {
        let retention = Retention { keep_raw: KeepRaw::For(0), ..Retention::default() };
        while !ends.load(Ordering::Relaxed) {
            engine.retain(&retention).await.expect("raw records are let go");
            let tail = engine.store().thread(&key).await.expect("the thread is there").offsets.end;
            match engine.trim(&key, tail).await {
                // Runs begin and end all the time: it is tried again.
                Ok(_) | Err(Error::RunsChanged) => {}
                Err(error) => panic!("the past is not trimmed: {error}"),
            }
        }
    });
    let mut expected = vec!["u0".to_owned(), "a-0".to_owned()];
    for run in 1..RUNS {
        stage.converse(&t, &request(&t, &run.to_string(), &[&format!("u{run}")])).await;
        expected.extend([format!("u{run}"), format!("a-{run}")]);
    }
    is_over.store(true, Ordering::Relaxed);
    upkeep.await.expect("nothing went wrong");
    assert_eq!(ids(&stage.fold(&t, At::Head).await), expected);
}
