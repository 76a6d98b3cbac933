//! Backups of a store whose server goes on, and what is restored from them: `docs/operations.md` says how they are made.

use super::agents::{brief, section, talker};
use super::client::{Client, Next};
use super::process::Served;
use crate::store::on;
use crate::threadline;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use threadline_testkit::upstream::Upstream;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How many clients start one run after another.
const WRITERS: usize = 4;
/// How many runs have ended before a backup is begun, and how many more there are before all is compared.
const RUNS: usize = 60;

/// A server under load, and what its clients know to be kept.
struct Load {
    served: Served,
    _agents: [Upstream; 2],
    settings: String,
    /// Threads and runs whose end was seen.
    ended: Arc<Mutex<BTreeSet<(String, String)>>>,
    count: watch::Sender<usize>,
    writers: JoinSet<()>,
}

impl Load {
    async fn start(dir: &Path) -> Self {
        let (talker, brief) = (talker().await, brief().await);
        let settings = section("talker", &talker) + &section("brief", &brief);
        let served = Served::start(dir, &settings);
        let (ended, count) = (Arc::<Mutex<BTreeSet<_>>>::default(), watch::Sender::new(0));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(write(served.client, writer, Arc::clone(&ended), count.clone()));
        }
        Self { served, _agents: [talker, brief], settings, ended, count, writers }
    }

    async fn runs(&self, more: usize) {
        let mut count = self.count.subscribe();
        let until = *count.borrow() + more;
        count.wait_for(|count| *count >= until).await.expect("writers");
    }

    fn ended(&self) -> BTreeSet<(String, String)> {
        self.ended.lock().expect("nobody panics").clone()
    }

    /// Whether a restored store has all that was acknowledged, as the server has it that went on.
    async fn compare(mut self, restored: &Path, ended: &BTreeSet<(String, String)>) -> Served {
        self.runs(RUNS).await;
        self.writers.shutdown().await;
        let other = Served::start(restored, &self.settings);
        assert!(ended.len() >= RUNS);
        for (thread, run) in ended {
            let records = records(self.served.client, thread, run).await;
            assert_eq!(records.len(), 3, "{records:?}");
            assert_eq!(self::records(other.client, thread, run).await, records, "{thread} {run}");
        }
        for thread in ended.iter().map(|(thread, _)| thread).collect::<BTreeSet<_>>() {
            let runs = other.client.runs(thread).await;
            assert!(runs.iter().all(|(_, status)| status != "running"), "{runs:?}");
            let frames = other.client.run("brief", thread, "after").await.all().await;
            assert_eq!(frames.len(), 3, "it goes on");
        }
        self.served.stop().await;
        other
    }
}

/// Starts runs one after another, each with a new thread now and then.
async fn write(
    client: Client,
    writer: usize,
    ended: Arc<Mutex<BTreeSet<(String, String)>>>,
    count: watch::Sender<usize>,
) {
    for number in 0.. {
        let (thread, run) = (format!("thread-{writer}-{}", number / 10), format!("run-{number}"));
        assert_eq!(client.run("brief", &thread, &run).await.all().await.len(), 3);
        ended.lock().expect("nobody panics").insert((thread, run));
        count.send_modify(|count| *count += 1);
    }
}

/// The records of a run, to the last byte.
async fn records(client: Client, thread: &str, run: &str) -> Vec<Value> {
    let mut page = client.get(&format!("/v1/threads/{thread}/events?run={run}")).await.json().await;
    page["records"].as_array_mut().map(std::mem::take).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_store_whose_server_holds_still_has_everything() {
    let (dir, backup) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let load = Load::start(dir.path()).await;
    // A run that has no end goes on meanwhile.
    let mut talk = load.served.client.run("talker", "talk", "talk").await;
    load.runs(RUNS).await;
    let mut heard = Vec::new();
    for _ in 0..500 {
        heard.push(talk.frame().await);
    }
    load.served.freeze();
    let ended = load.ended();
    let copied = Command::new("cp").arg("-a").arg(dir.path().join("store")).arg(backup.path()).status();
    load.served.thaw();
    assert!(copied.expect("cp").success());
    for _ in 0..500 {
        assert!(matches!(talk.next().await, Next::Frame(_)), "nobody was cut off");
    }
    let store = backup.path().join("store");
    let doctor = on(&store, &["doctor"], "");
    assert_eq!(doctor.code, 0, "{}", doctor.text());
    let restored = load.compare(backup.path(), &ended).await;
    let told = restored.client.connect("talker", "talk", heard[0].id.as_deref()).await.all().await;
    assert_eq!(told[..heard.len() - 1], heard[1..], "what was heard before is there");
    restored.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_a_server_that_goes_on_has_all_that_was_there_when_it_began() {
    let (dir, backup) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let load = Load::start(dir.path()).await;
    load.runs(RUNS).await;
    let ended = load.ended();
    let url = format!("http://{}", load.served.client.address);
    let exported =
        tokio::task::spawn_blocking(move || threadline(&["export", "--all", "--server", &url], ""));
    let exported = exported.await.expect("it runs");
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let imported = on(&backup.path().join("store"), &["import"], exported.text());
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    load.compare(backup.path(), &ended).await.stop().await;
}
