//! Stores of every format that was ever released open for ever. The fixtures are never made anew.

use crate::harness::options;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunLineage, RunStatus};
use threadline_log::store::{Append, OpenRun, RunsSeen};
use threadline_log::thread::{MetadataChange, ThreadQuery};
use threadline_log::{
    AppendKey, At, Batch, Checkpoint, Engine, Epoch, HistoryMode, Incarnation, NewRecord, Options, RunId,
    RunNo, Scope, StartRun, Started, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_store_disk::{DiskOptions, DiskStore, doctor};
use threadline_testkit::engine::{CountingIds, ManualClock};

const DIRECTORIES: [&str; 3] = ["", "log", "history"];

/// The first, one whose blocks are of version 2, and one whose batches share beginnings and whose blocks have columns. The last was made by
/// an engine: its runs are chained, and of its history files one takes the place of another, and one says that a thread was deleted.
const FIXTURES: [&str; 4] = ["format-1", "format-1-blocks-2", "format-2", "format-2-chained"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn copy(from: &Path, to: &Path, is_wanted: impl Fn(&str) -> bool) {
    for directory in DIRECTORIES {
        fs::create_dir_all(to.join(directory)).expect("a directory");
        for entry in fs::read_dir(from.join(directory)).expect("a directory") {
            let entry = entry.expect("a file");
            let name = entry.file_name().into_string().expect("a name");
            if entry.file_type().expect("a type").is_file() && is_wanted(&name) {
                fs::copy(entry.path(), to.join(directory).join(name)).expect("copied");
            }
        }
    }
}

fn thread(name: &str) -> ThreadKey {
    let owner = |name| Owner::new(name).expect("a name");
    ThreadKey::new(Scope { app: owner("app"), user: owner("user") }, ThreadId::new(name).expect("a name"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All that can be seen of a store.
async fn seen(store: &dyn Store) -> Value {
    let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
    let mut threads = Vec::new();
    for info in store.threads(&query).await.expect("a list") {
        let mut runs = Vec::new();
        for run in store.runs(&info.key).await.expect("runs") {
            let checkpoint = store.checkpoint(&info.key, run.no).await.expect("a checkpoint or none");
            runs.push(json!({
                "id": run.id, "parent": run.parent, "spawned_by": run.spawned_by, "base_state": run.base_state,
                "request": text(&store.request(&info.key, run.no).await.expect("a request")),
                "request_digest": run.request_digest, "offsets": [run.offsets.start, run.offsets.end],
                "records": run.records, "started": run.started, "ended": run.ended, "end": run.end,
                "epoch": run.epoch, "lineage": run.lineage, "compacted": run.compacted, "ended_at": run.ended_at,
                "checkpoint": checkpoint.map(|checkpoint| json!({
                    "version": checkpoint.version, "delta": text(&checkpoint.delta),
                    "full": checkpoint.full.map(|full| text(&full)),
                    "stands_alone": checkpoint.stands_alone, "chained": checkpoint.chained,
                })),
            }));
        }
        let page = store.read(&info.key, 0..u64::MAX, None, usize::MAX).await.expect("records");
        let records = page.records.iter().map(|record| {
            json!([record.offset, record.time, record.run, record.kind.name(), text(&record.bytes)])
        });
        threads.push(json!({
            "key": info.key, "incarnation": info.incarnation, "offsets": [info.offsets.start, info.offsets.end],
            "metadata": info.metadata, "created": info.created, "updated": info.updated, "bytes": info.bytes,
            "runs": runs, "records": records.collect::<Vec<_>>(),
        }));
    }
    json!({ "threads": threads })
}

/// The same without what was not looked at when the first fixtures were made.
fn as_it_was(mut seen: Value, expected: &Value) -> Value {
    let forget = |seen: &mut Value, expected: &Value, name: &str| {
        if let Some(members) = seen.as_object_mut().filter(|_| expected.get(name).is_none()) {
            members.remove(name);
        }
    };
    for thread in 0..seen["threads"].as_array().map_or(0, Vec::len) {
        for run in 0..seen["threads"][thread]["runs"].as_array().map_or(0, Vec::len) {
            let path = format!("/threads/{thread}/runs/{run}");
            let (Some(run), Some(known)) = (seen.pointer_mut(&path), expected.pointer(&path)) else {
                continue;
            };
            forget(run, known, "ended_at");
            forget(&mut run["checkpoint"], &known["checkpoint"], "stands_alone");
            forget(&mut run["checkpoint"], &known["checkpoint"], "chained");
        }
    }
    seen
}

#[tokio::test]
async fn p12_stores_of_every_format_open() {
    for name in FIXTURES {
        check_fixture(&fixture(name)).await;
    }
}

/// What is looked at is in what is expected: nothing else would notice if it were not.
#[test]
fn the_newest_fixture_has_what_is_written_today() {
    let fixture = fixture(FIXTURES[FIXTURES.len() - 1]);
    let expected = fs::read_to_string(fixture.join("expected.json")).expect("a file");
    for said in ["\"ended_at\": 1", "\"stands_alone\": true", "\"stands_alone\": false", "\"value\": \""] {
        assert!(expected.contains(said), "{said}");
    }
    let mut files: Vec<Vec<u8>> = Vec::new();
    for entry in fs::read_dir(fixture.join("history")).expect("a directory") {
        files.push(fs::read(entry.expect("a file").path()).expect("bytes"));
    }
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let heads: Vec<(u64, u64)> =
        files.iter().map(|file| (number(&file[8..16]), number(&file[16..24]))).collect();
    assert!(
        heads.iter().any(|one| heads.iter().any(|other| one.0 < other.0 && one.1 > other.1)),
        "{heads:?}"
    );
    // The flags of blocks with records.
    let mut blocks = files.iter().flat_map(|file| file.windows(8).filter(|bytes| bytes.starts_with(b"TLBK")));
    assert!(blocks.any(|block| block[5] == 1 && block[6] & 4 != 0), "a chain value");
    let indexes = files.iter().map(|file| {
        let end = file.len() - 32;
        let at = usize::try_from(number(&file[end + 8..end + 16])).expect("few bytes");
        zstd::decode_all(&file[at..end]).expect("a frame")
    });
    let indexes: Vec<String> = indexes.map(|index| text(&index)).collect();
    for said in ["\"replaces\":[1]", "\"tombstone\":true", "\"sources\""] {
        assert!(indexes.iter().any(|index| index.contains(said)), "{said}: {indexes:?}");
    }
}

async fn check_fixture(fixture: &Path) {
    let dir = TempDir::new().expect("a directory");
    copy(fixture, dir.path(), |_| true);
    let expected: Value =
        serde_json::from_slice(&fs::read(fixture.join("expected.json")).expect("a file")).expect("JSON");
    let report = doctor::check(&options(dir.path())).expect("checked");
    assert!(report.severity() <= Some(doctor::Severity::Note), "{report:?}");
    let (store, report) = DiskStore::open(&options(dir.path())).expect("a store");
    assert_eq!(report.damages, []);
    assert_eq!(as_it_was(seen(&store).await, &expected), expected);
    let identity = fs::read_to_string(dir.path().join("store")).expect("a file");
    assert!(identity.starts_with("{\"format\":2,"), "older programs refuse it from now on: {identity}");
    store.append(appending("b", 0, "more")).await.expect("appended");
    let repeated = Append { key: Some(AppendKey::new("k").expect("a key")), ..appending("b", 0, "again") };
    assert!(store.append(repeated).await.expect("appended").repeated);
    store.tidy().await.expect("tidied");
    let after = as_it_was(seen(&store).await, &expected);
    let a = |seen: &Value| {
        seen["threads"].as_array().and_then(|all| all.iter().find(|t| t["key"]["thread"] == "a").cloned())
    };
    assert_eq!(a(&after), a(&expected));
}

fn appending(name: &str, run: u32, said: &str) -> Append {
    Append {
        thread: thread(name),
        incarnation: None,
        run: RunNo(run),
        epoch: Epoch(1),
        records: vec![NewRecord::event(format!("{{\"said\":\"{said}\"}}")), NewRecord::rejected("odd")],
        key: None,
        expected_tail: None,
        end: None,
        time: Timestamp(1_700_000_000_500),
    }
}

/// Pieces of a message, which begin alike.
fn pieces(name: &str, run: u32) -> Append {
    let piece = |n: u32| {
        let time = 1_700_000_000_000_u64 + u64::from(n * n * 7);
        let delta = format!("piece {n} \\n");
        NewRecord::event(format!(
            r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{delta}","timestamp":{time}}}"#
        ))
    };
    Append { records: (0..6).map(piece).collect(), ..appending(name, run, "") }
}

async fn open_run(store: &DiskStore, name: &str, id: &str, seen: RunsSeen) {
    let open = OpenRun {
        thread: thread(name),
        incarnation: Incarnation(77),
        metadata: MetadataChange { agent: Some("agent".to_owned()), ..MetadataChange::default() },
        seen,
        id: RunId::new(id).expect("a name"),
        parent: (seen.opened > 0).then_some(RunNo(0)),
        spawned_by: Some("somebody".to_owned()),
        base_state: BaseState::Input,
        request: format!("{{\"runId\":\"{id}\"}}").into(),
        request_digest: "0123".to_owned(),
        records: vec![NewRecord::made(format!("{{\"started\":\"{id}\"}}"))],
        key: None,
        expected_tail: None,
        end: None,
        lease_until: Timestamp(1_700_000_060_000),
        time: Timestamp(1_700_000_000_000),
    };
    store.open_run(open).await.expect("opened");
}

async fn end_run(store: &DiskStore, name: &str, run: u32) {
    let end = RunEnd {
        status: RunStatus::Interrupted,
        outcome: Some(json!({ "type": "interrupt" })),
        error_code: None,
        usage: Some(json!([1, 2])),
        interrupts: vec!["i".to_owned()],
    };
    store.append(Append { end: Some(end.into()), ..appending(name, run, "end") }).await.expect("ended");
    let checkpoint = Checkpoint {
        stands_alone: false,
        run: RunNo(run),
        version: 3,
        delta: "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"hello\"}\n".into(),
        full: Some("{\"messages\":[]}".repeat(60).into()),
        lineage: RunLineage { said: 2, hash: 3, ids: vec![4, u64::MAX] },
        chained: None,
    };
    store.put_checkpoint(&thread(name), None, checkpoint, Timestamp(1_700_000_001_000)).await.expect("kept");
}

/// How the one before the newest was made. It is there, and stays as it is.
#[tokio::test]
#[ignore = "fixtures are made once"]
async fn make_the_fixture_of_format_2() {
    let fixture = fixture(FIXTURES[2]);
    assert!(!fixture.exists(), "fixtures are never made anew");
    let dir = TempDir::new().expect("a directory");
    let options = DiskOptions { segment_bytes: 8 << 10, ..options(dir.path()) };
    let (store, _) = DiskStore::open(&options).expect("a store");
    open_run(&store, "a", "a0", RunsSeen::default()).await;
    end_run(&store, "a", 0).await;
    open_run(&store, "a", "a1", RunsSeen { opened: 1, ended: 1 }).await;
    store.append(appending("a", 1, "hello")).await.expect("appended");
    store.append(pieces("a", 1)).await.expect("appended");
    end_run(&store, "a", 1).await;
    let time = Timestamp(1_700_000_002_000);
    store.compact_run(&thread("a"), RunNo(0), time).await.expect("compacted");
    open_run(&store, "gone", "g", RunsSeen::default()).await;
    end_run(&store, "gone", 0).await;
    open_run(&store, "cut", "c", RunsSeen::default()).await;
    end_run(&store, "cut", 0).await;
    store.tidy().await.expect("tidied");
    store.delete(&thread("gone"), None, time).await.expect("deleted");
    store.trim(&thread("cut"), 1, time).await.expect("trimmed");
    open_run(&store, "b", "b0", RunsSeen::default()).await;
    let keyed = Append { key: Some(AppendKey::new("k").expect("a key")), ..appending("b", 0, "once") };
    store.append(keyed).await.expect("appended");
    store.append(pieces("b", 0)).await.expect("appended");
    let change = MetadataChange {
        name: Some("a name".to_owned()),
        archived: Some(true),
        labels: [("label".to_owned(), Some("value".to_owned()))].into(),
        ..MetadataChange::default()
    };
    store.describe(&thread("b"), change, time).await.expect("described");
    keep(&store, dir.path(), &fixture).await;
}

/// Makes a store a fixture, with what can be seen of it.
async fn keep(store: &dyn Store, dir: &Path, fixture: &Path) {
    let expected = seen(store).await;
    store.close().await;
    copy(dir, fixture, |name| name != "lock" && !name.starts_with("catalogue") && !name.ends_with(".tmp"));
    let expected = serde_json::to_string_pretty(&expected).expect("JSON");
    fs::write(fixture.join("expected.json"), expected + "\n").expect("written");
}

/// A run of an agent that says one thing, as an engine keeps it.
async fn converse(engine: &Engine, name: &str, run: &str) {
    let request = json!({"threadId": name, "runId": run, "state": {"of": run}, "tools": [], "context": [],
        "messages": [{"role": "user", "id": format!("u-{run}"), "content": "hello"}]});
    let (thread, request) = (thread(name), request.to_string().into());
    let start = StartRun { thread, request, history: HistoryMode::Client, agent: None };
    let Ok(Started::New(writer)) = engine.start_run(start).await else { panic!("no run was opened") };
    let id = format!("a-{run}");
    let events = [
        json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "says "}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": run}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
        json!({"type": "RUN_FINISHED", "threadId": name, "runId": run}),
    ];
    let records = events.iter().map(|event| NewRecord::event(event.to_string())).collect();
    let outcome = Some(json!({"type": "success"}));
    let end = RunEnd {
        status: RunStatus::Finished,
        outcome,
        error_code: None,
        usage: None,
        interrupts: Vec::new(),
    };
    let batch = Batch { records, end: Some(end), ..Batch::default() };
    engine.append(&writer, batch).await.expect("appended");
    // It folds the run, and keeps what comes of it.
    engine.snapshot(&writer.thread, At::Run(writer.run)).await.expect("folded");
}

/// How the newest was made. It is there, and stays as it is.
#[tokio::test]
#[ignore = "fixtures are made once"]
async fn make_the_newest_fixture() {
    let fixture = fixture(FIXTURES[FIXTURES.len() - 1]);
    assert!(!fixture.exists(), "fixtures are never made anew");
    let dir = TempDir::new().expect("a directory");
    let options = DiskOptions { segment_bytes: 8 << 10, segments_waiting_max: 0, ..options(dir.path()) };
    let store = Arc::new(DiskStore::open(&options).expect("a store").0);
    let (clock, ids) = (Arc::new(ManualClock::default()), Arc::new(CountingIds::default()));
    clock.advance(1_700_000_000_000);
    let engine = Engine::new(Arc::clone(&store) as _, clock, ids, Options::default());
    for (name, runs) in [("a", ["a0", "a1"]), ("cut", ["c0", "c1"]), ("gone", ["g0", "g1"])] {
        for run in runs {
            converse(&engine, name, run).await;
        }
    }
    store.tidy().await.expect("sealed");
    let first = store.run(&thread("cut"), RunNo(1)).await.expect("a run").offsets.start;
    assert_eq!(engine.trim(&thread("cut"), first).await, Ok(first));
    converse(&engine, "a", "a2").await;
    store.tidy().await.expect("sealed, and a file rewritten");
    engine.delete(&thread("gone")).await.expect("deleted");
    let files = || fs::read_dir(dir.path().join("history")).expect("a directory").count();
    let before = files();
    // Until what says so is sealed. Nothing is erased by that.
    for run in 0.. {
        converse(&engine, "long", &format!("l{run}")).await;
        if files() > before {
            break;
        }
        tokio::task::yield_now().await;
    }
    open_run(&store, "b", "b0", RunsSeen::default()).await;
    let keyed = Append { key: Some(AppendKey::new("k").expect("a key")), ..appending("b", 0, "once") };
    store.append(keyed).await.expect("appended");
    keep(&*store, dir.path(), &fixture).await;
}
