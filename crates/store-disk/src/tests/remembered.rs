//! What the catalogue still knows when the log has lost it is said again when a store is mended.

use super::script::{Step, appending, run, thread};
use super::sim::with_catalogue;
use crate::catalogue::{Catalogue, Changes};
use crate::doctor::{self, Report, Severity};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use std::fs;
use tempfile::TempDir;
use threadline_log::store::Append;
use threadline_log::thread::ThreadQuery;
use threadline_log::{AppendKey, Error, RunNo, Store, Timestamp};

/// A store on a disk, with a catalogue in a file.
pub(super) struct Made {
    pub(super) disk: SimDisk,
    pub(super) dir: TempDir,
}

impl Made {
    pub(super) async fn of(steps: &[Step]) -> Self {
        let made = Self { disk: SimDisk::new(), dir: TempDir::new().unwrap() };
        made.go_on(steps, 0).await;
        made
    }

    pub(super) async fn go_on(&self, steps: &[Step], number: usize) {
        let store = self.open();
        for (number, step) in (number..).zip(steps) {
            run(&store, number, *step).await.unwrap();
        }
        store.close().await;
    }

    /// The same once more.
    pub(super) fn fork(&self) -> Self {
        let dir = TempDir::new().unwrap();
        fs::copy(self.dir.path().join(CATALOGUE), dir.path().join(CATALOGUE)).unwrap();
        Self { disk: self.disk.fork(), dir }
    }

    /// Segments wait for tidying, so that a file has much.
    pub(super) fn options(&self) -> DiskOptions {
        DiskOptions { segments_waiting_max: 99, ..with_catalogue(&self.disk, self.dir.path()) }
    }

    pub(super) fn open(&self) -> DiskStore {
        DiskStore::open(&self.options()).unwrap().0
    }

    /// Flips a bit of the last place where something is written in these files.
    pub(super) fn flip(&self, files: &str, what: &str) {
        let names = self.disk.list().unwrap().into_iter().rev().filter(|name| name.starts_with(files));
        for name in names.filter(|name| !name.ends_with(".idx")) {
            let bytes = self.disk.bytes(&name);
            if let Some(at) = bytes.windows(what.len()).rposition(|window| window == what.as_bytes()) {
                return self.disk.flip_bit(&name, at * 8);
            }
        }
        panic!("{what} is nowhere");
    }

    /// Mends it; says what was said again.
    pub(super) fn repair(&self) -> (Report, Vec<String>) {
        let report = doctor::repair(&self.options()).unwrap();
        let again = report.findings.iter().filter(|finding| finding.what.ends_with("again"));
        let again = again.map(|finding| finding.place.clone()).collect();
        (report, again)
    }
}

async fn listed(store: &DiskStore) -> Vec<String> {
    let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
    store.threads(&query).await.unwrap().iter().map(|info| info.key.thread.to_string()).collect()
}

#[tokio::test]
async fn p5_offsets_of_a_last_batch_that_is_lost_are_not_given_again() {
    let made = Made::of(&[Step::Open("a", "a0"), Step::Append("a", 0, 3)]).await;
    let before = made.open().thread(&thread("a")).await.unwrap();
    made.flip("log/", "{\"n\":0,\"of\":\"app/user/a\"");
    let (report, again) = made.repair();
    let lost: Vec<_> = report.lost.iter().map(|lost| (lost.thread.clone(), lost.offsets.clone())).collect();
    assert_eq!((lost, again.len()), (vec![(thread("a"), 1..4)], 1), "{report:?}");
    for _ in 0..2 {
        let store = made.open();
        assert_eq!(store.thread(&thread("a")).await.unwrap(), before);
        assert_eq!(store.runs(&thread("a")).await.unwrap()[0].offsets, 0..4);
        let read = store.read(&thread("a"), 0..9, None, usize::MAX).await;
        assert!(matches!(read, Err(Error::Corrupt { .. })), "{read:?}");
        store.close().await;
        drop(store);
        // The log says it now.
        fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
    }
    assert_eq!(doctor::check(&made.options()).unwrap().lost.len(), 1);
    assert_eq!(made.open().append(appending("a", 0, 1)).await.unwrap().first, 4);
}

#[tokio::test]
async fn facts_that_are_lost_are_said_again() {
    let steps = [
        Step::Open("a", "a0"),
        Step::Keyed("a", 0, "k"),
        Step::Name("a", "first name"),
        Step::End("a", 0),
        Step::Trim("a", 2),
        Step::Name("a", "last name"),
        Step::Open("a", "a1"),
        Step::Append("a", 1, 2),
        Step::Open("b", "b0"),
    ];
    let lost =
        ["\"id\":\"a1\"", "\"keyed\"", "\"name\":\"last name\"", "\"ended\"", "\"trimmed\"", "\"id\":\"a0\""];
    for lost in lost {
        let made = Made::of(&steps).await;
        let store = made.open();
        let (info, runs) =
            (store.thread(&thread("a")).await.unwrap(), store.runs(&thread("a")).await.unwrap());
        drop(store);
        made.flip("log/", lost);
        let (report, again) = made.repair();
        assert_eq!(again, ["thread=app/user/a, number=0"], "{lost}: {report:?}");
        assert_eq!(report.lost, [], "{lost}");
        fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
        let store = made.open();
        assert_eq!(store.thread(&thread("a")).await.unwrap(), info, "{lost}");
        assert_eq!(store.runs(&thread("a")).await.unwrap(), runs, "{lost}");
        let key = Some(AppendKey::new("k").unwrap());
        let again = store.append(Append { key, ..appending("a", 0, 2) }).await.unwrap();
        assert!(again.repeated, "{lost}: {again:?}");
        store.close().await;
        drop(store);
        let report = doctor::check(&made.options()).unwrap();
        assert!(report.severity() <= Some(Severity::Note), "{lost}: {report:?}");
    }
}

#[tokio::test]
async fn what_came_after_the_catalogue_is_not_undone() {
    let made = Made::of(&[Step::Open("a", "a0"), Step::Name("a", "first name"), Step::End("a", 0)]).await;
    let past = fs::read(made.dir.path().join(CATALOGUE)).unwrap();
    made.go_on(&[Step::Name("a", "last name"), Step::Open("b", "b0")], 5).await;
    fs::write(made.dir.path().join(CATALOGUE), past).unwrap();
    made.flip("log/", "\"ended\"");
    let (report, again) = made.repair();
    assert_eq!(again, ["thread=app/user/a, number=0"], "{report:?}");
    let store = made.open();
    let info = store.thread(&thread("a")).await.unwrap();
    assert_eq!(info.metadata.name.as_deref(), Some("last name"));
    assert!(!store.runs(&thread("a")).await.unwrap()[0].is_running());
    assert_eq!(listed(&store).await, ["b", "a"]);
}

#[tokio::test]
async fn facts_that_history_has_lost_are_said_again() {
    let begin = [Step::Open("a", "a0"), Step::Tidy];
    let end = [Step::Tidy, Step::Name("a", "in the journal")];
    let short = [&begin[..], &[Step::Append("a", 0, 2), Step::End("a", 0)], &end].concat();
    // What is to be erased waits for no run to end.
    let long = [&begin[..], &[Step::Long("a", 0, 7_000); 12], &[Step::Trim("a", 0)], &end].concat();
    // Two blocks with facts, of which the second is not the first again.
    let mut many =
        vec![Step::Open("b", "b0"), Step::Open("a", "a0"), Step::Append("a", 0, 2), Step::End("a", 0)];
    many.push(Step::Name("a", "first name"));
    many.extend([Step::Checkpoint("a", 0); 50]);
    many.extend([Step::Name("a", "last name"), Step::Trim("a", 0), Step::Tidy]);
    // How many blocks there are and which are spoiled; if the index is too, which still knew up to where the records went.
    for (steps, blocks, spoiled, is_cut) in
        [(short, 2, 0..2, true), (long, 3, 2..3, true), (many, 5, 3..4, false)]
    {
        let made = Made::of(&steps).await;
        let (info, runs) = {
            let store = made.open();
            (store.thread(&thread("a")).await.unwrap(), store.runs(&thread("a")).await.unwrap())
        };
        let name = made.disk.list().unwrap().into_iter().rfind(|name| name.starts_with("history/")).unwrap();
        let bytes = made.disk.bytes(&name);
        let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"TLBK")).collect();
        assert_eq!(places.len(), blocks);
        places[spoiled].iter().for_each(|at| made.disk.flip_bit(&name, (at + 8) * 8));
        if is_cut {
            made.disk.truncate(&name, bytes.len() - 40);
        }
        let (report, again) = made.repair();
        assert_eq!(again.len(), 1, "{report:?}");
        // Records are packed with a checkpoint, in the block that is gone.
        assert_eq!(report.lost.len(), 1, "{report:?}");
        fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
        let store = made.open();
        assert_eq!(store.thread(&thread("a")).await.unwrap(), info);
        assert_eq!(store.runs(&thread("a")).await.unwrap(), runs);
        assert_eq!(store.trouble(), None);
    }
}

#[tokio::test]
async fn a_deleted_thread_does_not_come_back() {
    let sealed =
        [Step::Open("a", "a0"), Step::End("a", 0), Step::Tidy, Step::Delete("a"), Step::Open("b", "b0")];
    let in_journal = [Step::Open("a", "a0"), Step::End("a", 0), Step::Delete("a"), Step::Open("b", "b0")];
    for steps in [&sealed[..], &in_journal] {
        let made = Made::of(steps).await;
        made.flip("log/", "\"deleted\"");
        let (report, again) = made.repair();
        assert_eq!(again, ["thread=app/user/a, number=0"], "{report:?}");
        fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
        let store = made.open();
        assert_eq!(listed(&store).await, ["b"]);
        assert!(matches!(store.thread(&thread("a")).await, Err(Error::NoThread(_))));
        store.tidy().await.unwrap();
        assert!(!store.engine.catalogue.has_blocks_elsewhere(0, 0).unwrap(), "it is erased");
        store.close().await;
        drop(store);
        let report = doctor::check(&made.options()).unwrap();
        assert!(report.severity() <= Some(Severity::Note), "{report:?}");
    }
}

#[tokio::test]
async fn a_name_is_that_of_the_last_thread_though_a_deletion_is_lost() {
    let sealed =
        [Step::Open("a", "a0"), Step::End("a", 0), Step::Tidy, Step::Delete("a"), Step::Open("a", "a1")];
    let in_journal = [Step::Open("a", "a0"), Step::End("a", 0), Step::Delete("a"), Step::Open("a", "a1")];
    for (steps, is_remembered) in
        [(&sealed[..], true), (&sealed, false), (&in_journal, true), (&in_journal, false)]
    {
        let made = Made::of(steps).await;
        made.flip("log/", "\"deleted\"");
        if !is_remembered {
            fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
        }
        let is_last = async |store: &DiskStore| {
            assert_eq!(store.runs(&thread("a")).await.unwrap()[0].id.as_str(), "a1");
            assert_eq!(listed(store).await, ["a"]);
            assert_eq!(store.expired(Timestamp(i64::MAX)).await.unwrap(), [(thread("a"), RunNo(0))]);
        };
        is_last(&made.open()).await;
        let (report, again) = made.repair();
        assert_eq!(again, ["thread=app/user/a, number=0"], "{report:?}");
        fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
        let store = made.open();
        is_last(&store).await;
        store.tidy().await.unwrap();
        assert!(!store.engine.catalogue.has_blocks_elsewhere(0, 0).unwrap(), "it is erased");
    }
}

#[tokio::test]
async fn nothing_is_deleted_by_a_catalogue_that_may_not_know_better() {
    let steps = [Step::Open("a", "a0"), Step::End("a", 0), Step::Open("b", "b0"), Step::End("b", 0)];
    let made = Made::of(&steps).await;
    let database = rusqlite::Connection::open(made.dir.path().join(CATALOGUE)).unwrap();
    // One thread is missing there, and another cannot be read; and numbers are said to be given that were not.
    database.execute("delete from threads where no = 0", []).unwrap();
    database.execute("update threads set crc = crc + 1", []).unwrap();
    drop(database);
    made.flip("log/", "{\"n\":0,\"of\":\"app/user/b\"");
    let (report, again) = made.repair();
    assert_eq!(again, Vec::<String>::new(), "{report:?}");
    assert_eq!(listed(&made.open()).await, ["b", "a"]);

    // One of before a thread was made.
    let made = Made::of(&steps[..2]).await;
    let past = fs::read(made.dir.path().join(CATALOGUE)).unwrap();
    made.go_on(&[Step::Open("c", "c0"), Step::Name("a", "x")], 5).await;
    fs::write(made.dir.path().join(CATALOGUE), past).unwrap();
    let catalogue = Catalogue::open(&made.dir.path().join(CATALOGUE)).unwrap().unwrap();
    let (watermark, _) = catalogue.watermark().unwrap().unwrap();
    // What was on its way when it was written had its number.
    catalogue.apply(&Changes { threads: Vec::new(), watermark, threads_end: 2 }).unwrap();
    drop(catalogue);
    made.flip("log/", "\"ended\"");
    let (report, again) = made.repair();
    assert_eq!(again, ["thread=app/user/a, number=0"], "{report:?}");
    assert_eq!(listed(&made.open()).await, ["a", "c"]);
}
