//! A journal that ends before what others know of it has lost something: nothing is written in its place.

use super::script::{STEPS, Step, appending, run, thread};
use super::sim::with_catalogue;
use crate::doctor::{self, Severity};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use tempfile::TempDir;
use threadline_log::{Error, Record, Store};

/// A store as a kill leaves it, whose catalogue has all that was said.
struct Killed {
    disk: SimDisk,
    dir: TempDir,
    /// The journal as it was some steps before.
    before: SimDisk,
    /// Where each thread's offsets ended.
    tails: Vec<(&'static str, u64)>,
}

const KNOWN: [&str; 3] = ["a", "b", "c"];

impl Killed {
    async fn after(steps: &[Step]) -> Self {
        let (disk, dir) = (SimDisk::new(), TempDir::new().unwrap());
        let (store, _) = DiskStore::open(&with_catalogue(&disk, dir.path())).unwrap();
        let mut before = disk.fork();
        for (number, step) in steps.iter().enumerate() {
            if number + 2 == steps.len() {
                before = disk.fork();
            }
            run(&store, number, *step).await.unwrap();
        }
        let mut tails = Vec::new();
        for name in KNOWN {
            if let Ok(info) = store.thread(&thread(name)).await {
                tails.push((name, info.offsets.end));
            }
        }
        Self { dir: copied(&store), disk: disk.fork(), before, tails }
    }

    fn options(&self) -> DiskOptions {
        with_catalogue(&self.disk, self.dir.path())
    }

    fn segments(&self) -> Vec<String> {
        let names = self.disk.list().unwrap().into_iter();
        names.filter(|name| name.starts_with("log/") && name.ends_with(".log")).collect()
    }

    /// With other files in the journal.
    fn with_journal(&mut self, files: impl IntoIterator<Item = (String, Vec<u8>)>) {
        let others = self.disk.list().unwrap().into_iter().filter(|name| !name.starts_with("log/"));
        let others: Vec<_> = others.map(|name| (name.clone(), self.disk.bytes(&name))).collect();
        self.disk = SimDisk::with_files(others.into_iter().chain(files));
    }
}

/// A catalogue as it is after it has taken in everything, in a folder of its own.
fn copied(store: &DiskStore) -> TempDir {
    store.engine.flush().unwrap();
    let dir = TempDir::new().unwrap();
    store.engine.catalogue.copy(&dir.path().join(CATALOGUE)).unwrap();
    dir
}

type Harm = fn(&mut Killed);

/// What may have become of the journal.
const HARMS: [(&str, Harm); 6] = [
    ("a flipped bit in what was written last", |killed| {
        let last = killed.segments().pop().unwrap();
        let used = killed.disk.bytes(&last).iter().rposition(|byte| *byte != 0).unwrap();
        killed.disk.flip_bit(&last, used * 8);
    }),
    ("zeros where something was written", |killed| {
        let last = killed.segments().pop().unwrap();
        let mut bytes = killed.disk.bytes(&last);
        bytes[1100..].fill(0);
        killed.disk.set_bytes(&last, bytes);
    }),
    ("no journal", |killed| killed.with_journal([])),
    ("no last segment", |killed| {
        let mut left = killed.segments();
        left.pop();
        let left: Vec<_> = left.into_iter().map(|name| (name.clone(), killed.disk.bytes(&name))).collect();
        killed.with_journal(left);
    }),
    ("a journal of before", |killed| {
        let before = killed.before.clone();
        let names = before.list().unwrap().into_iter().filter(|name| name.starts_with("log/"));
        killed.with_journal(names.map(|name| (name.clone(), before.bytes(&name))).collect::<Vec<_>>());
    }),
    ("no header", |killed| {
        let last = killed.segments().pop().unwrap();
        let mut bytes = killed.disk.bytes(&last);
        bytes[..1024].fill(0);
        killed.disk.set_bytes(&last, bytes);
    }),
];

async fn records(store: &DiskStore, name: &str) -> Vec<Record> {
    store.read(&thread(name), 0..99, None, usize::MAX).await.unwrap().records
}

#[tokio::test]
async fn p4_nothing_is_written_in_place_of_what_the_catalogue_knows() {
    // Some in one segment; some behind sealed history.
    for steps in [&STEPS[..4], &STEPS[..10], &STEPS[..16]] {
        for (what, harm) in HARMS {
            let what = format!("{} steps, {what}", steps.len());
            let mut killed = Killed::after(steps).await;
            harm(&mut killed);
            for time in ["first", "again"] {
                let (store, report) = DiskStore::open(&killed.options()).unwrap();
                assert!(
                    store.trouble().is_some() && !report.damages.is_empty(),
                    "{what}, {time}: {report:?}"
                );
                let refused = store.append(appending("a", 0, 1)).await;
                assert!(matches!(refused, Err(Error::Unavailable(_))), "{what}, {time}: {refused:?}");
                store.close().await;
            }
            let checked = doctor::check(&killed.options()).unwrap();
            assert_eq!(checked.severity(), Some(Severity::Damage), "{what}: {checked:?}");

            let report = doctor::repair(&killed.options()).unwrap();
            let (store, opened) = DiskStore::open(&killed.options()).unwrap();
            assert_eq!((store.trouble(), &opened.damages[..]), (None, &[][..]), "{what}: {report:?}");
            for (name, tail) in &killed.tails {
                let info = store.thread(&thread(name)).await.unwrap();
                assert_eq!(info.offsets.end, *tail, "{what}, {name}: {report:?}");
            }
            // Whoever is new has what is his, also after a kill before the catalogue has taken it in.
            let dir = copied(&store);
            for step in [Step::Open("new", "new0"), Step::Append("new", 0, 3)] {
                run(&store, 99, step).await.unwrap();
            }
            let written = records(&store, "new").await;
            let disk = killed.disk.fork();
            let (store, report) = DiskStore::open(&with_catalogue(&disk, dir.path())).unwrap();
            assert_eq!(report.damages, [], "{what}");
            assert_eq!(records(&store, "new").await, written, "{what}");
        }
    }
}
