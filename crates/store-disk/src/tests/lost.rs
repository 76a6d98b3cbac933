//! What the catalogue knows beyond the log was lost: the doctor says so, and nobody forgets it before it is mended.

use super::remembered::Made;
use super::script::{Step, appending, thread};
use crate::catalogue::Catalogue;
use crate::doctor::{self, Report, Severity};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::history::{HistoryFile, HistoryWriter, Index, file_number};
use crate::open::CATALOGUE;
use crate::{DiskOptions, DiskStore};
use std::fs;
use std::sync::Arc;
use threadline_log::store::Append;
use threadline_log::{Error, Store};

const STEPS: &[Step] = &[Step::Open("a", "a0"), Step::Append("a", 0, 3)];

/// All files, byte for byte, and what the catalogue holds.
fn everything(made: &Made) -> (Vec<(String, Vec<u8>)>, Vec<u8>) {
    let files = made.disk.list().unwrap().into_iter().map(|name| (name.clone(), made.disk.bytes(&name)));
    (files.collect(), fs::read(made.dir.path().join(CATALOGUE)).unwrap())
}

/// Looks at it twice, which changes nothing.
fn look(made: &Made) -> Report {
    let before = everything(made);
    let report = doctor::check(&made.options()).unwrap();
    assert!(everything(made) == before, "{report:?}");
    assert_eq!(doctor::check(&made.options()).unwrap(), report);
    report
}

fn copy_catalogue(store: &DiskStore, to: &Made) {
    let path = to.dir.path().join(CATALOGUE);
    store.engine.catalogue.copy(&path).unwrap();
    // A copy is a database of another kind until it is opened.
    Catalogue::open(&path).unwrap().unwrap();
}

/// That damage was found at this place, once.
#[track_caller]
fn assert_damage(report: &Report, place: &str, what: &str) {
    assert_eq!(report.severity(), Some(Severity::Damage), "{report:?}");
    let damages = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let found = damages.filter(|finding| finding.place == place && finding.what == what);
    assert_eq!(found.count(), 1, "{place}: {what}: {report:?}");
}

const LOST: &str = "the catalogue knows of these, and the log has lost them";
const MISSING: &str = "the catalogue has this file, and it is missing";

fn history(disk: &SimDisk) -> String {
    disk.list().unwrap().into_iter().find(|name| name.starts_with("history/")).unwrap()
}

/// Mends it, and writes behind what was lost.
async fn assert_mended(made: &Made, lost: std::ops::Range<u64>) {
    let (report, again) = made.repair();
    assert_eq!(again, ["thread=app/user/a, number=0"], "{report:?}");
    let found: Vec<_> = report.lost.iter().map(|lost| (lost.thread.clone(), lost.offsets.clone())).collect();
    assert_eq!(found, [(thread("a"), lost.clone())], "{report:?}");
    let store = made.open();
    assert_eq!(store.trouble(), None);
    assert_eq!(store.append(appending("a", 0, 1)).await.unwrap().first, lost.end);
}

#[tokio::test]
async fn p5_a_catalogue_is_not_made_anew_where_it_may_know_what_is_lost() {
    let made = Made::of(STEPS).await;
    made.flip("log/", "{\"n\":0,\"of\":\"app/user/a\"");
    let before = everything(&made);
    let report = doctor::rebuild(&made.options()).unwrap();
    assert_eq!((report.severity(), report.is_rebuilt), (Some(Severity::Damage), false), "{report:?}");
    assert!(everything(&made) == before, "{report:?}");
    assert_mended(&made, 1..4).await;
    // In what is sealed, where the store cannot be opened without the catalogue.
    let made = Made::of(&[STEPS, &[Step::End("a", 0), Step::Tidy]].concat()).await;
    let name = history(&made.disk);
    let at = made.disk.bytes(&name).windows(4).position(|window| window == b"TLBK").unwrap();
    made.disk.flip_bit(&name, (at + 20) * 8);
    let before = everything(&made);
    let report = doctor::rebuild(&made.options()).unwrap();
    assert_eq!((report.severity(), report.is_rebuilt), (Some(Severity::Damage), false), "{report:?}");
    assert!(everything(&made) == before, "{report:?}");
    let (report, _) = made.repair();
    assert!(report.findings.iter().any(|found| found.place == "thread=app/user/a, number=0"), "{report:?}");
    assert_eq!(made.open().thread(&thread("a")).await.unwrap().offsets, 0..5);
}

#[tokio::test]
async fn p5_a_last_batch_that_is_taken_for_a_torn_one_is_missed() {
    let made = Made::of(STEPS).await;
    let store = made.open();
    store.append(Append { expected_tail: Some(4), ..appending("a", 0, 2) }).await.unwrap();
    store.engine.flush().unwrap();
    store.engine.catalogue.sync().unwrap();
    // As a kill leaves it: nothing follows it.
    let killed = Made { disk: made.disk.fork(), dir: tempfile::TempDir::new().unwrap() };
    copy_catalogue(&store, &killed);
    killed.flip("log/", "{\"n\":0,\"of\":\"app/user/a\"");
    assert_damage(&look(&killed), "thread=app/user/a, number=0, offset=4..6", LOST);
    assert!(!doctor::rebuild(&killed.options()).unwrap().is_rebuilt);
    assert_mended(&killed, 4..6).await;
}

#[tokio::test]
async fn p4_a_history_file_that_is_missing_is_missed() {
    let sealed = Made::of(&[STEPS, &[Step::End("a", 0), Step::Tidy, Step::Open("b", "b0")]].concat()).await;
    let name = history(&sealed.disk);
    sealed.disk.remove(&name).unwrap();
    let report = look(&sealed);
    assert_damage(&report, &name, MISSING);
    assert_damage(&report, "thread=app/user/a, number=0, offset=0..5", LOST);
    assert!(!doctor::rebuild(&sealed.options()).unwrap().is_rebuilt);
    for _ in 0..2 {
        // It is told, whoever reads is told, and nothing is written.
        let (store, report) = DiskStore::open(&sealed.options()).unwrap();
        assert_eq!((report.missing, report.rebuilt), (vec![name.clone()], None));
        assert!(store.trouble().unwrap().contains(&name));
        let read = store.read(&thread("a"), 0..9, None, usize::MAX).await;
        assert!(matches!(read, Err(Error::Corrupt { .. })), "{read:?}");
        assert_eq!(store.read(&thread("b"), 0..9, None, usize::MAX).await.unwrap().records.len(), 1);
        let refused = store.append(appending("b", 0, 1)).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
        store.close().await;
    }
    let (report, again) = sealed.repair();
    assert_eq!(again, ["thread=app/user/a, number=0"], "{report:?}");
    assert_eq!((&report.lost[0].thread, report.lost[0].offsets.clone()), (&thread("a"), 0..5));
    let store = sealed.open();
    assert_eq!((store.trouble(), store.ailments()), (None, Vec::new()));
    assert_eq!(store.thread(&thread("a")).await.unwrap().offsets, 0..5);
    // No file has the number of one that is missing.
    assert!(!sealed.disk.list().unwrap().contains(&name));
}

#[tokio::test]
async fn p4_what_is_left_of_a_missing_file_is_kept() {
    let steps =
        [Step::Open("a", "a0"), Step::Long("a", 0, 6_000), Step::Long("a", 0, 6_000), Step::End("a", 0)];
    let made = Made::of(&steps).await;
    let before = made.disk.fork();
    made.go_on(&[Step::Tidy, Step::Open("b", "b0")], 9).await;
    made.disk.remove(&history(&made.disk)).unwrap();
    // A kill had come before the last of its segments was released.
    let segments = before.list().unwrap().into_iter().filter(|name| name.ends_with(".log"));
    let segments: Vec<String> = segments.collect();
    let last = segments.last().unwrap();
    assert!(segments.len() > 1 && !made.disk.list().unwrap().contains(last), "{segments:?}");
    made.disk.create(last).unwrap();
    made.disk.set_bytes(last, before.bytes(last));
    for _ in 0..2 {
        let options = DiskOptions { segments_waiting_max: 0, ..made.options() };
        let (store, report) = DiskStore::open(&options).unwrap();
        assert_eq!((report.missing.len(), report.damages), (1, Vec::new()));
        let active = store.engine.journal.rotate().unwrap();
        store.engine.seal(active, true).unwrap();
        store.close().await;
        assert!(made.disk.list().unwrap().contains(last));
    }
    let (report, _) = made.repair();
    assert_eq!((report.lost.len(), report.lost[0].offsets.clone()), (1, 0..2), "{report:?}");
}

#[tokio::test]
async fn p4_what_is_missing_is_missed_though_the_catalogue_has_to_be_made_anew() {
    let made = Made::of(&[STEPS, &[Step::End("a", 0), Step::Tidy, Step::Open("b", "b0")]].concat()).await;
    let past = fs::read(made.dir.path().join(CATALOGUE)).unwrap();
    made.go_on(&[Step::End("b", 0), Step::Tidy], 9).await;
    // It is older than the history now.
    fs::write(made.dir.path().join(CATALOGUE), past).unwrap();
    let name = history(&made.disk);
    made.disk.remove(&name).unwrap();
    for _ in 0..2 {
        let (store, report) = DiskStore::open(&made.options()).unwrap();
        assert_eq!((report.missing, report.rebuilt.is_some()), (vec![name.clone()], true));
        assert!(store.trouble().unwrap().contains(&name));
        store.close().await;
    }
}

#[tokio::test]
async fn p4_a_log_that_is_missing_is_missed() {
    let sealed = [STEPS, &[Step::End("a", 0), Step::Tidy, Step::Open("a", "a1")]].concat();
    let journaled = [STEPS, &[Step::End("a", 0), Step::Open("a", "a1")]].concat();
    let cases = [
        (&journaled, "log/", ", offset=0..6"),
        (&sealed, "history/", ", offset=0..5"),
        (&sealed, "", ", offset=0..6"),
    ];
    for (steps, lost, offsets) in cases {
        let made = Made::of(steps).await;
        for name in made.disk.list().unwrap() {
            if name.contains('/') && name.starts_with(lost) {
                made.disk.remove(&name).unwrap();
            }
        }
        let place = format!("thread=app/user/a, number=0{offsets}");
        let report = look(&made);
        let damaged =
            |finding: &doctor::Finding| finding.severity == Severity::Damage && finding.place == place;
        let found = report.findings.iter().any(damaged);
        assert!(found, "{lost}: {report:?}");
        let (report, again) = made.repair();
        assert_eq!(again.len(), 1, "{lost}: {report:?}");
        assert_ne!(report.lost, [], "{lost}");
        let store = made.open();
        assert_eq!(store.append(appending("a", 1, 1)).await.unwrap().first, 6, "{lost}");
    }
}

#[tokio::test]
async fn a_checkpoint_that_is_lost_is_missed() {
    let made = Made::of(&[STEPS, &[Step::End("a", 0), Step::Checkpoint("a", 0)]].concat()).await;
    made.flip("log/", "\"checkpointed\"");
    let what = "the catalogue knows of a checkpoint, and the log has lost it";
    assert_damage(&look(&made), "thread=app/user/a, run=0", what);
    let (report, _) = made.repair();
    assert_damage(&report, "thread=app/user/a, run=0", what);
    let report = doctor::check(&made.options()).unwrap();
    assert!(report.severity() <= Some(Severity::Note), "{report:?}");
}

#[tokio::test]
async fn a_file_that_was_discarded_or_replaced_is_not_missed() {
    // The catalogue learned of a file without saying so, and that was removed again: the segments are there.
    let made = Made::of(&[STEPS, &[Step::End("a", 0)]].concat()).await;
    let before = made.disk.fork();
    made.go_on(&[Step::Tidy], 5).await;
    let discarded = Made { disk: before, dir: made.dir };
    assert!(look(&discarded).severity() <= Some(Severity::Note));
    let (store, report) = DiskStore::open(&discarded.options()).unwrap();
    assert_eq!((report.missing, report.rebuilt.is_some(), store.trouble()), (Vec::new(), true, None));
    assert_eq!(store.read(&thread("a"), 0..9, None, usize::MAX).await.unwrap().records.len(), 5);
    drop(store);

    // A repair was interrupted after it had put another file in the place of one.
    let made = Made::of(&[STEPS, &[Step::End("a", 0), Step::Tidy]].concat()).await;
    let files = made.options().directories.unwrap().history;
    let number = files.list().unwrap().iter().find_map(|name| file_number(name)).unwrap();
    let file = HistoryFile::open(&*files, number).unwrap();
    let index = file.index().unwrap();
    let next = Index { number: number + 1, replaces: vec![number], blocks: Vec::new(), ..index.clone() };
    let mut writer = HistoryWriter::new(Arc::clone(&files), next).unwrap();
    for entry in &index.blocks {
        let (_, bytes) = file.block_bytes(entry.site()).unwrap();
        writer.push_copy(entry, &bytes).unwrap();
    }
    writer.finish().unwrap();
    made.disk.remove(&history(&made.disk)).unwrap();
    assert!(look(&made).severity() <= Some(Severity::Note));
    let (store, report) = DiskStore::open(&made.options()).unwrap();
    assert_eq!((report.missing, store.trouble()), (Vec::new(), None));
    assert_eq!(store.read(&thread("a"), 0..9, None, usize::MAX).await.unwrap().records.len(), 5);
}

#[tokio::test]
async fn a_store_that_was_killed_has_lost_nothing() {
    let made = Made { disk: SimDisk::new(), dir: tempfile::TempDir::new().unwrap() };
    let options = DiskOptions { segments_waiting_max: 1, ..made.options() };
    let (store, _) = DiskStore::open(&options).unwrap();
    for (number, step) in super::script::STEPS.iter().enumerate() {
        super::script::run(&store, number, *step).await.unwrap();
        if number % 4 == 0 {
            store.engine.flush().unwrap();
        }
        let killed = Made { disk: made.disk.fork(), dir: tempfile::TempDir::new().unwrap() };
        copy_catalogue(&store, &killed);
        let report = look(&killed);
        assert!(report.severity() <= Some(Severity::Note), "{number}: {report:?}");
    }
}
