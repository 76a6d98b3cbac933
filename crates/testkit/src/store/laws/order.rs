use crate::store::scene::{NOW, Scene, appending, event, everything, offsets, opening, owner, scope, thread};
use crate::store::view::View;
use crate::store::{Ending, scene};
use bytes::Bytes;
use threadline_log::store::{Append, OpenRun, RunsSeen};
use threadline_log::thread::MetadataChange;
use threadline_log::{Incarnation, Kind, NewRecord, ThreadKey, Timestamp};

pub async fn offsets_are_dense_from_zero_in_the_order_of_acks(scene: Scene) {
    let thread = thread("t");
    let records = vec![event("a"), event("b")];
    let opening = OpenRun { records, ..scene.opening(&thread, "r").await };
    let opened = scene.store.open_run(opening).await.expect("opened");
    assert_eq!(opened.ack.offsets(), 0..2);
    let mut tail = 2;
    for batch in [&["c"][..], &["d", "e", "f"], &["g"]] {
        let ack = scene.append(&thread, opened.run, batch).await;
        assert_eq!(ack.offsets(), tail..tail + batch.len() as u64);
        assert!(!ack.repeated);
        tail = ack.offsets().end;
        assert_eq!(scene.info(&thread).await.offsets, 0..tail);
    }
    let records = scene.records(&thread).await;
    assert_eq!(scene::texts(&records), ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(offsets(&records), (0..7).collect::<Vec<_>>());
}

pub async fn each_thread_has_offsets_of_its_own(scene: Scene) {
    let threads = [thread("a"), thread("b")];
    for thread in &threads {
        assert_eq!(scene.open(thread, "r").await.ack.first, 0);
    }
    for round in 1..4 {
        for thread in &threads {
            let run = scene.run(thread, threadline_log::RunNo(0)).await.no;
            assert_eq!(scene.append(thread, run, &["x"]).await.first, round);
        }
    }
}

pub async fn bytes_and_kinds_come_back_exactly(mut scene: Scene) {
    let thread = thread("t");
    let opened = scene.open(&thread, "r").await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let megabyte: Vec<u8> = (0..1_048_576_usize).map(|at| every_byte[at * 7 % 251]).collect();
    let contents: Vec<Bytes> = vec![
        Bytes::new(),
        Bytes::from_static(b"{\"a\": 1.0, \"a\":1}"),
        Bytes::from_static(b"\xff\xfe\xc0\x80 not UTF-8"),
        Bytes::from_static(b"\0\n\r\n\0"),
        every_byte.into(),
        megabyte.into(),
        Bytes::new(),
    ];
    let kinds = [Kind::Event, Kind::Transcoded, Kind::Made, Kind::Rejected];
    let mut written = vec![event("start")];
    for kind in kinds {
        let records: Vec<_> = contents.iter().cloned().map(|bytes| NewRecord { kind, bytes }).collect();
        written.extend(records.clone());
        let append = Append { records, ..appending(&thread, opened.run) };
        scene.store.append(append).await.expect("appended");
    }
    for ending in [None, Some(Ending::Clean), Some(Ending::Crash)] {
        if let Some(ending) = ending {
            scene = scene.reopen(ending).await;
        }
        let bytes: usize = written.iter().map(|record| record.bytes.len()).sum();
        assert_eq!(scene.info(&thread).await.bytes, bytes as u64);
        let read = scene.records(&thread).await.into_iter();
        let read: Vec<_> = read.map(|record| NewRecord { kind: record.kind, bytes: record.bytes }).collect();
        assert!(read == written, "other bytes after {ending:?}");
        scene.store.tidy().await.expect("tidied");
    }
}

pub async fn times_never_go_back_though_the_clock_does(mut scene: Scene) {
    let thread = thread("t");
    let at = |time| Timestamp(time);
    let open = OpenRun { time: at(5_000), ..scene.opening(&thread, "r").await };
    let opened = scene.store.open_run(open).await.expect("opened");
    let append = |time| Append { time: at(time), ..appending(&thread, opened.run) };
    for (clock, label) in [(6_000, 6_000), (100, 6_000), (5_999, 6_000), (-7, 6_000), (6_001, 6_001)] {
        let ack = scene.store.append(append(clock)).await.expect("appended");
        assert_eq!(ack.time, at(label), "at {clock}");
    }
    scene = scene.reopen(Ending::Clean).await;
    assert_eq!(scene.store.append(append(0)).await.expect("appended").time, at(6_001));
    let open = OpenRun { time: at(1), ..scene.opening(&thread, "r2").await };
    let second = scene.store.open_run(open).await.expect("opened");
    assert_eq!(second.ack.time, at(6_001));
    assert_eq!(scene.run(&thread, second.run).await.started, at(6_001));
    let times: Vec<i64> = scene.records(&thread).await.iter().map(|record| record.time.0).collect();
    assert_eq!(times, [5_000, 6_000, 6_000, 6_000, 6_000, 6_001, 6_001, 6_001]);
    let info = scene.info(&thread).await;
    assert_eq!((info.created, info.updated), (at(5_000), at(6_001)));
}

pub async fn names_that_look_alike_are_different_threads(mut scene: Scene) {
    let long = "x".repeat(256);
    let mut keys = Vec::new();
    let ids = ["", " ", "a", "A", "á", "a\u{301}", "..", "../a", "a/b", "a\0b", "a'b\"", "%", "_", &long];
    for id in ids {
        keys.push(thread(id));
    }
    // Joined by slashes, these three are the same.
    keys.push(ThreadKey::new(scope("a/b", "c"), scene::thread_id("d")));
    keys.push(ThreadKey::new(scope("a", "b/c"), scene::thread_id("d")));
    keys.push(ThreadKey::new(scope("a", "b"), scene::thread_id("c/d")));
    keys.push(ThreadKey::new(scope("", ""), scene::thread_id("")));
    keys.push(ThreadKey::new(
        threadline_log::Scope { app: owner("user"), user: owner("app") },
        scene::thread_id("a"),
    ));
    for (number, key) in keys.iter().enumerate() {
        let run = number.to_string();
        let incarnation = Incarnation(number as u64);
        let open =
            OpenRun { incarnation, records: vec![event(&run)], ..opening(key, &run, RunsSeen::default()) };
        assert_eq!(scene.store.open_run(open).await.expect("a new thread").incarnation, incarnation, "{key}");
    }
    for _ in 0..2 {
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(scene::texts(&scene.records(key).await), [number.to_string()], "{key}");
            assert_eq!(scene.info(key).await.key, *key);
        }
        assert_eq!(scene.list(&everything()).await.len(), keys.len());
        scene = scene.reopen(Ending::Clean).await;
    }
}

pub async fn reopening_and_tidying_change_nothing_that_can_be_seen(mut scene: Scene) {
    let threads = [thread("a"), thread("b"), thread("never made")];
    let change = MetadataChange { name: Some("a name".to_owned()), ..MetadataChange::default() };
    let open = OpenRun { metadata: change, ..scene.opening(&threads[0], "r0").await };
    scene.store.open_run(open).await.expect("opened");
    let ended = scene.open_and_end(&threads[0], "r1").await;
    scene.put_checkpoint(&threads[0], scene::checkpoint(ended.run, &scene::said("hello"))).await;
    let compacted = scene.open_and_end(&threads[0], "r2").await;
    scene.put_checkpoint(&threads[0], scene::checkpoint(compacted.run, "")).await;
    scene.store.compact_run(&threads[0], compacted.run, NOW).await.expect("compacted");
    scene.open_and_end(&threads[1], "r").await;
    let running = scene.open(&threads[1], "r1").await;
    scene.append(&threads[1], running.run, &["x", "y"]).await;
    scene.store.trim(&threads[1], 2, NOW).await.expect("trimmed");
    let far = Timestamp(i64::MAX);
    scene.settle().await;
    let before = View::of(&*scene.store, &threads, far).await.expect("a view");
    assert_eq!(before.expired.len(), 2);
    for ending in [Ending::Clean, Ending::Crash, Ending::Crash, Ending::Clean] {
        scene = scene.reopen(ending).await;
        scene.settle().await;
        assert_eq!(View::of(&*scene.store, &threads, far).await.expect("a view"), before, "{ending:?}");
        scene.store.tidy().await.expect("tidied");
        scene.settle().await;
        assert_eq!(View::of(&*scene.store, &threads, far).await.expect("a view"), before, "tidied");
    }
}
