use crate::store::scene::{
    ENDINGS, NOW, Scene, appending, checkpoint, event, everything, key, offsets, opening, said, thread,
};
use crate::store::view::View;
use std::collections::BTreeSet;
use threadline_log::store::{Append, OpenRun, RunsSeen, ThreadSeen};
use threadline_log::thread::MetadataChange;
use threadline_log::{Error, Incarnation, Kind, NewRecord, RunNo, Timestamp};

pub async fn trimming_forgets_what_is_before_and_nothing_else(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let keyed = || Append { key: key("k"), ..appending(&thread, run) };
    let ack = scene.store.append(keyed()).await.expect("appended");
    scene.append(&thread, run, &["2", "3", "4", "5"]).await;
    let before = scene.info(&thread).await;
    let refused = scene.store.trim(&thread, 7, NOW).await;
    assert_eq!(refused, Err(Error::BeyondTail { offset: 7, tail: 6 }));
    // Further back than before is nothing to do.
    for (first, left) in [(0, 0), (3, 3), (1, 3), (4, 4), (6, 6), (6, 6)] {
        scene.store.trim(&thread, first, NOW).await.expect("trimmed");
        for ending in ENDINGS {
            let info = scene.info(&thread).await;
            assert_eq!((info.offsets, info.bytes, info.runs), (left..6, before.bytes, 1));
            let page = scene.read(&thread, 0..6, None).await;
            assert_eq!(offsets(&page.records), (left..6).collect::<Vec<_>>());
            assert_eq!(page.next, 6);
            scene = scene.reopen(ending).await;
        }
    }
    let run_info = scene.run(&thread, run).await;
    assert_eq!((run_info.offsets, run_info.records), (0..6, 6));
    let repeated = scene.store.append(keyed()).await.expect("answered");
    assert_eq!((repeated.first, repeated.repeated), (ack.first, true));
    scene.store.request(&thread, run).await.expect("the request is kept");
    // Offsets are not used again.
    assert_eq!(scene.append(&thread, run, &["6"]).await.first, 6);
    assert_eq!(offsets(&scene.records(&thread).await), [6]);
}

pub async fn compacting_forgets_the_records_of_its_run_only(mut scene: Scene) {
    let thread = thread("t");
    let [run, beside] = [scene.open(&thread, "a").await.run, scene.open(&thread, "b").await.run];
    scene.append(&thread, run, &["x"]).await;
    scene.append(&thread, beside, &["y"]).await;
    let id = scene.run(&thread, run).await.id;
    let compact = async |scene: &Scene| scene.store.compact_run(&thread, run, NOW).await;
    assert_eq!(compact(&scene).await, Err(Error::RunActive(id)));
    scene.end(&thread, run).await;
    let refused = compact(&scene).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "nothing takes their place: {refused:?}");
    assert_eq!(scene.records(&thread).await.len(), 5);
    let kept = checkpoint(run, &said("x"));
    scene.put_checkpoint(&thread, kept.clone()).await;
    let (info, before) = (scene.info(&thread).await, scene.run(&thread, run).await);
    compact(&scene).await.expect("compacted");
    compact(&scene).await.expect("compacted already");
    for ending in ENDINGS {
        assert_eq!(offsets(&scene.records(&thread).await), [1, 3]);
        assert_eq!(scene.info(&thread).await, info);
        let mut after = scene.run(&thread, run).await;
        assert!(after.compacted);
        after.compacted = false;
        assert_eq!(after, before);
        assert!(!scene.run(&thread, beside).await.compacted);
        assert_eq!(scene.store.checkpoint(&thread, run).await, Ok(Some(kept.clone())));
        scene.store.request(&thread, run).await.expect("the request is kept");
        scene.store.tidy().await.expect("tidied");
        scene = scene.reopen(ending).await;
    }
    assert_eq!(scene.append(&thread, beside, &["z"]).await.first, 5);
}

pub async fn what_a_compacted_run_rejects_later_is_kept(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open_and_end(&thread, "r").await.run;
    scene.put_checkpoint(&thread, checkpoint(run, "")).await;
    scene.store.compact_run(&thread, run, NOW).await.expect("compacted");
    let late = NewRecord { kind: Kind::Rejected, ..event("late") };
    let append = Append { records: vec![late], ..appending(&thread, run) };
    assert_eq!(scene.store.append(append).await.expect("appended").first, 2);
    for ending in ENDINGS {
        assert_eq!(offsets(&scene.records(&thread).await), [2]);
        scene.store.tidy().await.expect("tidied");
        scene = scene.reopen(ending).await;
    }
    scene.store.compact_run(&thread, run, NOW).await.expect("compacted");
    assert_eq!(scene.records(&thread).await, []);
}

pub async fn deleting_a_thread_leaves_others_alone(mut scene: Scene) {
    let [gone, left] = [thread("gone"), thread("left")];
    for thread in [&gone, &left] {
        let run = scene.open_and_end(thread, "r").await.run;
        scene.put_checkpoint(thread, checkpoint(run, &said("hello"))).await;
        scene.open(thread, "r2").await;
    }
    let far = Timestamp(i64::MAX);
    let both = [gone.clone(), left.clone()];
    let before = View::of(&*scene.store, &both, far).await.expect("a view").threads.pop();
    scene.store.delete(&gone, None, NOW).await.expect("deleted");
    let again = scene.store.delete(&gone, None, NOW).await;
    assert_eq!(again, Err(Error::NoThread(gone.clone())));
    for ending in ENDINGS {
        assert_eq!(scene.list_names(&everything()).await, ["left"]);
        let mut view = View::of(&*scene.store, &both, far).await.expect("a view");
        assert_eq!(view.expired, BTreeSet::from([(left.clone(), RunNo(1))]));
        assert_eq!(view.threads.pop(), before);
        assert_eq!(view.threads.pop(), Some(None));
        scene.store.tidy().await.expect("tidied");
        scene = scene.reopen(ending).await;
    }
    assert_eq!(scene.append(&left, RunNo(1), &["x"]).await.first, 3);
}

pub async fn a_thread_is_deleted_as_it_was_seen_or_not_at_all(mut scene: Scene) {
    let thread = thread("t");
    let seen = async |scene: &Scene| ThreadSeen::from(&scene.info(&thread).await);
    let refused = async |scene: &Scene, stale: ThreadSeen| {
        let changed = Error::ThreadChanged(thread.clone());
        assert_eq!(scene.store.delete(&thread, Some(stale), NOW).await, Err(changed), "{stale:?}");
    };
    for ending in ENDINGS {
        scene.open_and_end(&thread, "r").await;
        let ended = seen(&scene).await;
        // Its records may come later.
        let known = RunsSeen { opened: 1, ended: 1 };
        let open = OpenRun { records: Vec::new(), ..opening(&thread, "r2", known) };
        let run = scene.store.open_run(open).await.expect("opened").run;
        refused(&scene, ended).await;
        let opened = seen(&scene).await;
        assert_eq!((opened.tail, opened.updated), (ended.tail, ended.updated));
        let ack = scene.append(&thread, run, &["x"]).await;
        refused(&scene, opened).await;
        let appended = seen(&scene).await;
        let later = Timestamp(appended.updated.0 + 1);
        let name = MetadataChange { name: Some("named".to_owned()), ..MetadataChange::default() };
        scene.store.describe(&thread, name, later).await.expect("described");
        refused(&scene, appended).await;
        let described = seen(&scene).await;
        refused(&scene, ThreadSeen { incarnation: Incarnation(described.incarnation.0 ^ 1), ..described })
            .await;
        scene = scene.reopen(ending).await;
        assert_eq!(scene.append(&thread, run, &["y"]).await.first, ack.first + 1);
        let seen = seen(&scene).await;
        assert_eq!(scene.store.delete(&thread, Some(seen), NOW).await, Ok(()));
        let gone = Error::NoThread(thread.clone());
        assert_eq!(scene.store.delete(&thread, Some(seen), NOW).await, Err(gone));
    }
}

pub async fn a_name_is_free_after_its_thread_was_deleted(mut scene: Scene) {
    let thread = thread("t");
    let metadata = MetadataChange { name: Some("old".to_owned()), ..MetadataChange::default() };
    let keyed = |run| Append { key: key("k"), ..appending(&thread, run) };
    for incarnation in 1..4 {
        let time = Timestamp(1_000 / incarnation);
        let open = OpenRun {
            incarnation: Incarnation(incarnation.unsigned_abs()),
            time,
            metadata: if incarnation == 1 { metadata.clone() } else { MetadataChange::default() },
            ..opening(&thread, "r", RunsSeen::default())
        };
        let opened = scene.store.open_run(open).await.expect("a new thread");
        assert_eq!((opened.run, opened.ack.first, opened.ack.time), (RunNo(0), 0, time));
        assert_eq!(opened.incarnation, Incarnation(incarnation.unsigned_abs()));
        for ending in ENDINGS {
            let info = scene.info(&thread).await;
            assert_eq!((info.incarnation, info.created), (opened.incarnation, time));
            assert_eq!(info.metadata.name.is_some(), incarnation == 1, "the old name is back");
            assert_eq!((info.offsets, info.bytes, info.runs), (0..1, 5, 1));
            assert_eq!(scene.store.checkpoint(&thread, opened.run).await, Ok(None));
            assert_eq!(scene.list(&everything()).await, [scene.info(&thread).await]);
            scene = scene.reopen(ending).await;
        }
        assert!(!scene.store.append(keyed(opened.run)).await.expect("appended").repeated);
        scene.end(&thread, opened.run).await;
        scene.put_checkpoint(&thread, checkpoint(opened.run, "")).await;
        scene.store.trim(&thread, 2, NOW).await.expect("trimmed");
        scene.store.delete(&thread, None, NOW).await.expect("deleted");
        if incarnation == 2 {
            scene.store.tidy().await.expect("tidied");
        }
    }
}
