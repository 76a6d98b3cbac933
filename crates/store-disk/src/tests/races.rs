//! What happens between two steps of one operation.

use super::script::{Step, run, thread};
use super::sim::open;
use crate::done::Done;
use crate::engine::{Engine, Pending};
use crate::fs::sim::SimDisk;
use crate::journal::{Committed, Frames, Position, Submission};
use crate::overlay::{View, Write};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use threadline_log::store::Append;
use threadline_log::{AppendKey, Epoch, Error, NewRecord, RunNo, Store, Timestamp};

fn keyed() -> Append {
    Append {
        thread: thread("a"),
        incarnation: None,
        run: RunNo(0),
        epoch: Epoch(1),
        records: vec![NewRecord::event("once")],
        key: Some(AppendKey::new("k").unwrap()),
        expected_tail: None,
        end: None,
        time: Timestamp(2_000),
    }
}

#[tokio::test]
async fn all_writes_of_a_group_are_told_in_order_however_many_they_are() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    let store = Arc::new(store);
    run(&*store, 0, Step::Open("a", "a0")).await.unwrap();
    let tail = store.thread(&thread("a")).await.unwrap().offsets.end;
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    // The committer stands still with the first, so that all others are one group.
    disk.on_operation(move |_, _| _ = wait.lock().unwrap().recv());
    let appends: Vec<_> = (0..300)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.append(Append { key: None, ..keyed() }).await })
        })
        .collect();
    tokio::task::yield_now().await;
    drop(go);
    for (offset, append) in (tail..).zip(appends) {
        assert_eq!(append.await.unwrap().unwrap().first, offset);
    }
    assert_eq!(store.thread(&thread("a")).await.unwrap().offsets.end, tail + 300);
}

#[tokio::test]
async fn who_repeats_an_append_does_not_wait_for_a_thread_that_is_gone() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    let store = Arc::new(store);
    run(&*store, 0, Step::Open("a", "a0")).await.unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    // The committer stands still until it may go on, so that what is submitted meanwhile is one group.
    disk.on_operation(move |_, _| _ = wait.lock().unwrap().recv());
    let spawn = |step: Step| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { run(&*store, 1, step).await })
    };
    let named = spawn(Step::Name("a", "x"));
    tokio::task::yield_now().await;
    let appends: Vec<_> = (0..2)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.append(keyed()).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let deleted = spawn(Step::Delete("a"));
    tokio::task::yield_now().await;
    drop(go);
    // Nobody who waits is told before all of it has come.
    while store.engine.core.overlay().state(0, View::Durable).is_some() {
        std::thread::yield_now();
    }
    named.await.unwrap().unwrap();
    deleted.await.unwrap().unwrap();
    let mut results = Vec::new();
    for append in appends {
        results.push(append.await.unwrap().map(|ack| ack.first));
    }
    assert!(matches!(results[..], [Ok(1), Ok(1) | Err(Error::NoThread(_))]), "{results:?}");
}

#[test]
fn a_thread_that_is_put_away_is_read_all_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (store, _) = open(&SimDisk::new()).unwrap();
        let store = Arc::new(store);
        for step in [Step::Open("a", "a0"), Step::End("a", 0), Step::Open("b", "b0")] {
            run(&*store, 0, step).await.unwrap();
        }
        store.thread(&thread("a")).await.unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let blocked = tokio::task::spawn_blocking(move || _ = wait.recv());
        let reader = Arc::clone(&store);
        let reading = tokio::spawn(async move { reader.read(&thread("a"), 0..9, None, usize::MAX).await });
        tokio::task::yield_now().await;
        while store.engine.core.overlay().has(0) {
            run(&*store, 1, Step::Name("b", "x")).await.unwrap();
            store.engine.flush().unwrap();
        }
        drop(go);
        blocked.await.unwrap();
        assert_eq!(reading.await.unwrap().unwrap().records.len(), 2);
    });
}

/// Looks up the places of the thread 0 when history has learned of its file, and before they are forgotten; and reads them when they are. Says how
/// many there were.
fn read_late(engine: &Engine, go: impl FnOnce()) -> usize {
    let first = engine.journal.start().segment;
    let overlay = engine.core.overlay();
    let places = overlay.unsealed.batches(0, &(0..9)).to_vec();
    go();
    while engine.catalogue.files().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let _reading = engine.layout.read().unwrap();
    drop(overlay);
    while !engine.core.overlay().unsealed.batches(0, &(0..9)).is_empty() {
        std::thread::yield_now();
    }
    // It would be let go of meanwhile.
    for _ in 0..10_000 {
        assert_eq!(engine.journal.start().segment, first);
        std::thread::yield_now();
    }
    for place in &places {
        engine.unsealed_batch(0, place.first, place.mark).unwrap();
    }
    places.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_stays_until_all_have_read_who_had_looked_up_places_in_it() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    let store = Arc::new(store);
    for step in [Step::Open("a", "a0"), Step::End("a", 0)] {
        run(&*store, 0, step).await.unwrap();
    }
    let engine = &store.engine;
    let first = engine.journal.start().segment;
    let ((begun, begins), (go, wait)) = (mpsc::channel(), mpsc::channel::<()>());
    let channels = Mutex::new((begun, wait));
    // Sealing stands still when the file of history has its name.
    disk.on_operation(move |_, operation| {
        if operation.what == "sync_dir" && std::thread::current().name() == Some("store-sealing") {
            let (begun, wait) = &*channels.lock().unwrap();
            _ = begun.send(());
            _ = wait.recv();
        }
    });
    let tidying = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.tidy().await }
    });
    begins.recv().unwrap();
    let places = read_late(engine, || drop(go));
    tidying.await.unwrap().unwrap();
    assert!(engine.journal.start().segment > first && places == 2);
}

#[tokio::test]
async fn nothing_is_sealed_once_others_may_have_the_store() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    run(&store, 0, Step::Open("a", "a0")).await.unwrap();
    let active = store.engine.journal.rotate().unwrap();
    store.close().await;
    let refused = store.engine.seal(active, true).unwrap_err();
    assert_eq!(refused.to_string(), "unavailable: the store is closed");
    assert_eq!(open(&disk).unwrap().1.damages, []);
}

#[tokio::test]
async fn all_who_wait_for_tidying_are_told_and_nobody_waits_when_it_is_closed() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    for step in [Step::Open("a", "a0"), Step::End("a", 0)] {
        run(&store, 0, step).await.unwrap();
    }
    let (one, two) = tokio::join!(store.tidy(), store.tidy());
    one.and(two).unwrap();
    assert_eq!(store.engine.catalogue.files().unwrap().len(), 1, "it is sealed");
    store.close().await;
    let refused = store.tidy().await.unwrap_err();
    assert_eq!(refused.to_string(), "unavailable: the store is closed");
}

#[tokio::test]
async fn a_panic_in_sealing_is_an_error_and_the_next_attempt_may_succeed() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    for step in [Step::Open("a", "a0"), Step::End("a", 0)] {
        run(&store, 0, step).await.unwrap();
    }
    disk.on_operation(|_, _| assert_ne!(std::thread::current().name(), Some("store-sealing")));
    let refused = store.tidy().await.unwrap_err();
    assert_eq!(refused.to_string(), "unavailable: sealing panicked");
    assert_eq!(store.ailments().len(), 1);
    disk.on_operation(|_, _| {});
    store.tidy().await.unwrap();
    assert_eq!(store.ailments().len(), 0);
    assert_eq!(store.engine.catalogue.files().unwrap().len(), 1, "it is sealed");
}

#[tokio::test]
async fn nothing_is_moved_or_written_once_something_durable_could_not_be_taken_in() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    run(&store, 0, Step::Open("a", "a0")).await.unwrap();
    let active = store.engine.journal.rotate().unwrap();
    let core = &store.engine.core;
    let pending = Pending {
        core: Arc::clone(core),
        write: Write { thread: 0, items: SmallVec::new() },
        frames: Frames::default(),
        done: Done::new(),
    };
    let start = Position { segment: 1, byte: 0 };
    // Nobody has admitted it, which cannot be: whoever takes it in finds less than nothing on its way.
    Arc::new(pending).complete(Ok(Committed { group: 9, start, is_last: true }));
    // That is us, or the thread that keeps the catalogue.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(core.overlay())));
    assert!(core.whole_overlay().is_err());
    assert!(store.engine.flush().is_err());
    assert!(store.engine.seal(active, true).is_err());
    let refused = store.append(Append { key: None, ..keyed() }).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "unavailable: what is durable could not be taken in: open the store again"
    );
    store.close().await;
    drop(store);
    let (store, _) = open(&disk).unwrap();
    assert_eq!(store.thread(&thread("a")).await.unwrap().runs, 1);
}
