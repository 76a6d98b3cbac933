//! Copies of threads.

use super::stage::{Stage, answer, finished, ids, request, seen, thread};
use serde_json::json;
use threadline_log::cloning::ClonePoint;
use threadline_log::run::RunStatus;
use threadline_log::{At, Error};

/// What happens to a thread does not happen to its copy, nor the other way round.
pub async fn a_clone_is_its_own(stage: Stage) {
    let (t, copy) = (thread("t"), thread("copy"));
    let first = stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let second = stage.converse(&t, &request(&t, "2", &["u2"])).await;
    let mut beside = request(&t, "3", &["u3"]);
    beside["parentRunId"] = json!("1");
    let third = stage.converse(&t, &beside).await;
    stage.engine.clone_thread(&t, ClonePoint::Run(third), &copy).await.expect("the branch is copied");
    let again = stage.engine.clone_thread(&t, ClonePoint::Run(first), &copy).await;
    assert!(matches!(again, Err(Error::ThreadExists(_))));
    let source = seen(&stage.fold(&t, At::Run(third)).await);
    assert_eq!(seen(&stage.fold(&copy, At::Head).await), source);
    let names: Vec<String> = stage.runs(&copy).await.iter().map(|run| run.id.to_string()).collect();
    assert_eq!(names, ["1", "3"]);
    // Ids are per thread, so that the copy can go on as the source did, and need not.
    stage.converse(&copy, &request(&copy, "2", &["u1", "a-1", "u3", "a-3", "u9"])).await;
    assert_eq!(ids(&stage.fold(&copy, At::Head).await), ["u1", "a-1", "u3", "a-3", "u9", "a-2"]);
    assert_eq!(ids(&stage.fold(&t, At::Run(second)).await), ["u1", "a-1", "u2", "a-2"]);
    stage.engine.delete(&t).await.expect("the source is deleted");
    stage.store.tidy().await.expect("and gone");
    assert_eq!(ids(&stage.fold(&copy, At::Head).await), ["u1", "a-1", "u3", "a-3", "u9", "a-2"]);
}

/// A copy up to an offset has the same records at the same offsets, and nothing in it goes on.
pub async fn a_clone_is_cut_where_it_says(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    stage.converse(&t, &request(&t, "2", &["u2"])).await;
    let tail = stage.store.thread(&t).await.expect("the thread is there").offsets.end;
    let beyond = stage.engine.clone_thread(&t, ClonePoint::Offset(tail), &thread("none")).await;
    assert!(matches!(beyond, Err(Error::BeyondTail { .. })));
    for offset in 0..tail {
        let copy = thread(&format!("copy-{offset}"));
        stage.engine.clone_thread(&t, ClonePoint::Offset(offset), &copy).await.expect("the prefix is copied");
        let read = |thread| {
            let engine = &stage.engine;
            async move { engine.read(thread, 0..offset + 1, None, usize::MAX).await.expect("records").records }
        };
        assert_eq!(read(&copy).await, read(&t).await);
        assert_eq!(
            seen(&stage.fold(&copy, At::Offset(offset)).await),
            seen(&stage.fold(&t, At::Offset(offset)).await)
        );
        let runs = stage.runs(&copy).await;
        assert!(runs.iter().all(|run| !run.is_running()));
        let is_cut = runs.last().is_some_and(|run| run.offsets.end > offset + 1);
        let status = if is_cut { RunStatus::Cancelled } else { RunStatus::Finished };
        assert_eq!(runs.last().map(|run| run.status()), Some(status), "cut at {offset}");
    }
    let first = &stage.runs(&t).await[0];
    stage.store.compact_run(&t, first.no, stage.engine.now()).await.expect("it has a checkpoint");
    let inside = stage.engine.clone_thread(&t, ClonePoint::Offset(1), &thread("none")).await;
    assert!(matches!(inside, Err(Error::Compacted { .. })), "{inside:?}");
}

/// What a compacted run had said by some offset is not known: it is not copied as if it had said all of it by then.
pub async fn a_clone_has_nothing_of_what_came_later(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let beside = |id: &str| {
        let mut beside = request(&t, id, &["u1", "a-1", "u2"]);
        beside["parentRunId"] = json!("1");
        beside
    };
    let early = stage.start(&t, &beside("2")).await;
    stage.converse(&t, &beside("3")).await;
    let offset = stage.store.thread(&t).await.expect("the thread is there").offsets.end - 1;
    stage.say(&early, &answer("2")).await;
    stage.say(&early, &[finished(&t, "2")]).await;
    stage.settle().await;
    let at = ClonePoint::Offset(offset);
    stage.engine.clone_thread(&t, at, &thread("before")).await.expect("what it had said is there");
    stage.store.compact_run(&t, early.run, stage.engine.now()).await.expect("it has a checkpoint");
    let after = stage.engine.clone_thread(&t, at, &thread("after")).await;
    assert!(matches!(after, Err(Error::Compacted { .. })), "{after:?}");
}
