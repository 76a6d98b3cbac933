//! A catalogue from any moment in the past, as a crash may leave it, opens with the log of now.

use super::script::{STEPS, expected, run, view};
use super::sim::with_catalogue;
use crate::DiskStore;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use std::fs;
use tempfile::TempDir;
use threadline_log::Store;

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
