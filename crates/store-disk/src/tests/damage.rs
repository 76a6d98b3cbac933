//! P4 through the store: what is damaged is told, and never served.

use super::script::{STEPS, THREADS, expected, run, view};
use super::sim::open;
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use threadline_log::{Error, Store};
use threadline_testkit::store::view::View;

/// Which steps are done: the last two are only in the journal.
const STEPS_DONE: usize = 21;

async fn made() -> (SimDisk, View) {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    for (number, step) in STEPS[..STEPS_DONE].iter().enumerate() {
        run(&store, number, *step).await.unwrap();
    }
    store.close().await;
    let view = expected(&STEPS[..STEPS_DONE]).await.pop().unwrap();
    (disk, view)
}

/// What is read of a damaged store is what was written, or an error, or the damage was told at opening.
async fn check(disk: &SimDisk, expected: &View, what: &str) {
    let Ok((store, report)) = open(disk) else { return };
    for (thread, expected) in THREADS.iter().zip(&expected.threads) {
        let Some(expected) = expected else { continue };
        let records = match store.read(thread, 0..expected.info.offsets.end, None, usize::MAX).await {
            Ok(page) => page.records,
            Err(Error::Corrupt { .. }) => continue,
            Err(Error::NoThread(_)) if !report.damages.is_empty() => continue,
            Err(error) => panic!("{what}: {error}"),
        };
        if records != expected.records {
            assert!(!report.damages.is_empty(), "{what}: {records:?}");
            assert!(store.trouble().is_some(), "{what}: {:?}", report.damages);
            assert!(records.iter().all(|record| expected.records.contains(record)), "{what}");
        }
    }
}

#[tokio::test]
async fn p4_no_flipped_bit_and_no_cut_is_served() {
    let (disk, expected) = made().await;
    assert_eq!(view(&open(&disk.fork()).unwrap().0).await.unwrap(), expected);
    for name in disk.list().unwrap().iter().filter(|name| name.contains('/')) {
        let used = disk.bytes(name).iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
        for bit in (0..used * 8).step_by(13) {
            let disk = disk.fork();
            disk.flip_bit(name, bit);
            check(&disk, &expected, &format!("{name}, bit {bit}")).await;
        }
        for length in (0..used).step_by(29) {
            let disk = disk.fork();
            disk.truncate(name, length);
            check(&disk, &expected, &format!("{name} cut to {length}")).await;
        }
    }
}
