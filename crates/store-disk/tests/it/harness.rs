//! Stores in directories that are removed afterwards.

use async_trait::async_trait;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use threadline_log::Store;
use threadline_store_disk::{DiskOptions, DiskStore, OpenReport, doctor};
use threadline_testkit::store::{Ending, Harness};

/// Segments so small that a test fills several.
pub(crate) const SEGMENT_BYTES: u32 = 16 << 10;

/// Options for tests.
pub(crate) fn options(dir: &Path) -> DiskOptions {
    DiskOptions { segment_bytes: SEGMENT_BYTES, threads_max: 2, ..DiskOptions::new(dir) }
}

/// Opens a store.
pub(crate) fn open(dir: &Path) -> (DiskStore, OpenReport) {
    DiskStore::open(&options(dir)).expect("a store")
}

/// A store in a directory of its own.
#[derive(Debug)]
pub(crate) struct InDirectory {
    dir: TempDir,
    /// The catalogue is lost whenever the store is opened again.
    loses_catalogue: bool,
    segment_bytes: u32,
}

impl InDirectory {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().expect("a directory"), loses_catalogue: false, segment_bytes: 2 << 20 }
    }

    pub(crate) fn forgetful() -> Self {
        Self { loses_catalogue: true, ..Self::new() }
    }

    fn start(&self) -> Arc<dyn Store> {
        let options = DiskOptions { segment_bytes: self.segment_bytes, ..options(self.dir.path()) };
        Arc::new(DiskStore::open(&options).expect("a store").0)
    }
}

#[async_trait]
impl Harness for InDirectory {
    /// A thousand syncs or so, which take a minute on a busy disk. The same steps are taken more often on a simulated one.
    fn model_cases(&self) -> u32 {
        40
    }

    async fn open(&self) -> Arc<dyn Store> {
        self.start()
    }

    async fn reopen(&self, store: Arc<dyn Store>, ending: Ending) -> Arc<dyn Store> {
        if ending == Ending::Clean {
            store.close().await;
        }
        assert_eq!(Arc::strong_count(&store), 1, "nobody else has it");
        drop(store);
        if self.loses_catalogue {
            fs::remove_file(self.dir.path().join("catalogue.sqlite")).expect("a catalogue");
        } else {
            assert_well(self.dir.path());
        }
        self.start()
    }
}

/// Looks at a copy, so that what is opened next is what was left.
fn assert_well(dir: &Path) {
    let copy = TempDir::new().expect("a directory");
    copy_files(dir, copy.path());
    let report = doctor::check(&options(copy.path())).expect("checked");
    assert!(report.severity() <= Some(doctor::Severity::Note), "{report:?}");
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory").map(|entry| entry.expect("an entry")) {
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&to).expect("a directory");
            copy_files(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("copied");
        }
    }
}
