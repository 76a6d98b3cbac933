//! P4 through the store: what is damaged is told, and never served.

use super::flags;
use super::script::{STEPS, THREADS, expected, run, view};
use super::sim::{open, options, with_catalogue};
use crate::doctor::{self, Severity};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::history::{HistoryFile, file_number};
use crate::journal::format::segment_name;
use crate::journal::{self, Damage, Journal, Position, Salt};
use crate::open::CATALOGUE;
use crate::{Directories, DiskOptions, DiskStore};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::fs;
use tempfile::TempDir;
use threadline_log::thread::{ThreadInfo, ThreadQuery};
use threadline_log::{Error, Record, RunNo, Store, ThreadKey, Timestamp};
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
fn may_refuse(file: &str, has_catalogue: bool) -> bool {
    match file.split_once('/') {
        // What the store is cannot be told.
        None => file == "store",
        // Facts and indexes are needed to make the catalogue anew, and for nothing else.
        Some(("history", _)) => !has_catalogue,
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
    /// Whose bytes they are that were harmed. What is read of all others is as it was.
    hit: &'a BTreeSet<ThreadKey>,
    /// How those begin that errors may name as the place.
    places: Vec<String>,
    /// The store says that it has lost something.
    is_told: bool,
    /// The doctor says that something is wrong with the catalogue: its lists may leave threads out.
    is_found: bool,
    /// How often it was an error to read something.
    corrupt: usize,
}

impl Reader<'_> {
    /// What is served is what was written. If the store says that it has lost something of the thread it may be less, as `is_less` says.
    fn expect<T: PartialEq + Debug>(
        &mut self,
        thread: Option<&ThreadKey>,
        found: Result<T, Error>,
        expected: &T,
        is_less: impl FnOnce(&T) -> bool,
    ) {
        let is_hit = thread.is_none_or(|thread| self.hit.contains(thread));
        match found {
            Ok(found) if found == *expected => {}
            Ok(found) if is_hit && (self.is_told || self.is_found) && is_less(&found) => {}
            Err(Error::Corrupt { place, .. }) if is_hit && self.is_place(&place) => self.corrupt += 1,
            Err(Error::NoThread(_) | Error::NoRun(_)) if is_hit && self.is_told => {}
            found => panic!("{}, {thread:?}, is hit: {is_hit}: {found:?} is not {expected:?}", self.what),
        }
    }

    fn is_place(&self, place: &str) -> bool {
        self.places.iter().any(|known| place.starts_with(known))
    }

    async fn all(&mut self, expected: &View) {
        let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        let (is_told, hit) = (self.is_told, self.hit);
        let listed = self.store.threads(&query).await;
        let of_others = |list: &[ThreadInfo]| -> Vec<ThreadInfo> {
            list.iter().filter(|info| !hit.contains(&info.key)).cloned().collect()
        };
        self.expect(None, listed, &expected.listed, |found| {
            of_others(found) == of_others(&expected.listed) && (is_told || is_part(found, &expected.listed))
        });
        let expired = self.store.expired(Timestamp(i64::MAX)).await;
        let of_others = |runs: &BTreeSet<(ThreadKey, RunNo)>| -> BTreeSet<(ThreadKey, RunNo)> {
            runs.iter().filter(|(thread, _)| !hit.contains(thread)).cloned().collect()
        };
        self.expect(None, expired.map(BTreeSet::from_iter), &expected.expired, |found| {
            is_told && of_others(found) == of_others(&expected.expired)
        });
        for (thread, expected) in THREADS.iter().zip(&expected.threads) {
            self.thread(thread, expected.as_ref().expect("all are there at the end")).await;
        }
    }

    async fn thread(&mut self, thread: &ThreadKey, expected: &ThreadView) {
        let is_told = self.is_told;
        self.expect(Some(thread), self.store.thread(thread).await, &expected.info, |_| is_told);
        let runs = expected.runs.iter().map(|run| run.info.clone()).collect();
        self.expect(Some(thread), self.store.runs(thread).await, &runs, |_| is_told);
        for run in &expected.runs {
            self.run(thread, run).await;
        }
        self.records(thread, None, &expected.records).await;
    }

    async fn run(&mut self, thread: &ThreadKey, expected: &RunView) {
        let no = expected.info.no;
        self.expect(Some(thread), self.store.request(thread, no).await, &expected.request, |_| false);
        self.expect(
            Some(thread),
            self.store.checkpoint(thread, no).await,
            &expected.checkpoint,
            Option::is_none,
        );
        self.records(thread, Some(no), &expected.records).await;
    }

    /// If something is lost, what is behind it is not served as if it followed.
    async fn records(&mut self, thread: &ThreadKey, run: Option<RunNo>, expected: &Vec<Record>) {
        let is_told = self.is_told;
        let read = self.store.read(thread, 0..1_000, run, usize::MAX).await;
        let is_less = |found: &Vec<Record>| is_told && expected.starts_with(found);
        self.expect(Some(thread), read.map(|page| page.records), expected, is_less);
    }
}

async fn check(options: &DiskOptions, written: &Written, file: &str, harm: Harm, seen: &mut Seen) {
    let what = format!("{file}, {harm:?}");
    let has_catalogue = options.directories.as_ref().is_some_and(|directories| directories.path.is_some());
    let (store, report) = match DiskStore::open(options) {
        Ok(opened) => opened,
        Err(error) => {
            assert!(may_refuse(file, has_catalogue), "{what}: {error}");
            seen.refused += 1;
            return;
        }
    };
    let is_told = store.trouble().is_some();
    let hit = written.hit(file, harm);
    // What is missing altogether was in no file any more: its thread is named, and the offset or the run.
    let places = ["", "log, "].map(|log| format!("{log}thread="));
    let places = places.into_iter().chain([file.to_owned()]).collect();
    let mut reader =
        Reader { store: &store, what: what.clone(), hit: &hit, places, is_told, is_found: false, corrupt: 0 };
    reader.all(&written.view).await;
    match reader.corrupt {
        _ if is_told => {
            assert!(report.damages.iter().any(|damage| is_there(damage, file, harm)), "{what}: {report:?}");
            seen.told += 1;
        }
        0 => seen.unharmed += 1,
        _ => seen.corrupt += 1,
    }
    if file.starts_with("history/") {
        drop(store);
        let checked = doctor::check(options).unwrap_or_else(|error| panic!("{what}: {error}"));
        let is_found = checked.findings.iter().any(|finding| finding.place.starts_with(file));
        assert!(is_found && checked.severity() == Some(Severity::Damage), "{what}: {checked:?}");
    }
}

/// Whether the damage is where the harm was done.
fn is_there(damage: &Damage, file: &str, harm: Harm) -> bool {
    let byte = match harm {
        Harm::Bit(bit) => bit / 8,
        Harm::Cut(length) => length,
    };
    file == format!("log/{}", segment_name(damage.segment))
        && (damage.bytes.start as usize..=damage.bytes.end as usize).contains(&byte)
}

/// What was written, and where.
struct Written {
    view: View,
    /// Where blocks and entries begin, by file, and whose they are.
    places: BTreeMap<String, BTreeMap<usize, Option<ThreadKey>>>,
}

impl Written {
    /// Whose bytes these are. Of the journal those before and behind are counted as well: it is not said here where entries end.
    fn hit(&self, file: &str, harm: Harm) -> BTreeSet<ThreadKey> {
        let Some(places) = self.places.get(file) else { return BTreeSet::new() };
        let hit: Vec<&Option<ThreadKey>> = match harm {
            Harm::Bit(bit) => {
                let before = places.range(..=bit / 8).next_back();
                let behind = places.range(bit / 8 + 1..).next().filter(|_| file.starts_with("log/"));
                before.into_iter().chain(behind).map(|(_, thread)| thread).collect()
            }
            Harm::Cut(length) => {
                let before = places.range(..length).next_back();
                before.into_iter().chain(places.range(length..)).map(|(_, thread)| thread).collect()
            }
        };
        hit.into_iter().flatten().cloned().collect()
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

async fn write(disk: &SimDisk, options: &DiskOptions) -> Written {
    let (store, _) = DiskStore::open(options).unwrap();
    for (number, step) in STEPS[..STEPS_DONE].iter().enumerate() {
        run(&store, number, *step).await.unwrap();
    }
    store.engine.flush().unwrap();
    let stored = THREADS.iter().filter_map(|key| store.engine.catalogue.thread_by_name(key).unwrap());
    let keys: HashMap<u64, ThreadKey> = stored.map(|stored| (stored.no, stored.key)).collect();
    store.close().await;
    drop(store);
    let directories = Directories::on(&disk.fork());
    let mut places = BTreeMap::<String, BTreeMap<usize, Option<ThreadKey>>>::new();
    let mut put = |file: String, at: usize, thread: Option<u64>| {
        let thread = thread.and_then(|thread| keys.get(&thread)).cloned();
        places.entry(file).or_default().insert(at, thread);
    };
    for name in directories.history.list().unwrap() {
        let file = HistoryFile::open(&*directories.history, file_number(&name).unwrap()).unwrap();
        for block in file.index().unwrap().blocks {
            let extent = block.site().extent;
            put(format!("history/{name}"), usize::try_from(extent.end()).unwrap(), None);
            put(format!("history/{name}"), usize::try_from(extent.at).unwrap(), Some(block.thread));
        }
    }
    let journal = journal::Options::new(Salt([0; 8]));
    let (journal, _) = Journal::open(directories.log.clone(), &journal, |found| {
        let Position { segment, byte } = found.position;
        put(format!("log/{}", segment_name(segment)), byte as usize, Some(found.head.thread));
    })
    .unwrap();
    journal.close().unwrap();
    Written { view: expected(&STEPS[..STEPS_DONE]).await.pop().unwrap(), places }
}

#[tokio::test]
async fn p4_no_flipped_bit_and_no_cut_is_served() {
    let disk = SimDisk::new();
    let written = write(&disk, &options(&disk)).await;
    assert_eq!(view(&open(&disk.fork()).unwrap().0).await.unwrap(), written.view);
    let every = |default| flags::number("THREADLINE_DAMAGE_EVERY", default);
    let mut seen = Seen::default();
    for file in disk.list().unwrap() {
        for harm in harms(&disk, &file, every(13), every(29)) {
            let disk = harmed(&disk, &file, harm);
            check(&options(&disk), &written, &file, harm, &mut seen).await;
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
    let written = write(&disk, &with_catalogue(&disk, dir.path())).await;
    let every = |default| flags::number("THREADLINE_DAMAGE_EVERY", default);
    let mut seen = Seen::default();
    for file in disk.list().unwrap() {
        for harm in harms(&disk, &file, every(29), every(29)) {
            let (copy, disk) = (TempDir::new().unwrap(), harmed(&disk, &file, harm));
            fs::copy(dir.path().join(CATALOGUE), copy.path().join(CATALOGUE)).unwrap();
            check(&with_catalogue(&disk, copy.path()), &written, &file, harm, &mut seen).await;
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
    let written = write(&disk, &with_catalogue(&disk, dir.path())).await;
    let all = THREADS.iter().cloned().collect();
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
        let (what, places) = (what.clone(), vec![String::new()]);
        let mut reader =
            Reader { store: &store, what, hit: &all, places, is_told: false, is_found, corrupt: 0 };
        reader.all(&written.view).await;
        let what = reader.what;
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
