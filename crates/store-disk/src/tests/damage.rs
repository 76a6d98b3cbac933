//! P4 through the store: what is damaged is told, and never served.

use super::flags;
use super::script::{STEPS, THREADS, expected, run, view};
use super::sim::{open, options, with_catalogue};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use std::fmt::Debug;
use std::fs;
use tempfile::TempDir;
use threadline_log::thread::ThreadQuery;
use threadline_log::{Error, Record, Store, ThreadKey, Timestamp};
use threadline_testkit::store::view::{RunView, ThreadView, View};

/// Which steps are done: the last three are only in the journal.
const STEPS_DONE: usize = 21;

/// What a file has suffered.
#[derive(Debug, Clone, Copy)]
enum Harm {
    /// This bit was flipped.
    Bit(usize),
    /// It was cut to this length.
    Cut(usize),
}

/// Whether a store need not open after that. `docs/format.md` says when it does not.
fn may_refuse(file: &str, harm: Harm, has_catalogue: bool) -> bool {
    match (file.split_once('/'), harm) {
        // What the store is cannot be told.
        (None, _) => file == "store",
        // Neither copy of the segment's header is left.
        (Some(("log", name)), Harm::Cut(length)) => name.ends_with(".log") && length < 512,
        // Facts and indexes are needed to make the catalogue anew, and for nothing else.
        (Some(("history", _)), _) => !has_catalogue,
        _ => false,
    }
}

/// How often something came of a harm.
#[derive(Debug, Default)]
struct Seen {
    /// The store did not open.
    refused: usize,
    /// It opened, and said that something is lost.
    told: usize,
    /// It opened, and who read what was harmed got an error.
    corrupt: usize,
    /// It was as if nothing had happened.
    unharmed: usize,
}

/// A reader of a store that was harmed.
struct Reader<'a> {
    store: &'a DiskStore,
    what: String,
    /// The store says that it has lost something.
    is_told: bool,
    /// How often it was an error to read something.
    corrupt: usize,
}

impl Reader<'_> {
    /// What is served is what was written; if the store says that it has lost something it may be less, as `is_less` says.
    fn expect<T: PartialEq + Debug>(
        &mut self,
        found: Result<T, Error>,
        expected: &T,
        is_less: impl FnOnce(&T) -> bool,
    ) {
        match found {
            Ok(found) => {
                let is_right = found == *expected || self.is_told && is_less(&found);
                assert!(is_right, "{}: {found:?} is not {expected:?}", self.what);
            }
            Err(Error::Corrupt { .. }) => self.corrupt += 1,
            Err(Error::NoThread(_) | Error::NoRun(_)) if self.is_told => {}
            Err(error) => panic!("{}: {error}", self.what),
        }
    }

    async fn all(&mut self, expected: &View) {
        let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        self.expect(self.store.threads(&query).await, &expected.listed, |_| true);
        let expired = self.store.expired(Timestamp(i64::MAX)).await;
        self.expect(expired.map(|expired| expired.into_iter().collect()), &expected.expired, |_| true);
        for (thread, expected) in THREADS.iter().zip(&expected.threads) {
            match expected {
                Some(expected) => self.thread(thread, expected).await,
                None => match self.store.thread(thread).await {
                    Err(Error::NoThread(_)) => {}
                    found => assert!(self.is_told, "{}: {found:?} was deleted", self.what),
                },
            }
        }
    }

    async fn thread(&mut self, thread: &ThreadKey, expected: &ThreadView) {
        self.expect(self.store.thread(thread).await, &expected.info, |_| true);
        let runs = expected.runs.iter().map(|run| run.info.clone()).collect();
        self.expect(self.store.runs(thread).await, &runs, |_| true);
        for run in &expected.runs {
            self.run(thread, run).await;
        }
        self.records(thread, None, &expected.records).await;
    }

    async fn run(&mut self, thread: &ThreadKey, expected: &RunView) {
        let no = expected.info.no;
        self.expect(self.store.request(thread, no).await, &expected.request, |_| false);
        self.expect(self.store.checkpoint(thread, no).await, &expected.checkpoint, Option::is_none);
        self.records(thread, Some(no), &expected.records).await;
    }

    /// If something is lost, what is behind it is not served as if it followed.
    async fn records(
        &mut self,
        thread: &ThreadKey,
        run: Option<threadline_log::RunNo>,
        expected: &Vec<Record>,
    ) {
        let read = self.store.read(thread, 0..1_000, run, usize::MAX).await;
        self.expect(read.map(|page| page.records), expected, |found| expected.starts_with(found));
    }
}

async fn check(options: &DiskOptions, expected: &View, file: &str, harm: Harm, seen: &mut Seen) {
    let what = format!("{file}, {harm:?}");
    let has_catalogue = options.directories.as_ref().is_some_and(|directories| directories.path.is_some());
    let store = match DiskStore::open(options) {
        Ok((store, _)) => store,
        Err(error) => {
            assert!(may_refuse(file, harm, has_catalogue), "{what}: {error}");
            seen.refused += 1;
            return;
        }
    };
    let is_told = store.trouble().is_some();
    let mut reader = Reader { store: &store, what, is_told, corrupt: 0 };
    reader.all(expected).await;
    match reader.corrupt {
        _ if is_told => seen.told += 1,
        0 => seen.unharmed += 1,
        _ => seen.corrupt += 1,
    }
}

/// Every so manieth bit and length of a file. What is behind its last byte that is not zero is not used.
fn harms(disk: &SimDisk, file: &str, bits: usize, lengths: usize) -> impl Iterator<Item = Harm> {
    let used = disk.bytes(file).iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    let cuts = (0..used).step_by(lengths).map(Harm::Cut);
    (0..used * 8).step_by(bits).map(Harm::Bit).chain(cuts)
}

fn harmed(disk: &SimDisk, file: &str, harm: Harm) -> SimDisk {
    let disk = disk.fork();
    match harm {
        Harm::Bit(bit) => disk.flip_bit(file, bit),
        Harm::Cut(length) => disk.truncate(file, length),
    }
    disk
}

async fn write(options: &DiskOptions) -> View {
    let (store, _) = DiskStore::open(options).unwrap();
    for (number, step) in STEPS[..STEPS_DONE].iter().enumerate() {
        run(&store, number, *step).await.unwrap();
    }
    store.close().await;
    expected(&STEPS[..STEPS_DONE]).await.pop().unwrap()
}

#[tokio::test]
async fn p4_no_flipped_bit_and_no_cut_is_served() {
    let disk = SimDisk::new();
    let expected = write(&options(&disk)).await;
    assert_eq!(view(&open(&disk.fork()).unwrap().0).await.unwrap(), expected);
    let every = |default| flags::number("THREADLINE_DAMAGE_EVERY", default);
    let mut seen = Seen::default();
    for file in disk.list().unwrap() {
        for harm in harms(&disk, &file, every(13), every(29)) {
            let disk = harmed(&disk, &file, harm);
            check(&options(&disk), &expected, &file, harm, &mut seen).await;
        }
    }
    eprintln!("{seen:?}");
    assert!(
        [seen.refused, seen.told, seen.corrupt, seen.unharmed].iter().all(|times| *times > 0),
        "{seen:?}"
    );
}

#[tokio::test]
async fn p4_with_its_catalogue_a_store_opens_though_history_is_damaged() {
    let (dir, disk) = (TempDir::new().unwrap(), SimDisk::new());
    let expected = write(&with_catalogue(&disk, dir.path())).await;
    let every = |default| flags::number("THREADLINE_DAMAGE_EVERY", default);
    let mut seen = Seen::default();
    for file in disk.list().unwrap() {
        for harm in harms(&disk, &file, every(29), every(29)) {
            let (copy, disk) = (TempDir::new().unwrap(), harmed(&disk, &file, harm));
            fs::copy(dir.path().join(CATALOGUE), copy.path().join(CATALOGUE)).unwrap();
            check(&with_catalogue(&disk, copy.path()), &expected, &file, harm, &mut seen).await;
        }
    }
    eprintln!("{seen:?}");
    assert!(
        [seen.refused, seen.told, seen.corrupt, seen.unharmed].iter().all(|times| *times > 0),
        "{seen:?}"
    );
}
