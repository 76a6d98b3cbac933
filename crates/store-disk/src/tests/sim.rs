//! Stores on simulated disks.

use crate::fs::sim::SimDisk;
use crate::{Directories, DiskOptions, DiskStore, OpenError, OpenReport};
use async_trait::async_trait;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use threadline_log::Store;
use threadline_testkit::store::{Ending, Harness};

/// Short, so that little has to be zeroed and a few writes fill one.
pub(super) const SEGMENT_BYTES: u32 = 8 << 10;

pub(super) fn options(disk: &SimDisk) -> DiskOptions {
    DiskOptions {
        segment_bytes: SEGMENT_BYTES,
        threads_max: 1,
        segments_waiting_max: 1,
        directories: Some(Directories::on(disk)),
        ..DiskOptions::new("")
    }
}

/// The same, with a catalogue that lasts.
pub(super) fn with_catalogue(disk: &SimDisk, dir: &Path) -> DiskOptions {
    let mut options = options(disk);
    options.directories.as_mut().unwrap().path = Some(dir.to_owned());
    options
}

pub(super) fn open(disk: &SimDisk) -> Result<(DiskStore, OpenReport), OpenError> {
    DiskStore::open(&options(disk))
}

/// A store on a simulated disk, which loses power when the store ends by a crash.
#[derive(Debug, Default)]
pub(super) struct OnSimDisk {
    disk: Mutex<SimDisk>,
    segment_bytes: u32,
    /// How often it has lost power: each time another disk is left, from nothing of what was not durable to all of it.
    cuts: AtomicU64,
}

impl OnSimDisk {
    pub(super) fn new(segment_bytes: u32) -> Self {
        Self { disk: Mutex::default(), segment_bytes, cuts: AtomicU64::new(0) }
    }

    fn start(&self) -> Arc<dyn Store> {
        let disk = self.disk.lock().unwrap().clone();
        let options = DiskOptions { segment_bytes: self.segment_bytes, ..options(&disk) };
        Arc::new(DiskStore::open(&options).unwrap().0)
    }
}

#[async_trait]
impl Harness for OnSimDisk {
    async fn open(&self) -> Arc<dyn Store> {
        self.start()
    }

    async fn reopen(&self, store: Arc<dyn Store>, ending: Ending) -> Arc<dyn Store> {
        if ending == Ending::Clean {
            store.close().await;
            assert_eq!(Arc::strong_count(&store), 1, "nobody else has it");
        } else {
            let mut disk = self.disk.lock().unwrap();
            let left = disk.crash_image(self.cuts.fetch_add(1, Ordering::Relaxed));
            *disk = left;
        }
        drop(store);
        self.start()
    }
}
