//! P4 through the store: what is damaged is told, and never served.

use super::flags;
use super::script::{STEPS, THREADS, expected, run, view};
use super::sim::{open, options, with_catalogue};
use crate::doctor::{self, Severity};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use std::fmt::Debug;
use std::fs;
use tempfile::TempDir;
use threadline_log::thread::{ThreadInfo, ThreadQuery};
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
    /// The doctor says that something is wrong with the catalogue: its lists may leave threads out.
    is_found: bool,
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
                let is_right = found == *expected || (self.is_told || self.is_found) && is_less(&found);
                assert!(is_right, "{}: {found:?} is not {expected:?}", self.what);
            }
            Err(Error::Corrupt { .. }) => self.corrupt += 1,
            Err(Error::NoThread(_) | Error::NoRun(_)) if self.is_told => {}
            Err(error) => panic!("{}: {error}", self.what),
        }
    }

    async fn all(&mut self, expected: &View) {
        let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        let is_told = self.is_told;
        let listed = self.store.threads(&query).await;
        self.expect(listed, &expected.listed, |found| is_told || is_part(found, &expected.listed));
        let expired = self.store.expired(Timestamp(i64::MAX)).await;
        self.expect(expired.map(|expired| expired.into_iter().collect()), &expected.expired, |_| is_told);
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
        let is_told = self.is_told;
        self.expect(self.store.thread(thread).await, &expected.info, |_| is_told);
        let runs = expected.runs.iter().map(|run| run.info.clone()).collect();
        self.expect(self.store.runs(thread).await, &runs, |_| is_told);
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
        let is_told = self.is_told;
        let read = self.store.read(thread, 0..1_000, run, usize::MAX).await;
        let is_less = |found: &Vec<Record>| is_told && expected.starts_with(found);
        self.expect(read.map(|page| page.records), expected, is_less);
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
    let mut reader = Reader { store: &store, what, is_told, is_found: false, corrupt: 0 };
    reader.all(expected).await;
    match reader.corrupt {
        _ if is_told => seen.told += 1,
        0 => seen.unharmed += 1,
        _ => seen.corrupt += 1,
    }
}

/// Whether these are some of the others, in their order.
fn is_part(found: &[ThreadInfo], others: &[ThreadInfo]) -> bool {
    let mut others = others.iter();
    found.iter().all(|one| others.any(|other| other == one))
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

/// What a flipped bit of the catalogue came to.
#[derive(Debug, Default)]
struct Flips {
    /// It was made anew when the store was opened.
    rebuilt: usize,
    /// Who read what it is needed for got an error, or a list left something out, and the doctor finds it.
    found: usize,
    unharmed: usize,
}

#[tokio::test]
async fn p4_no_flipped_bit_of_the_catalogue_is_served() {
    let (dir, disk) = (TempDir::new().unwrap(), SimDisk::new());
    let expected = write(&with_catalogue(&disk, dir.path())).await;
    let whole = fs::read(dir.path().join(CATALOGUE)).unwrap();
    let mut flips = Flips::default();
    // Most of a small one is nothing.
    let is_used = |bit: &usize| whole[bit / 8 - (bit / 8).min(1)..][..2].iter().any(|byte| *byte != 0);
    let bits = (0..whole.len() * 8).filter(is_used);
    for bit in bits.step_by(flags::number("THREADLINE_DAMAGE_EVERY", 211)) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let copies = [(); 2].map(|()| TempDir::new().unwrap());
        copies.iter().for_each(|copy| fs::write(copy.path().join(CATALOGUE), &flipped).unwrap());
        let [options, other] = copies.each_ref().map(|copy| with_catalogue(&disk.fork(), copy.path()));
        let what = format!("bit {bit}");
        let (store, report) = DiskStore::open(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
        // Looked at before it is mended by itself.
        let checked = doctor::check(&other).unwrap_or_else(|error| panic!("{what}: {error}"));
        let is_found = report.rebuilt.is_none() && checked.severity() == Some(Severity::Derived);
        let mut reader = Reader { store: &store, what: what.clone(), is_told: false, is_found, corrupt: 0 };
        reader.all(&expected).await;
        assert!(reader.corrupt == 0 || is_found, "{what}: {checked:?}");
        assert!(reader.corrupt == 0 || !store.ailments().is_empty(), "{what}: nobody says so");
        match report.rebuilt {
            Some(_) => flips.rebuilt += 1,
            None if is_found => flips.found += 1,
            None => flips.unharmed += 1,
        }
    }
    eprintln!("{flips:?}");
    assert!([flips.rebuilt, flips.found, flips.unharmed].iter().all(|times| *times > 0), "{flips:?}");
}
