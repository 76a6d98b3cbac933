//! A catalogue from any moment in the past, as a crash may leave it, opens with the log of now.

use super::script::{STEPS, Step, expected, run, thread, view};
use super::sim::with_catalogue;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use std::fs;
use tempfile::TempDir;
use threadline_log::names::Owner;
use threadline_log::thread::ThreadQuery;
use threadline_log::{Error, RunNo, Scope, Store};

#[tokio::test]
async fn a_catalogue_of_the_past_is_as_good_as_that_of_now() {
    let expected = expected(STEPS).await;
    let (dir, past) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let disk = SimDisk::new();
    let (store, _) = DiskStore::open(&with_catalogue(&disk, dir.path())).unwrap();
    let mut rebuilt = 0;
    for (number, step) in STEPS.iter().enumerate() {
        run(&store, number, *step).await.unwrap();
        if number % 2 == 0 {
            store.engine.flush().unwrap();
        }
        store.engine.catalogue.copy(&past.path().join(number.to_string())).unwrap();
        let now = disk.fork();
        for before in 0..=number {
            let dir = TempDir::new().unwrap();
            fs::copy(past.path().join(before.to_string()), dir.path().join(CATALOGUE)).unwrap();
            let (store, report) = DiskStore::open(&with_catalogue(&now.fork(), dir.path())).unwrap();
            let found = view(&store).await.unwrap();
            assert_eq!(found, expected[number + 1], "after {number}, of {before}: {report:?}");
            rebuilt += usize::from(report.rebuilt.is_some());
            assert!(before < number || report.rebuilt.is_none(), "after {number}: {report:?}");
        }
    }
    assert!(rebuilt > 0);
}

#[tokio::test]
async fn a_damaged_row_costs_a_rebuild() {
    // Of a run that goes on, which is looked at when the store is opened; and of a thread that the journal goes on with.
    let damages = [
        "update runs set crc = crc + 1 where running = 1",
        "update threads set body = substr(body, 2)",
        "update meta set segment = 'x'",
        "drop table runs",
        // It is of a version of before.
        "pragma user_version = 4",
    ];
    for damage in damages {
        let dir = TempDir::new().unwrap();
        let disk = SimDisk::new();
        let options = with_catalogue(&disk, dir.path());
        let (store, _) = DiskStore::open(&options).unwrap();
        for (number, step) in STEPS[..10].iter().enumerate() {
            run(&store, number, *step).await.unwrap();
        }
        store.close().await;
        drop(store);
        let database = rusqlite::Connection::open(dir.path().join(CATALOGUE)).unwrap();
        assert!(database.execute(damage, []).is_ok(), "{damage}");
        drop(database);
        let (store, report) = DiskStore::open(&options).unwrap();
        assert!(report.rebuilt.is_some(), "{damage}: {report:?}");
        assert_eq!(view(&store).await.unwrap(), expected(&STEPS[..10]).await.pop().unwrap(), "{damage}");
    }
}

#[tokio::test]
async fn a_damaged_row_is_left_out_of_lists_told_and_made_anew_the_next_time() {
    let dir = TempDir::new().unwrap();
    let disk = SimDisk::new();
    let options = with_catalogue(&disk, dir.path());
    let query = ThreadQuery { limit: 9, ..ThreadQuery::default() };
    let (store, _) = DiskStore::open(&options).unwrap();
    for step in [Step::Open("a", "a0"), Step::End("a", 0), Step::Open("b", "b0"), Step::End("b", 0)] {
        run(&store, 0, step).await.unwrap();
    }
    let (whole, usage) =
        (store.threads(&query).await.unwrap(), store.usage(&thread("a").scope).await.unwrap());
    store.close().await;
    drop(store);
    // The body, and what lists go by.
    for damage in ["crc = crc + 1", "updated = updated + 1", "user = 'others'"] {
        let database = rusqlite::Connection::open(dir.path().join(CATALOGUE)).unwrap();
        assert_eq!(database.execute(&format!("update threads set {damage} where no = 0"), []).unwrap(), 1);
        drop(database);
        let (store, report) = DiskStore::open(&options).unwrap();
        assert_eq!((report.rebuilt, store.ailments()), (None, Vec::new()));
        let listed = store.threads(&query).await.unwrap();
        assert_eq!(listed.iter().map(|info| info.key.clone()).collect::<Vec<_>>(), [thread("b")], "{damage}");
        let others = Scope { user: Owner::new("others").unwrap(), ..thread("a").scope.clone() };
        let theirs = ThreadQuery { scope: Some(others), ..query.clone() };
        assert_eq!(store.threads(&theirs).await.unwrap(), [], "{damage}");
        for said in [store.ailments(), store.left_out()] {
            assert!(said.len() == 1 && said[0].contains("/a, number=0"), "{damage}: {said:?}");
        }
        assert!(store.usage(&thread("a").scope).await.unwrap().threads < usage.threads);
        assert_eq!(store.trouble(), None);
        store.close().await;
        drop(store);
        let (store, report) = DiskStore::open(&options).unwrap();
        assert!(report.rebuilt.is_some(), "{damage}");
        assert_eq!(store.threads(&query).await.unwrap(), whole);
        assert_eq!(store.usage(&thread("a").scope).await.unwrap(), usage);
        store.close().await;
        drop(store);
        assert_eq!(DiskStore::open(&options).unwrap().1.rebuilt, None);
    }
}

#[tokio::test]
async fn a_thread_that_is_not_found_by_its_name_is_not_made_a_second_time() {
    let dir = TempDir::new().unwrap();
    let disk = SimDisk::new();
    let options = with_catalogue(&disk, dir.path());
    let (store, _) = DiskStore::open(&options).unwrap();
    for step in [Step::Open("a", "a0"), Step::End("a", 0)] {
        run(&store, 0, step).await.unwrap();
    }
    store.close().await;
    drop(store);
    let database = rusqlite::Connection::open(dir.path().join(CATALOGUE)).unwrap();
    database.execute("update threads set thread = 'c'", []).unwrap();
    drop(database);
    let (store, _) = DiskStore::open(&options).unwrap();
    let opened = run(&store, 1, Step::Open("a", "a0")).await;
    assert!(matches!(opened, Err(Error::Corrupt { .. })), "{opened:?}");
    assert_eq!(store.ailments().len(), 1);
    store.close().await;
    drop(store);
    let (store, _) = DiskStore::open(&options).unwrap();
    assert_eq!(store.thread(&thread("a")).await.unwrap().runs, 1);
}

#[tokio::test]
async fn what_opening_needs_and_is_damaged_costs_a_rebuild() {
    // A run that goes on and is not found would go on for ever; a segment that is said to be sealed would be released.
    let damages = [
        (10, "update runs set running = 0"),
        (10, "update meta set byte = byte - 1"),
        (10, "update meta set threads_end = 0"),
        (10, "update keys set first = first + 1"),
        (10, "delete from keys"),
        (18, "update files set sources = sources || ' 9'"),
    ];
    for (steps, damage) in damages {
        let dir = TempDir::new().unwrap();
        let disk = SimDisk::new();
        let options = with_catalogue(&disk, dir.path());
        let (store, _) = DiskStore::open(&options).unwrap();
        for (number, step) in STEPS[..steps].iter().enumerate() {
            run(&store, number, *step).await.unwrap();
        }
        store.close().await;
        drop(store);
        let database = rusqlite::Connection::open(dir.path().join(CATALOGUE)).unwrap();
        assert_ne!(database.execute(damage, []).unwrap(), 0, "{damage}");
        drop(database);
        let (store, report) = DiskStore::open(&options).unwrap();
        assert!(report.rebuilt.is_some(), "{damage}: {report:?}");
        assert_eq!(view(&store).await.unwrap(), expected(&STEPS[..steps]).await.pop().unwrap(), "{damage}");
    }
}

#[tokio::test]
async fn a_block_that_is_missing_is_missed_within_what_was_compacted() {
    let damages = [
        "delete from blocks where kind = 1",
        "update blocks set kind = 3 where kind = 1",
        "delete from places",
        "update sums set count = count + 1",
    ];
    for damage in damages {
        let dir = TempDir::new().unwrap();
        let disk = SimDisk::new();
        let options = with_catalogue(&disk, dir.path());
        let (store, _) = DiskStore::open(&options).unwrap();
        // The second run lies within what the first, which ends later, has given up.
        let steps = [
            Step::Open("a", "a0"),
            Step::Open("a", "a1"),
            Step::Append("a", 1, 2),
            Step::End("a", 1),
            Step::Checkpoint("a", 1),
            Step::End("a", 0),
            Step::Checkpoint("a", 0),
            Step::Compact("a", 0),
            Step::Tidy,
        ];
        for (number, step) in steps.into_iter().enumerate() {
            run(&store, number, step).await.unwrap();
        }
        store.close().await;
        drop(store);
        let database = rusqlite::Connection::open(dir.path().join(CATALOGUE)).unwrap();
        assert_ne!(database.execute(damage, []).unwrap(), 0, "{damage}");
        drop(database);
        let (store, _) = DiskStore::open(&options).unwrap();
        let read = store.read(&thread("a"), 0..9, Some(RunNo(1)), usize::MAX).await;
        assert!(matches!(read, Err(Error::Corrupt { .. })), "{damage}: {read:?}");
        let checkpoint = store.checkpoint(&thread("a"), RunNo(0)).await;
        assert!(matches!(checkpoint, Err(Error::Corrupt { .. })), "{damage}: {checkpoint:?}");
        store.close().await;
        drop(store);
        let (store, _) = DiskStore::open(&options).unwrap();
        let read = store.read(&thread("a"), 0..9, Some(RunNo(1)), usize::MAX).await.unwrap();
        assert_eq!(read.records.len(), 4, "{damage}");
        assert!(store.checkpoint(&thread("a"), RunNo(0)).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_catalogue_that_takes_nothing_is_told_and_stops_writes_when_no_more_fits() {
    let dir = TempDir::new().unwrap();
    let disk = SimDisk::new();
    let options = DiskOptions { overlay_bytes_max: 2_000, ..with_catalogue(&disk, dir.path()) };
    let (store, _) = DiskStore::open(&options).unwrap();
    run(&store, 0, Step::Open("a", "a0")).await.unwrap();
    store.engine.flush().unwrap();
    let database = rusqlite::Connection::open(dir.path().join(CATALOGUE)).unwrap();
    database.execute("alter table meta rename to other", []).unwrap();
    assert_eq!((store.ailments(), store.trouble()), (Vec::new(), None));
    run(&store, 1, Step::Keyed("a", 0, KEYS[0])).await.unwrap();
    store.engine.flush().unwrap_err();
    let said = store.ailments();
    assert!(said.len() == 1 && said[0].contains("the catalogue takes nothing in: "), "{said:?}");
    assert_eq!(store.trouble(), None);
    let mut number = 1;
    let refused = loop {
        match run(&store, number, Step::Keyed("a", 0, KEYS[number])).await {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Unavailable(_)), "{refused}");
    let trouble = store.trouble().unwrap();
    assert!(
        trouble.starts_with("no more fits into memory, and the catalogue takes nothing in: "),
        "{trouble}"
    );
    database.execute("alter table other rename to meta", []).unwrap();
    // The thread that keeps the catalogue tries again, too.
    store.engine.flush().unwrap();
    assert_eq!((store.ailments(), store.trouble()), (Vec::new(), None));
    run(&store, number, Step::Keyed("a", 0, KEYS[number])).await.unwrap();
}

const KEYS: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];
