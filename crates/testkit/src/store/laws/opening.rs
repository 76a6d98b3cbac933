use crate::store::Ending;
use crate::store::scene::{ENDINGS, LEASE, NOW, Scene, appending, ended, event, key, opening, texts, thread};
use bytes::Bytes;
use std::collections::BTreeMap;
use threadline_log::run::{BaseState, RunStatus};
use threadline_log::store::{Ack, Append, OpenRun, RunsSeen};
use threadline_log::thread::MetadataChange;
use threadline_log::{Epoch, Error, Incarnation, RunNo, Timestamp};

pub async fn opening_a_run_makes_its_thread_with_its_metadata(mut scene: Scene) {
    let thread = thread("t");
    let labels = BTreeMap::from([("set".to_owned(), Some("1".to_owned())), ("removed".to_owned(), None)]);
    let metadata = MetadataChange {
        name: Some("first words".to_owned()),
        archived: Some(true),
        agent: Some("agent".to_owned()),
        labels,
    };
    let open = OpenRun { incarnation: Incarnation(77), metadata, ..scene.opening(&thread, "r").await };
    let opened = scene.store.open_run(open).await.expect("opened");
    assert_eq!((opened.run, opened.epoch, opened.incarnation), (RunNo(0), Epoch(1), Incarnation(77)));
    for _ in 0..2 {
        let info = scene.info(&thread).await;
        assert_eq!((info.incarnation, info.offsets, info.runs), (Incarnation(77), 0..1, 1));
        assert_eq!((info.created, info.updated, info.bytes), (NOW, NOW, 5));
        assert_eq!(info.last_run, Some((RunNo(0), RunStatus::Running)));
        assert_eq!(info.metadata.name.as_deref(), Some("first words"));
        assert_eq!(info.metadata.agent.as_deref(), Some("agent"));
        assert!(info.metadata.archived);
        assert_eq!(info.metadata.labels, BTreeMap::from([("set".to_owned(), "1".to_owned())]));
        scene = scene.reopen(Ending::Crash).await;
    }
}

pub async fn a_thread_that_is_there_keeps_its_metadata_and_incarnation(scene: Scene) {
    let thread = thread("t");
    scene.open(&thread, "r0").await;
    let before = scene.info(&thread).await;
    let metadata = MetadataChange { name: Some("another".to_owned()), ..MetadataChange::default() };
    let open = OpenRun { incarnation: Incarnation(9), metadata, ..scene.opening(&thread, "r1").await };
    let opened = scene.store.open_run(open).await.expect("opened");
    assert_eq!((opened.run, opened.incarnation), (RunNo(1), before.incarnation));
    let after = scene.info(&thread).await;
    assert_eq!((after.metadata, after.incarnation), (before.metadata, before.incarnation));
}

pub async fn what_is_known_of_a_run_is_kept(mut scene: Scene) {
    let thread = thread("t");
    scene.open(&thread, "r0").await;
    let open = OpenRun {
        parent: Some(RunNo(0)),
        spawned_by: Some("somebody \0 else".to_owned()),
        base_state: BaseState::Input,
        request: Bytes::from_static(b"\xff{ \"runId\" : \"r1\" }\n"),
        request_digest: "abcdef".to_owned(),
        records: vec![event("a"), event("b")],
        lease_until: Timestamp(4_321),
        time: Timestamp(1_234),
        ..scene.opening(&thread, "r1").await
    };
    scene.store.open_run(open).await.expect("opened");
    for ending in ENDINGS {
        scene = scene.reopen(ending).await;
        let runs = scene.runs(&thread).await;
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].parent, runs[0].spawned_by.as_ref()), (None, None));
        let run = &runs[1];
        assert_eq!((run.no, run.id.as_str(), run.parent), (RunNo(1), "r1", Some(RunNo(0))));
        assert_eq!(run.spawned_by.as_deref(), Some("somebody \0 else"));
        assert_eq!((run.base_state, run.request_digest.as_str()), (BaseState::Input, "abcdef"));
        assert_eq!((run.offsets.clone(), run.records), (1..3, 2));
        assert_eq!((run.started, run.ended, run.end.as_ref()), (Timestamp(1_234), None, None));
        assert_eq!((run.epoch, run.lease_until), (Epoch(1), Timestamp(4_321)));
        assert_eq!((run.lineage.as_ref(), run.compacted), (None, false));
        let request = scene.store.request(&thread, RunNo(1)).await.expect("a request");
        assert_eq!(&request[..], b"\xff{ \"runId\" : \"r1\" }\n");
    }
    assert!(matches!(scene.store.request(&thread, RunNo(2)).await, Err(Error::NoRun(_))));
}

pub async fn stale_knowledge_of_the_runs_opens_nothing(scene: Scene) {
    let thread = thread("t");
    let seen = |opened, ended| RunsSeen { opened, ended };
    let refused = scene.store.open_run(opening(&thread, "r0", seen(1, 0))).await;
    assert_eq!(refused, Err(Error::RunsChanged));
    assert!(matches!(scene.store.thread(&thread).await, Err(Error::NoThread(_))), "a thread was made");

    let run = scene.open(&thread, "r0").await.run;
    for stale in [seen(0, 0), seen(1, 1), seen(2, 0)] {
        assert_eq!(scene.store.open_run(opening(&thread, "r1", stale)).await, Err(Error::RunsChanged));
    }
    scene.end(&thread, run).await;
    let before = (scene.info(&thread).await, scene.runs(&thread).await);
    assert_eq!(scene.store.open_run(opening(&thread, "r1", seen(1, 0))).await, Err(Error::RunsChanged));
    assert_eq!((scene.info(&thread).await, scene.runs(&thread).await), before);
    scene.store.open_run(opening(&thread, "r1", seen(1, 1))).await.expect("opened");
}

pub async fn a_run_id_is_taken_once_in_its_thread(mut scene: Scene) {
    let first = thread("a");
    scene.open_and_end(&first, "r").await;
    scene = scene.reopen(Ending::Clean).await;
    let again = scene.opening(&first, "r").await;
    let id = again.id.clone();
    assert_eq!(scene.store.open_run(again).await, Err(Error::RunIdReused(id)));
    assert_eq!(scene.runs(&first).await.len(), 1);
    scene.open(&thread("b"), "r").await;
    scene.open(&first, "R").await;
}

pub async fn a_parent_is_a_run_of_the_same_thread(scene: Scene) {
    let thread = thread("t");
    let with_parent = |open: OpenRun, parent| OpenRun { parent: Some(RunNo(parent)), ..open };
    let refused = scene.store.open_run(with_parent(scene.opening(&thread, "r0").await, 0)).await;
    assert!(matches!(refused, Err(Error::NoRun(_))), "{refused:?}");
    assert!(matches!(scene.store.thread(&thread).await, Err(Error::NoThread(_))), "a thread was made");
    scene.open(&thread, "r0").await;
    let refused = scene.store.open_run(with_parent(scene.opening(&thread, "r1").await, 1)).await;
    assert!(matches!(refused, Err(Error::NoRun(_))), "{refused:?}");
    scene.store.open_run(with_parent(scene.opening(&thread, "r1").await, 0)).await.expect("opened");
}

pub async fn runs_on_two_branches_overlap(mut scene: Scene) {
    let thread = thread("t");
    let root = scene.open_and_end(&thread, "root").await.run;
    let mut branches = Vec::new();
    for id in ["left", "right"] {
        let open = OpenRun { parent: Some(root), ..scene.opening(&thread, id).await };
        branches.push(scene.store.open_run(open).await.expect("opened").run);
    }
    let [left, right] = [branches[0], branches[1]];
    scene.append(&thread, left, &["l1"]).await;
    scene.append(&thread, right, &["r1", "r2"]).await;
    scene.append(&thread, left, &["l2"]).await;
    scene.end(&thread, left).await;
    scene.append(&thread, right, &["r3"]).await;
    for _ in 0..2 {
        let runs = scene.runs(&thread).await;
        assert_eq!((runs[1].offsets.clone(), runs[1].records), (2..9, 4));
        assert_eq!((runs[2].offsets.clone(), runs[2].records), (3..10, 4));
        assert_eq!((runs[1].parent, runs[2].parent), (Some(root), Some(root)));
        assert!(!runs[1].is_running() && runs[2].is_running());
        let read = scene.read(&thread, 0..10, Some(left)).await.records;
        assert_eq!(texts(&read), ["start", "l1", "l2", "event"]);
        let read = scene.read(&thread, 0..10, Some(right)).await.records;
        assert_eq!(texts(&read), ["start", "r1", "r2", "r3"]);
        assert_eq!(scene.info(&thread).await.last_run, Some((right, RunStatus::Running)));
        scene = scene.reopen(Ending::Crash).await;
    }
}

pub async fn a_run_without_records_begins_with_its_first_one(scene: Scene) {
    let thread = thread("t");
    let other = scene.open(&thread, "r0").await.run;
    let open = OpenRun { records: Vec::new(), ..scene.opening(&thread, "r1").await };
    let opened = scene.store.open_run(open).await.expect("opened");
    assert_eq!(opened.ack.offsets(), 1..1);
    scene.append(&thread, other, &["x", "y"]).await;
    let run = scene.run(&thread, opened.run).await;
    assert!(run.offsets.is_empty() && run.records == 0, "{run:?}");
    scene.append(&thread, opened.run, &["first"]).await;
    assert_eq!(scene.run(&thread, opened.run).await.offsets, 3..4);
    assert_eq!(scene.run(&thread, opened.run).await.lease_until, LEASE);
}

pub async fn a_run_is_opened_with_all_that_it_says_or_not_at_all(mut scene: Scene) {
    let thread = thread("t");
    let records = vec![event("start"), event("end")];
    let end = Some(ended(RunStatus::Finished));
    let whole = OpenRun { records, end, key: key("k"), ..scene.opening(&thread, "r").await };
    let early = OpenRun { expected_tail: Some(1), ..whole.clone() };
    assert_eq!(scene.store.open_run(early).await, Err(Error::TailMoved { expected: 1, actual: 0 }));
    assert_eq!(scene.store.thread(&thread).await, Err(Error::NoThread(thread.clone())));
    let whole = OpenRun { expected_tail: Some(0), ..whole };
    let ack = scene.store.open_run(whole).await.expect("opened").ack;
    for ending in ENDINGS {
        let run = scene.runs(&thread).await.remove(0);
        assert_eq!((run.status(), run.ended_at, run.ended), (RunStatus::Finished, Some(2), Some(ack.time)));
        assert_eq!(scene.store.expired(LEASE).await, Ok(Vec::new()));
        let again = Append { key: key("k"), ..appending(&thread, RunNo(0)) };
        assert_eq!(scene.store.append(again).await, Ok(Ack { repeated: true, ..ack }));
        let late = OpenRun { expected_tail: Some(1), ..scene.opening(&thread, "r2").await };
        assert_eq!(scene.store.open_run(late).await, Err(Error::TailMoved { expected: 1, actual: 2 }));
        scene = scene.reopen(ending).await;
    }
}
