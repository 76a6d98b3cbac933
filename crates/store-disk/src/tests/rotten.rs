//! What rots in the log after it was opened is left behind when the rest is sealed.

use super::script::{Step, run, thread};
use super::sim::open;
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use threadline_log::run::RunStatus;
use threadline_log::{Error, RunNo, Store};

fn segments(disk: &SimDisk) -> Vec<String> {
    let names = disk.list().unwrap().into_iter();
    names.filter(|name| name.starts_with("log/") && name.ends_with(".log")).collect()
}

/// Flips a bit of the only place where something is written.
fn rot(disk: &SimDisk, what: &str) {
    let hits: Vec<(String, usize)> = segments(disk)
        .into_iter()
        .filter_map(|name| {
            let bytes = disk.bytes(&name);
            let at = bytes.windows(what.len()).position(|window| window == what.as_bytes())?;
            Some((name, at))
        })
        .collect();
    let [(name, at)] = &hits[..] else { panic!("{what}: {hits:?}") };
    disk.flip_bit(name, at * 8);
}

#[tokio::test]
async fn rotten_records_do_not_keep_the_rest_from_being_sealed() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    for step in [Step::Open("a", "a0"), Step::Open("b", "b0"), Step::Append("a", 0, 2)] {
        run(&store, 0, step).await.unwrap();
    }
    // Whole entries come after it, so that its offsets are not the tail's.
    run(&store, 1, Step::Append("b", 0, 5)).await.unwrap();
    for step in [Step::End("a", 0), Step::End("b", 0)] {
        run(&store, 2, step).await.unwrap();
    }
    let rotten = segments(&disk).pop().unwrap();
    // What it does not have in common with the one before.
    rot(&disk, "4,\"of\":\"app/user/b\"");
    assert_eq!(store.ailments(), Vec::<String>::new());
    store.tidy().await.unwrap();

    let said = store.ailments();
    assert!(said.len() == 1 && said[0].contains("thread=1, offset=1"), "{said:?}");
    assert_eq!(store.trouble(), None);
    let log = segments(&disk);
    assert!(!log.contains(&rotten), "it is sealed: {log:?}");
    assert!(disk.list().unwrap().contains(&rotten.replace("log/", "damaged/")));
    store.close().await;
    drop(store);
    let (store, _) = open(&disk).unwrap();
    let whole = store.read(&thread("a"), 0..9, None, usize::MAX).await.unwrap();
    assert_eq!(whole.records.len(), 4);
    assert_eq!(store.thread(&thread("b")).await.unwrap().offsets, 0..7);
    let lost = store.read(&thread("b"), 0..9, None, usize::MAX).await;
    assert!(matches!(lost, Err(Error::Corrupt { .. })), "{lost:?}");
    assert_eq!(store.read(&thread("b"), 6..7, None, usize::MAX).await.unwrap().records.len(), 1);
}

#[tokio::test]
async fn rotten_facts_are_stated_anew() {
    // The thread itself, its only run, and how that ended.
    for lost in ["{\"fact\":\"created\"", "{\"fact\":\"opened\"", "{\"fact\":\"ended\""] {
        let disk = SimDisk::new();
        let (store, _) = open(&disk).unwrap();
        for step in [Step::Open("a", "a0"), Step::Append("a", 0, 2), Step::Name("a", "n"), Step::End("a", 0)]
        {
            run(&store, 0, step).await.unwrap();
        }
        let (info, runs) =
            (store.thread(&thread("a")).await.unwrap(), store.runs(&thread("a")).await.unwrap());
        rot(&disk, lost);
        store.tidy().await.unwrap();
        assert_eq!(store.ailments().len(), 1, "{lost}");
        store.close().await;
        drop(store);
        // The catalogue is in memory: what is known now is what history says.
        let (store, _) = open(&disk).unwrap();
        assert_eq!(store.thread(&thread("a")).await.unwrap(), info, "{lost}");
        assert_eq!(store.runs(&thread("a")).await.unwrap(), runs, "{lost}");
        assert_eq!(runs[0].status(), RunStatus::Finished);
        let request = store.request(&thread("a"), RunNo(0)).await;
        assert_eq!(matches!(request, Err(Error::Corrupt { .. })), lost.contains("opened"), "{request:?}");
    }
}
