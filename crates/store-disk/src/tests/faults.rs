//! P3 through the store: a write or sync that fails is never acked, and the store says so and goes on reading.

use super::script::{STEPS, Step, expected, run, view};
use super::sim::open;
use crate::fs::sim::SimDisk;
use std::io::ErrorKind;
use threadline_log::{Error, Store};

async fn fails_at(set: impl Fn(&SimDisk)) -> bool {
    let expected = expected(STEPS).await;
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    set(&disk);
    let mut failed = None;
    for (number, step) in STEPS.iter().enumerate() {
        if let Err(error) = run(&store, number, *step).await {
            assert!(matches!(error, Error::Unavailable(_) | Error::Indeterminate(_)), "{error}");
            failed = Some((number, *step, error));
            break;
        }
    }
    let Some((number, step, error)) = failed else {
        // It was hit by work that may wait, or not at all.
        assert_eq!(view(&store).await.unwrap(), expected[STEPS.len()]);
        return disk.has_fault();
    };
    if matches!(step, Step::Tidy) && store.trouble().is_none() {
        // What was not sealed this time is the next.
        store.tidy().await.unwrap();
    } else if !matches!(step, Step::Tidy) {
        assert!(store.trouble().is_some(), "{step:?}: {error}");
        let again = run(&store, 100, Step::Name("a", "x")).await.unwrap_err();
        assert!(matches!(again, Error::Unavailable(_)), "{again}");
    }
    assert_eq!(view(&store).await.unwrap(), expected[number], "{step:?}");
    drop(store);
    let (store, _) = open(&disk.fork()).unwrap();
    let found = view(&store).await.unwrap();
    let done = matches!(error, Error::Indeterminate(_)) && found == expected[number + 1];
    assert!(done || found == expected[number], "{step:?}: {error}");
    false
}

/// More operations than the history has.
const HIT_MAX: u64 = 200;

/// Sets each fault in turn, until one is behind the end of the history. Says how many were hit, which depends a little on what is done in
/// the background at the same time.
async fn hit_all(set: impl Fn(&SimDisk, u64)) -> u64 {
    let mut hit = 0;
    // A disk that never fails would be tried for ever.
    while hit < HIT_MAX && !fails_at(|disk| set(disk, hit + 1)).await {
        hit += 1;
    }
    eprintln!("{hit} faults");
    hit
}

#[tokio::test]
async fn p3_a_failed_write_is_not_acked_and_said() {
    let hit = hit_all(|disk, nth| disk.fail_write(nth, ErrorKind::StorageFull)).await;
    assert!((50..HIT_MAX).contains(&hit), "{hit}");
}

#[tokio::test]
async fn p3_a_failed_sync_is_not_acked_and_said() {
    let hit = hit_all(|disk, nth| disk.fail_sync(nth, ErrorKind::Other)).await;
    assert!((40..HIT_MAX).contains(&hit), "{hit}");
}

#[tokio::test]
async fn what_cannot_be_prepared_is_told_until_it_can() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    store.engine.journal.settle();
    // The first change is the write of a group, and what comes then is the next segment's.
    disk.fail_write(2, ErrorKind::StorageFull);
    run(&store, 0, Step::Open("a", "a0")).await.unwrap();
    store.engine.journal.settle();
    let said = store.ailments();
    assert!(said.len() == 1 && said[0].contains("the journal's next segment or a sidecar"), "{said:?}");
    assert_eq!(store.trouble(), None);
    store.tidy().await.unwrap();
    run(&store, 1, Step::Append("a", 0, 1)).await.unwrap();
    store.engine.journal.settle();
    assert_eq!(store.ailments(), Vec::<String>::new());
}
