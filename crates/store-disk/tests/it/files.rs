//! What a store makes of its files.

use crate::harness::{open, options};
use rusqlite::Connection;
use std::fs;
use tempfile::TempDir;
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunStatus};
use threadline_log::store::{Append, OpenRun, RunsSeen};
use threadline_log::thread::{MetadataChange, ThreadQuery};
use threadline_log::{
    Epoch, Error, Incarnation, NewRecord, RunId, RunNo, Scope, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_store_disk::{DiskStore, doctor};

fn thread(name: &str) -> ThreadKey {
    let owner = |name| Owner::new(name).expect("a name");
    ThreadKey::new(Scope { app: owner("app"), user: owner("user") }, ThreadId::new(name).expect("a name"))
}

async fn open_run(store: &DiskStore, name: &str) {
    let open = OpenRun {
        thread: thread(name),
        incarnation: Incarnation(1),
        metadata: Default::default(),
        seen: RunsSeen::default(),
        id: RunId::new("r").expect("a name"),
        parent: None,
        spawned_by: None,
        base_state: BaseState::Branch,
        request: "{}".into(),
        request_digest: "digest".to_owned(),
        records: vec![NewRecord::made("start")],
        key: None,
        expected_tail: None,
        end: None,
        lease_until: Timestamp(1),
        time: Timestamp(1),
    };
    store.open_run(open).await.expect("opened");
}

fn appending(name: &str, record: NewRecord) -> Append {
    Append {
        thread: thread(name),
        incarnation: None,
        run: RunNo(0),
        epoch: Epoch(1),
        records: vec![record],
        key: None,
        expected_tail: None,
        end: None,
        time: Timestamp(1),
    }
}

async fn append(store: &DiskStore, name: &str, text: &str) {
    store.append(appending(name, NewRecord::event(text.to_owned()))).await.expect("appended");
}

async fn reject(store: &DiskStore, name: &str) {
    store.append(appending(name, NewRecord::rejected("late"))).await.expect("appended");
}

async fn end(store: &DiskStore, name: &str) {
    let end = RunEnd {
        status: RunStatus::Finished,
        outcome: None,
        error_code: None,
        usage: None,
        interrupts: Vec::new(),
    };
    let last = appending(name, NewRecord::event("text ".repeat(400)));
    store.append(Append { end: Some(end.into()), ..last }).await.expect("appended");
}

async fn texts(store: &DiskStore, name: &str) -> Vec<String> {
    let page = store.read(&thread(name), 0..u64::MAX, None, usize::MAX).await.expect("read");
    page.records.iter().map(|record| String::from_utf8_lossy(&record.bytes).into_owned()).collect()
}

#[tokio::test]
async fn a_store_is_open_once() {
    let dir = TempDir::new().expect("a directory");
    let (store, report) = open(dir.path());
    assert!(report.is_new);
    let again = DiskStore::open(&options(dir.path())).expect_err("it is open");
    assert_eq!(again.to_string(), "the store is open in another process");
    store.close().await;
    assert!(!open(dir.path()).1.is_new);
}

#[tokio::test]
async fn a_store_of_a_newer_format_is_refused() {
    let dir = TempDir::new().expect("a directory");
    drop(open(dir.path()));
    let json = r#"{"format":3,"other":"things"}"#;
    let line = format!("{json} {:08x}\n", crc32c::crc32c(json.as_bytes()));
    fs::write(dir.path().join("store"), line).expect("written");
    let refused = DiskStore::open(&options(dir.path())).expect_err("it is newer");
    let expected = "the store is of a newer format; a newer threadline can open it. format=3, known=2";
    assert_eq!(refused.to_string(), expected);
    fs::write(dir.path().join("store"), "nonsense").expect("written");
    let refused = DiskStore::open(&options(dir.path())).expect_err("it is damaged");
    assert_eq!(refused.to_string(), "the store file is damaged");
}

#[tokio::test]
async fn a_catalogue_that_is_lost_or_broken_is_made_anew() {
    let dir = TempDir::new().expect("a directory");
    let (store, _) = open(dir.path());
    open_run(&store, "a").await;
    append(&store, "a", "one").await;
    end(&store, "a").await;
    store.tidy().await.expect("tidied");
    reject(&store, "a").await;
    store.close().await;
    drop(store);
    let path = dir.path().join("catalogue.sqlite");
    let whole = fs::read(&path).expect("a catalogue");
    let (_, report) = open(dir.path());
    assert_eq!(report.rebuilt, None);
    for broken in [Vec::new(), b"nonsense".repeat(200), whole[..whole.len() / 2].to_vec()] {
        fs::write(&path, broken).expect("written");
        let (store, report) = open(dir.path());
        assert!(report.rebuilt.is_some());
        assert_eq!(texts(&store, "a").await.len(), 4);
        let listed =
            store.threads(&ThreadQuery { limit: 9, ..ThreadQuery::default() }).await.expect("a list");
        assert_eq!(listed.len(), 1);
    }
}

#[tokio::test]
async fn a_catalogue_that_says_something_else_than_the_log_is_found() {
    let dir = TempDir::new().expect("a directory");
    let (store, _) = open(dir.path());
    open_run(&store, "a").await;
    store.close().await;
    drop(store);
    let checked = doctor::check(&options(dir.path())).expect("checked");
    assert!(checked.severity() <= Some(doctor::Severity::Note), "{checked:?}");
    let path = dir.path().join("catalogue.sqlite");
    let spoils = [
        "delete from runs",
        "update threads set body = x'7b7d'",
        "delete from threads",
        "insert into keys values (0, 0, 'k', 0, 1, 1)",
        "insert into words (rowid, text) values (-1, 'word')",
    ];
    for spoil in spoils {
        let catalogue = Connection::open(&path).expect("a catalogue");
        catalogue.execute(spoil, []).expect("spoiled");
        drop(catalogue);
        let checked = doctor::check(&options(dir.path()));
        let found = checked.as_ref().map(doctor::Report::severity);
        assert!(!matches!(found, Ok(None | Some(doctor::Severity::Note))), "{spoil}: {checked:?}");
        doctor::rebuild(&options(dir.path())).expect("made anew");
        let checked = doctor::check(&options(dir.path())).expect("checked");
        assert!(checked.severity() <= Some(doctor::Severity::Note), "{checked:?}");
    }
    assert_eq!(texts(&open(dir.path()).0, "a").await, ["start"]);
}

#[tokio::test]
async fn a_damaged_block_hurts_its_readers_only() {
    let dir = TempDir::new().expect("a directory");
    let (store, _) = open(dir.path());
    for name in ["a", "b"] {
        open_run(&store, name).await;
        end(&store, name).await;
    }
    store.tidy().await.expect("tidied");
    reject(&store, "a").await;
    store.close().await;
    drop(store);
    // The last block is that of the records of `b`.
    let file = fs::read_dir(dir.path().join("history"))
        .expect("files")
        .next()
        .expect("a file")
        .expect("a file")
        .path();
    let mut bytes = fs::read(&file).expect("bytes");
    let last = bytes.windows(4).rposition(|window| window == b"TLBK").expect("a block");
    // Its checksum.
    bytes[last + 8] ^= 1;
    fs::write(&file, bytes).expect("written");
    let (store, _) = open(dir.path());
    assert_eq!(texts(&store, "a").await.len(), 3);
    let error = store.read(&thread("b"), 0..9, None, 9).await.expect_err("it is damaged");
    let Error::Corrupt { place, what } = error else { panic!("{error}") };
    assert!(place.starts_with("history/hist-") && place.ends_with("thread=1, offset=0"), "{place}");
    assert!(what.contains("checksum"), "{what}");
    reject(&store, "b").await;
    assert_eq!(store.read(&thread("b"), 2..9, None, 9).await.expect("read").records.len(), 1);
}

#[tokio::test]
async fn runs_of_a_process_that_is_gone_expire_with_their_leases() {
    let dir = TempDir::new().expect("a directory");
    let (store, _) = open(dir.path());
    open_run(&store, "a").await;
    assert_eq!(store.expired(Timestamp(0)).await.expect("a list"), []);
    drop(store);
    let (store, _) = open(dir.path());
    assert_eq!(store.expired(Timestamp(0)).await.expect("a list"), []);
    assert_eq!(store.expired(Timestamp(1)).await.expect("a list"), [(thread("a"), RunNo(0))]);
}

#[tokio::test]
async fn no_file_is_removed_because_the_catalogue_says_so() {
    let dir = TempDir::new().expect("a directory");
    let (store, _) = open(dir.path());
    for name in ["a", "b"] {
        open_run(&store, name).await;
        end(&store, name).await;
        store.tidy().await.expect("tidied");
    }
    store.close().await;
    drop(store);
    let catalogue = Connection::open(dir.path().join("catalogue.sqlite")).expect("a catalogue");
    assert_eq!(
        catalogue.execute("update files set replaces = '1' where number = 2", []).expect("spoiled"),
        1
    );
    drop(catalogue);
    let (store, _) = open(dir.path());
    for name in ["a", "b"] {
        assert_eq!(texts(&store, name).await.len(), 2);
    }
}

#[tokio::test]
async fn words_of_a_deleted_thread_are_gone_from_the_catalogue() {
    let dir = TempDir::new().expect("a directory");
    let (store, _) = open(dir.path());
    for (name, word) in [("a", "marzipanschwein"), ("b", "quittenbrot")] {
        open_run(&store, name).await;
        let named = MetadataChange { name: Some(word.to_owned()), ..MetadataChange::default() };
        store.describe(&thread(name), named, Timestamp(1)).await.expect("named");
        end(&store, name).await;
    }
    let listed = store.threads(&ThreadQuery { limit: 9, ..ThreadQuery::default() }).await.expect("a list");
    assert_eq!(listed.len(), 2);
    let found = |word: &str| {
        let files = ["catalogue.sqlite", "catalogue.sqlite-wal"].map(|name| dir.path().join(name));
        let bytes =
            files.into_iter().flat_map(|file| fs::read(file).unwrap_or_default()).collect::<Vec<u8>>();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    };
    // What words begin with may be said once for several.
    assert!(found("zipanschwein") && found("ttenbrot"));
    store.delete(&thread("a"), None, Timestamp(2)).await.expect("deleted");
    store.tidy().await.expect("tidied");
    assert!(!found("zipanschwein") && found("ttenbrot"));
    let query = ThreadQuery { limit: 9, words: Some("Quittenbrot".to_owned()), ..ThreadQuery::default() };
    assert_eq!(store.threads(&query).await.expect("a list").len(), 1);
}
