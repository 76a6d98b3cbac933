//! What was forgotten is gone from the files.

use super::script::{STEPS, run};
use super::sim::open;
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::history::{BlockKind, HistoryFile, file_number};
use std::collections::BTreeSet;
use std::sync::Arc;
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
    let history = crate::Directories::on(&(Arc::new(disk.clone()) as _)).history;
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
