//! A catalogue from any moment in the past, as a crash may leave it, opens with the log of now.

use super::script::{STEPS, expected, run, view};
use super::sim::options;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn with_catalogue(disk: &SimDisk, dir: &Path) -> DiskOptions {
    let mut options = options(disk);
    options.directories.as_mut().unwrap().path = Some(dir.to_owned());
    options
}

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
