//! Threads that are put away while somebody uses them.

use crate::load::{BatchId, Load, runtime, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use threadline_log::run::{RunEnd, RunStatus};
use threadline_log::thread::{MetadataChange, ThreadQuery};
use threadline_log::{Batch, Engine, Error, HistoryMode, NewRecord, StartRun, Started, Timestamp};
use threadline_store_disk::{DiskOptions, DiskStore};

const THREADS: u16 = 4;
const READS: u16 = 3_000;

/// A thread with a run that has ended.
async fn make(engine: &Engine, slot: u16) {
    let request = BatchId(u64::from(slot)).request(slot).into();
    let start = StartRun { thread: thread(slot), request, history: HistoryMode::Client, agent: None };
    let Ok(Started::New(run)) = engine.start_run(start).await else { panic!("no run") };
    let end = RunEnd {
        status: RunStatus::Finished,
        outcome: None,
        error_code: None,
        usage: None,
        interrupts: Vec::new(),
    };
    let batch = Batch { end: Some(end), ..vec![NewRecord::event("{}")].into() };
    engine.append(&run, batch).await.expect("a run is ended");
}

#[test]
fn a_thread_that_is_put_away_is_still_there_for_its_reader() {
    let dir = TempDir::new().expect("a directory");
    let load = Load::new(dir.path());
    let options = DiskOptions { threads_max: 0, ..load.options() };
    let engine = load.engine(DiskStore::open(&options).expect("a store").0);
    runtime().block_on(async {
        for slot in 0..=THREADS {
            make(&engine, slot).await;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (other, ended) = (engine.clone(), Arc::clone(&is_over));
        // One thread changes, and the catalogue takes it in: then others are put away.
        let changing = tokio::spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                let store = other.store();
                store.describe(&thread(THREADS), MetadataChange::default(), Timestamp(0)).await?;
                store.threads(&ThreadQuery { limit: 1, ..ThreadQuery::default() }).await?;
            }
            Ok::<_, Error>(())
        });
        let readers: Vec<_> = (0..THREADS)
            .map(|slot| {
                let engine = engine.clone();
                tokio::spawn(async move {
                    for _ in 0..READS {
                        let page = engine.store().read(&thread(slot), 0..2, None, usize::MAX).await;
                        assert_eq!(page.map(|page| page.records.len()), Ok(2));
                    }
                })
            })
            .collect();
        let mut read = Vec::new();
        for reader in readers {
            read.push(reader.await);
        }
        is_over.store(true, Ordering::Relaxed);
        changing.await.expect("no panic").expect("a store that works");
        read.into_iter().for_each(|read| read.expect("records are read"));
    });
}
