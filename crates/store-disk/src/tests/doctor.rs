//! What is found in a store and how it is mended.

use super::script::{STEPS, THREADS, expected, run, thread, view};
use super::sim::{open, options, with_catalogue};
use crate::doctor::{self, Severity};
use crate::fs::Disk;
use crate::fs::sim::SimDisk;
use crate::history::{BlockAbout, BlockBuilder, BlockKind, HistoryFile, HistoryWriter, Index, file_number};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use threadline_log::names::Owner;
use threadline_log::{Error, RunNo, Scope, Store, ThreadId, ThreadKey, Timestamp};

async fn made(steps: usize) -> SimDisk {
    let disk = SimDisk::new();
    let (store, _) = open(&disk).unwrap();
    for (number, step) in STEPS[..steps].iter().enumerate() {
        run(&store, number, *step).await.unwrap();
    }
    store.close().await;
    disk
}

/// The place in the middle of a block of a thread's.
fn block_of(disk: &SimDisk, no: u64, kind: BlockKind) -> (String, usize) {
    for name in disk.list().unwrap() {
        let Some(number) = name.strip_prefix("history/").and_then(file_number) else { continue };
        let files = crate::Directories::on(disk).history;
        let index = HistoryFile::open(&*files, number).unwrap().index().unwrap();
        if let Some(block) = index.blocks.iter().find(|block| block.thread == no && block.kind == kind) {
            return (name, usize::try_from(block.at + block.bytes - 3).unwrap());
        }
    }
    panic!("no block of thread {no}");
}

#[tokio::test]
async fn a_store_that_is_well_has_no_findings() {
    for steps in 0..=STEPS.len() {
        let disk = made(steps).await;
        let report = doctor::check(&options(&disk)).unwrap();
        assert!(report.severity() <= Some(Severity::Note), "{steps}: {report:?}");
        let expected = expected(&STEPS[..steps]).await.pop().unwrap();
        assert_eq!(report.threads, expected.listed.len());
        let records =
            expected.threads.iter().flatten().map(|thread| thread.records.len() as u64).sum::<u64>();
        assert_eq!(report.records, records);
        assert_eq!(view(&open(&disk).unwrap().0).await.unwrap(), expected);
    }
}

/// Writes the history files anew, each checksum right, with another byte in the first record of a block that has a chain value. Returns the thread.
fn rewrite_a_record(disk: &SimDisk) -> u64 {
    let files = crate::Directories::on(disk).history;
    let mut rewritten = None;
    for number in files.list().unwrap().iter().filter_map(|name| file_number(name)) {
        let file = HistoryFile::open(&*files, number).unwrap();
        let index = file.index().unwrap();
        let mut writer =
            HistoryWriter::new(Arc::clone(&files), Index { blocks: Vec::new(), ..index.clone() }).unwrap();
        for entry in &index.blocks {
            let (block, bytes) = file.block_bytes(entry.site()).unwrap();
            if rewritten.is_some() || block.head.chain.is_none() {
                writer.push_copy(entry, &bytes).unwrap();
                continue;
            }
            rewritten = Some(entry.thread);
            let mut builder = BlockBuilder::new(entry.kind, entry.thread);
            for (at, batch) in block.batches().unwrap().iter().enumerate() {
                let mut body = batch.body.to_vec();
                *body.last_mut().unwrap() ^= u8::from(at == 0);
                builder.push_batch(batch.head, &body);
            }
            let about = BlockAbout { runs: entry.runs.clone(), ..BlockAbout::default() };
            writer.push(builder.chained(block.head.chain), about, None).unwrap();
        }
        writer.finish().unwrap();
    }
    rewritten.expect("a block that begins at offset 0, or after one that has a value")
}

#[tokio::test]
async fn a_record_that_was_rewritten_with_its_checksums_is_found() {
    // Everything is sealed, and nothing forgotten.
    let disk = made(12).await;
    let thread = rewrite_a_record(&disk);
    let report = doctor::check(&options(&disk)).unwrap();
    let damages = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let damages: Vec<_> = damages.collect();
    let [finding] = damages[..] else { panic!("{thread}: {damages:?}") };
    assert!(finding.what.contains("is not the one that was sealed"), "{finding:?}");
}

#[tokio::test]
async fn a_damaged_block_is_found_and_put_aside_and_all_else_stays() {
    // Two threads are sealed, `a` without records in its first run, and `c`.
    let disk = made(18).await;
    let before = expected(&STEPS[..18]).await.pop().unwrap();
    let (file, at) = block_of(&disk, 2, BlockKind::Records);
    disk.flip_bit(&file, at * 8);
    let report = doctor::check(&options(&disk)).unwrap();
    assert_eq!(report.severity(), Some(Severity::Damage));
    assert!(
        report.findings.iter().any(|finding| finding.place.contains("thread=2, offset=7..")),
        "{report:?}"
    );

    let report = doctor::repair(&options(&disk)).unwrap();
    let lost: Vec<_> = report.lost.iter().map(|lost| (lost.thread.clone(), lost.offsets.clone())).collect();
    assert_eq!(lost, [(thread("c"), 7..41)]);
    assert_eq!(report.put_aside, [file.strip_prefix("history/").unwrap()]);
    assert!(disk.list().unwrap().contains(&file.replace("history", "damaged")));

    let (store, _) = open(&disk).unwrap();
    let after = view(&store).await;
    assert!(matches!(after, Err(Error::Corrupt { .. })), "{after:?}");
    let page = store.read(&thread("a"), 0..100, None, usize::MAX).await.unwrap();
    assert_eq!(Some(page.records), before.threads[0].as_ref().map(|thread| thread.records.clone()));
    assert_eq!(store.thread(&thread("c")).await.unwrap(), before.threads[2].as_ref().unwrap().info);
    assert_eq!(store.trouble(), None);
    run(&store, 50, super::script::Step::Append("c", 0, 1)).await.unwrap();
    assert_eq!(store.read(&thread("c"), 41..50, None, usize::MAX).await.unwrap().records.len(), 1);
}

#[tokio::test]
async fn a_file_without_its_index_is_salvaged_block_by_block() {
    // Nothing was compacted yet: what is gone by right is known from the index only.
    let disk = made(12).await;
    let before = view(&open(&disk.fork()).unwrap().0).await.unwrap();
    for name in disk.list().unwrap().iter().filter(|name| name.starts_with("history/")) {
        let disk = disk.fork();
        let size = disk.bytes(name).len();
        disk.truncate(name, size - 40);
        assert!(open(&disk).is_err());
        let report = doctor::repair(&options(&disk)).unwrap();
        assert_eq!(report.lost, [], "{name}");
        let (store, _) = open(&disk).unwrap();
        for (key, thread) in THREADS.iter().zip(&before.threads) {
            let Some(thread) = thread else { continue };
            let page = store.read(key, 0..100, None, usize::MAX).await.unwrap();
            assert_eq!(page.records, thread.records, "{name}");
        }
    }
}

#[tokio::test]
async fn a_damaged_journal_is_read_only_until_it_is_mended() {
    let disk = made(10).await;
    let name = disk.list().unwrap().into_iter().rfind(|name| name.ends_with(".log")).unwrap();
    let used = disk.bytes(&name).iter().rposition(|byte| *byte != 0).unwrap();
    // In the batch of `c`, which is followed by the end of the journal.
    disk.flip_bit(&name, (used - 200) * 8);
    let (store, report) = open(&disk).unwrap();
    assert_ne!(report.damages, []);
    assert!(store.trouble().is_some());
    assert!(matches!(run(&store, 50, STEPS[0]).await, Err(Error::Unavailable(_))));
    drop(store);
    let report = doctor::repair(&options(&disk)).unwrap();
    assert_eq!(report.severity(), Some(Severity::Damage));
    let (store, report) = open(&disk).unwrap();
    assert_eq!((report.damages, store.trouble()), (Vec::new(), None));
    run(&store, 50, super::script::Step::Append("a", 0, 1)).await.unwrap_err();
    run(&store, 51, super::script::Step::Name("a", "x")).await.unwrap();
    assert_eq!(
        doctor::check(&options(&disk)).map(|_| ()).unwrap_err().to_string(),
        "the store is open in another process"
    );
}

#[tokio::test]
async fn a_damaged_segment_is_mended_though_its_sidecar_is_whole() {
    let disk = SimDisk::new();
    let options = crate::DiskOptions { segments_waiting_max: 9, ..options(&disk) };
    let (store, _) = crate::DiskStore::open(&options).unwrap();
    run(&store, 0, STEPS[0]).await.unwrap();
    // The run goes on, so that its segments wait.
    for number in 0..6 {
        run(&store, number, super::script::Step::Append("a", 0, 40)).await.unwrap();
    }
    store.engine.journal.settle();
    store.close().await;
    drop(store);
    let names = disk.list().unwrap();
    let first = names.iter().find(|name| name.ends_with(".log")).unwrap().clone();
    assert!(names.contains(&first.replace(".log", ".idx")), "{names:?}");
    disk.flip_bit(&first, 3500 * 8);
    let (store, report) = crate::DiskStore::open(&options).unwrap();
    assert_eq!((report.damages, store.trouble()), (Vec::new(), None));
    drop(store);

    let report = doctor::repair(&options).unwrap();
    assert_eq!(report.put_aside, [first.strip_prefix("log/").unwrap()], "{report:?}");
    assert_eq!(report.lost.len(), 1, "{report:?}");
    let lost = report.lost[0].offsets.clone();
    let (store, _) = crate::DiskStore::open(&options).unwrap();
    run(&store, 50, super::script::Step::Delete("a")).await.unwrap();
    store.tidy().await.unwrap();
    assert_eq!(lost.end - lost.start, 40);
}

/// A store with a catalogue that lasts.
async fn made_with(steps: usize, catalogue: &Path) -> SimDisk {
    let disk = SimDisk::new();
    let (store, _) = crate::DiskStore::open(&with_catalogue(&disk, catalogue)).unwrap();
    for (number, step) in STEPS[..steps].iter().enumerate() {
        run(&store, number, *step).await.unwrap();
        if number % 3 == 0 {
            store.engine.flush().unwrap();
        }
    }
    store.close().await;
    disk
}

#[tokio::test]
async fn a_catalogue_that_is_well_says_what_one_made_anew_says() {
    for steps in 0..=STEPS.len() {
        let dir = TempDir::new().unwrap();
        let disk = made_with(steps, dir.path()).await;
        let report = doctor::check(&with_catalogue(&disk, dir.path())).unwrap();
        assert!(report.severity() <= Some(Severity::Note), "{steps}: {report:?}");
    }
}

#[tokio::test]
async fn a_row_that_says_something_else_is_found_by_table_and_thread_and_made_anew() {
    // The thread `b` has a key; `a` is sealed, compacted and has words; `c` is sealed.
    let spoils = [
        (10, "delete from keys", "thread=app/user/b", "keys"),
        (10, "update keys set first = first + 1", "thread=app/user/b", "keys"),
        (10, "update keys set key = 'another'", "thread=app/user/b", "keys"),
        (10, "insert into keys values (0, 0, 'more', 0, 1, 1000)", "thread=app/user/a", "keys"),
        (18, "delete from blocks where thread = 2 and kind = 1", "thread=app/user/c", "blocks"),
        (18, "update blocks set at = at + 1 where thread = 2 and kind = 1", "thread=app/user/c", "blocks"),
        (18, "update blocks set tombstone = 1 - tombstone where thread = 0", "thread=app/user/a", "blocks"),
        (18, "update block_runs set first = 0 where thread = 2", "thread=app/user/c", "block_runs"),
        (18, "delete from places where thread = 0", "thread=app/user/a", "places"),
        (18, "update places set opened = 1 where thread = 2", "thread=app/user/c", "places"),
        (18, "update threads set trimmed = 1 where no = 2", "thread=app/user/c", "threads"),
        (18, "update runs set compacted = null where thread = 0", "thread=app/user/a", "runs"),
        (18, "update files set place = place + 1", "table=files", "files"),
        (18, "delete from words where rowid = -1", "thread=app/user/a", "words"),
        (18, "insert into words (rowid, text) values (-3, 'other')", "thread=app/user/c", "words"),
    ];
    for (steps, spoil, thread, table) in spoils {
        let dir = TempDir::new().unwrap();
        let disk = made_with(steps, dir.path()).await;
        let options = with_catalogue(&disk, dir.path());
        let database = rusqlite::Connection::open(dir.path().join(crate::open::CATALOGUE)).unwrap();
        assert_ne!(database.execute(spoil, []).unwrap(), 0, "{spoil}");
        drop(database);
        let report = doctor::check(&options).unwrap();
        assert_eq!(report.severity(), Some(Severity::Derived), "{spoil}: {report:?}");
        let found = report.findings.iter().filter(|finding| finding.severity == Severity::Derived);
        for finding in found {
            // What the store does not open with is made anew before it is compared, and told by the thread's number.
            let number = match thread {
                "thread=app/user/a" => "thread=0",
                "thread=app/user/b" => "thread=1",
                "thread=app/user/c" => "thread=2",
                other => other,
            };
            let said = format!("{}: {}", finding.place, finding.what);
            let is_named = said.contains(thread) || said.contains(number);
            assert!(is_named && said.contains(&format!("table={table}")), "{spoil}: {finding:?}");
        }
        doctor::rebuild(&options).unwrap();
        let report = doctor::check(&options).unwrap();
        assert!(report.severity() <= Some(Severity::Note), "{spoil}: {report:?}");
    }
}

#[tokio::test]
async fn damage_that_only_a_write_meets_is_found_and_made_anew() {
    // What opening and reading do not look at: the index of words, and a page of an index of threads.
    for spoiled in ["words", "threads_by_update"] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join(crate::open::CATALOGUE);
        let disk = made_with(0, dir.path()).await;
        let options = with_catalogue(&disk, dir.path());
        let (store, _) = crate::DiskStore::open(&options).unwrap();
        let past = dir.path().join("past");
        for (number, step) in STEPS[..8].iter().enumerate() {
            if number == 7 {
                // What is written from here on it has not taken in, as after a kill.
                store.engine.flush().unwrap();
                store.engine.catalogue.copy(&past).unwrap();
            }
            run(&store, number, *step).await.unwrap();
        }
        store.close().await;
        drop(store);
        std::fs::rename(&past, &path).unwrap();
        spoil(&path, spoiled);
        let report = doctor::check(&options).unwrap();
        assert_eq!(report.severity(), Some(Severity::Derived), "{spoiled}: {report:?}");
        assert_eq!(report.threads, 2, "all else is looked at: {report:?}");
        doctor::rebuild(&options).unwrap();
        let report = doctor::check(&options).unwrap();
        assert!(report.severity() <= Some(Severity::Note), "{spoiled}: {report:?}");
    }
}

/// Spoils the words, or the first page of an index.
fn spoil(path: &Path, what: &str) {
    let database = rusqlite::Connection::open(path).unwrap();
    if what == "words" {
        assert_ne!(database.execute("update words_data set block = x'ffff'", []).unwrap(), 0);
        return;
    }
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    let page = number(&format!("select rootpage from sqlite_master where name = '{what}'"));
    let page_bytes = number("pragma page_size");
    let mut bytes = std::fs::read(path).unwrap();
    let at = usize::try_from((page - 1) * page_bytes).unwrap();
    bytes[at..at + 100].fill(0x55);
    drop(database);
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_row_is_not_said_to_be_missing() {
    let dir = TempDir::new().unwrap();
    let disk = made_with(10, dir.path()).await;
    let database = rusqlite::Connection::open(dir.path().join(crate::open::CATALOGUE)).unwrap();
    // Nothing goes on there, so that nobody looks at it when the store is opened.
    assert_eq!(database.execute("update threads set crc = crc + 1 where no = 0", []).unwrap(), 1);
    drop(database);
    let report = doctor::check(&with_catalogue(&disk, dir.path())).unwrap();
    let found: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.place.contains("table=threads"))
        .map(|finding| finding.what.as_str())
        .collect();
    assert_eq!(found, ["the log says something else"], "{report:?}");
}

/// A store whose thread `c` has lost that it was made, and the catalogue's directory.
async fn orphaned(catalogue: &Path) -> SimDisk {
    let disk = SimDisk::new();
    let (store, _) = crate::DiskStore::open(&with_catalogue(&disk, catalogue)).unwrap();
    for (number, step) in STEPS[..18].iter().enumerate() {
        run(&store, number, *step).await.unwrap();
    }
    store.close().await;
    drop(store);
    let (file, at) = block_of(&disk, 2, BlockKind::Facts);
    disk.flip_bit(&file, at * 8);
    disk
}

#[tokio::test]
async fn a_thread_whose_making_is_lost_is_named_anew_and_never_erased() {
    let dir = TempDir::new().unwrap();
    let before = expected(&STEPS[..18]).await.pop().unwrap().threads.swap_remove(2).unwrap();
    for is_remembered in [true, false] {
        let disk = orphaned(dir.path()).await;
        if !is_remembered {
            std::fs::remove_file(dir.path().join(crate::open::CATALOGUE)).unwrap();
        }
        let options = with_catalogue(&disk, dir.path());
        let report = doctor::repair(&options).unwrap();
        let named = report.findings.iter().find(|finding| finding.what.contains("has this name now"));
        let key = if is_remembered { thread("c") } else { lost("thread-2") };
        assert_eq!(named.unwrap().place, format!("thread={key}, number=2"), "{report:?}");
        for _ in 0..2 {
            let (store, _) = crate::DiskStore::open(&options).unwrap();
            let info = store.thread(&key).await.unwrap();
            assert_eq!(info.offsets.end, before.info.offsets.end);
            // What was trimmed is known by the catalogue only.
            let page = store.read(&key, 7..50, None, usize::MAX).await.unwrap();
            assert_eq!(page.records, before.records);
            let runs = store.runs(&key).await.unwrap();
            assert_eq!(runs.len(), 1);
            assert_eq!(runs[0].id.as_str(), if is_remembered { "c0" } else { "lost-0" });
            // A stand-in can be closed as any other.
            assert!(store.expired(Timestamp(i64::MAX)).await.unwrap().contains(&(key.clone(), RunNo(0))));
            store.tidy().await.unwrap();
            store.close().await;
        }
        doctor::rebuild(&options).unwrap();
        let report = doctor::check(&options).unwrap();
        assert_eq!(report.lost.len(), usize::from(!is_remembered), "{report:?}");
        std::fs::remove_file(dir.path().join(crate::open::CATALOGUE)).unwrap();
    }
}

#[tokio::test]
async fn the_same_in_the_journal() {
    let disk = made(4).await;
    let name = disk.list().unwrap().into_iter().rfind(|name| name.ends_with(".log")).unwrap();
    let created = b"\"thread\":\"b\"";
    let at = disk.bytes(&name).windows(created.len()).position(|window| window == created).unwrap();
    disk.flip_bit(&name, at * 8);
    let report = doctor::repair(&options(&disk)).unwrap();
    assert_eq!(report.lost, [], "{report:?}");
    let (store, _) = open(&disk).unwrap();
    store.tidy().await.unwrap();
    let page = store.read(&lost("thread-1"), 0..9, None, usize::MAX).await.unwrap();
    assert_eq!(page.records.len(), 3);
    assert_eq!(store.runs(&lost("thread-1")).await.unwrap()[0].id.as_str(), "b0");
}

fn lost(name: &str) -> ThreadKey {
    let owner = Owner::new("lost").unwrap();
    ThreadKey::new(Scope { app: owner.clone(), user: owner }, ThreadId::new(name).unwrap())
}
