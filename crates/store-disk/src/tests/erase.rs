//! What was forgotten is gone from the files.

use super::script::{STEPS, Step, run};
use super::sim::open;
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::history::{BlockKind, HistoryFile, file_number};
use std::collections::BTreeSet;
use threadline_log::Store;

#[tokio::test]
async fn nothing_of_what_was_forgotten_is_left_after_tidying() {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    for (number, step) in STEPS.iter().enumerate() {
        run(&store, number, *step).await.unwrap();
    }
    store.tidy().await.unwrap();
    store.close().await;
    let history = crate::Directories::on(&disk).history;
    let (mut threads, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for number in history.list().unwrap().iter().filter_map(|name| file_number(name)) {
        let file = HistoryFile::open(&*history, number).unwrap();
        for block in file.index().unwrap().blocks {
            threads.insert(block.thread);
            if block.kind == BlockKind::Records {
                runs.extend(block.runs.iter().map(|(run, _)| (block.thread, *run)));
            }
        }
    }
    // Threads 1 (`b` at first) and 2 (`c`) were deleted; run 0 of `a` was compacted.
    assert_eq!(threads.into_iter().collect::<Vec<_>>(), [0, 3]);
    assert_eq!(runs.into_iter().collect::<Vec<_>>(), [(0, 1), (3, 0)]);
    let segments: Vec<String> =
        disk.list().unwrap().into_iter().filter(|name| name.ends_with(".log")).collect();
    let used: Vec<u8> = segments.iter().flat_map(|name| disk.bytes(name)).collect();
    let contains = |text: &[u8]| used.windows(text.len()).any(|window| window == text);
    assert!(!contains(b"app/user/c") && contains(b"app/user/b"));
}

#[tokio::test]
async fn no_number_is_given_twice_though_everything_was_erased() {
    let disk = SimDisk::new();
    let (mut threads, mut files) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..4 {
        // The catalogue is in memory: what is known now is what the files say.
        let (store, _) = open(&disk).unwrap();
        for (number, step) in [Step::Open("a", "a0"), Step::End("a", 0), Step::Tidy].into_iter().enumerate() {
            run(&store, number, step).await.unwrap();
        }
        assert!(threads.insert(store.engine.catalogue.thread_numbers().unwrap()), "round {round}");
        let names = disk.list().unwrap();
        let sealed: Vec<String> = names.into_iter().filter(|name| name.starts_with("history/")).collect();
        assert!(!sealed.is_empty() && files.insert(sealed), "round {round}: {files:?}");
        run(&store, 9, Step::Delete("a")).await.unwrap();
        store.tidy().await.unwrap();
        let names = disk.list().unwrap();
        assert!(!names.iter().any(|name| name.starts_with("history/")), "{names:?}");
        store.close().await;
    }
}

#[tokio::test]
async fn a_store_file_of_another_store_is_refused() {
    let (disk, other) = (SimDisk::new(), SimDisk::new());
    for disk in [&disk, &other] {
        open(disk).unwrap().0.close().await;
    }
    disk.set_bytes("store", other.bytes("store"));
    let refused = open(&disk).map(|_| ()).unwrap_err();
    assert_eq!(refused.to_string(), "the store file is of another store than the log");
}
