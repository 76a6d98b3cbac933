//! Threads that go from one store to another.

use crate::store::{BRANCHES, filled, on};
use crate::{Ran, threadline};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use threadline_log::clock::{Clock, Ids};
use threadline_log::names::Owner;
use threadline_log::{
    Engine, HistoryMode, Incarnation, Options, Scope, StartRun, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_store_disk::{DiskOptions, DiskStore};
use threadline_testkit::postgres;

fn path(dir: &TempDir) -> &str {
    dir.path().to_str().expect("a path")
}

fn migrate(from: &str, to: &str) -> Ran {
    threadline(&["migrate", "--from", from, "--to", to], "")
}

fn exported(store: &str) -> String {
    let exported = threadline(&["export", "--all", "--store", store], "");
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    exported.text().to_owned()
}

fn empty() -> TempDir {
    TempDir::new().expect("a directory")
}

#[test]
fn what_was_migrated_is_the_same_and_is_not_migrated_again() {
    let (from, to) = (filled(), empty());
    let migrated = migrate(path(&from), path(&to));
    assert_eq!(migrated.code, 0, "{}", migrated.stderr);
    let names = migrated.text().lines().count();
    assert!(
        names > 5 && migrated.stderr.starts_with(&format!("copied {names} threads, ")),
        "{}",
        migrated.stderr
    );
    assert_eq!(exported(path(&to)), exported(path(&from)));
    let again = migrate(path(&from), path(&to));
    assert_eq!((again.code, again.text()), (0, ""));
    assert_eq!(again.stderr, format!("copied 0 threads, 0 runs, 0 records; {names} there already\n"));
    let doctor = on(to.path(), &["doctor"], "");
    assert_eq!(doctor.code, 0, "{}", doctor.text());
}

#[test]
fn a_thread_that_cannot_be_listed_is_named_and_migrated_the_next_time() {
    let (from, to) = (empty(), empty());
    for name in ["one", "other"] {
        assert_eq!(on(from.path(), &["import", "--thread", name], BRANCHES).code, 0);
    }
    let catalogue = from.path().join("catalogue.sqlite");
    let mut damaged = std::fs::read(&catalogue).expect("a catalogue");
    let place =
        damaged.windows(11).position(|window| window == b"Hello there").expect("the name of one of them");
    damaged[place] ^= 1;
    std::fs::write(&catalogue, &damaged).expect("the catalogue is damaged");
    let migrated = migrate(path(&from), path(&to));
    assert_eq!((migrated.code, migrated.text().lines().count()), (1, 1), "{}", migrated.stderr);
    assert!(migrated.stderr.contains("not listed: "), "{}", migrated.stderr);
    let again = migrate(path(&from), path(&to));
    assert_eq!((again.code, again.text().lines().count()), (0, 1), "{}", again.stderr);
    assert_ne!(again.text(), migrated.text());
    assert!(migrated.stderr.contains(again.text().trim_end()), "{}", migrated.stderr);
}

#[test]
fn a_thread_that_differs_is_named_and_stays() {
    let (from, to) = (empty(), empty());
    assert_eq!(on(from.path(), &["import"], BRANCHES).code, 0);
    assert_eq!(on(from.path(), &["import", "--thread", "other"], BRANCHES).code, 0);
    assert_eq!(on(to.path(), &["import"], &BRANCHES.replace("first answer", "another one")).code, 0);
    let before = on(to.path(), &["export", "t"], "").stdout;
    let migrated = migrate(path(&from), path(&to));
    assert_eq!((migrated.code, migrated.text()), (1, "default/default/other\n"));
    let said =
        "threadline: default/default/t: left out, because another thread of that name is there already";
    assert!(migrated.stderr.contains(said), "{}", migrated.stderr);
    assert_eq!(on(to.path(), &["export", "t"], "").stdout, before);
}

/// More threads than are copied at once, so that a migration is hardly done before it is killed.
fn many(store: &Path) {
    let one: Vec<&str> = BRANCHES.lines().collect();
    let text = "x".repeat(2_000);
    let mut recording = String::new();
    for thread in 0..120 {
        for line in &one {
            recording += &line.replace("\"t\"", &format!("\"t-{thread}\"")).replace("answer", &text);
            recording.push('\n');
        }
    }
    let imported = on(store, &["import"], &recording);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
}

fn kill_and_resume(from: &str, to: &str) {
    for lines in [1, 5] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
            .args(["migrate", "--from", from, "--to", to])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("threadline starts");
        let read = BufReader::new(child.stdout.take().expect("piped")).lines().take(lines).count();
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
        // Whatever the first has copied, even all of it, the second need not copy again.
        assert!(read == lines || lines > 1, "it said what it has copied");
    }
    let resumed = migrate(from, to);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(resumed.stderr.contains("there already"), "{}", resumed.stderr);
    assert_eq!(exported(to), exported(from));
}

#[test]
fn a_migration_that_was_killed_goes_on() {
    let (from, to) = (empty(), empty());
    many(from.path());
    kill_and_resume(path(&from), path(&to));
}

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp(1_000)
    }
}

impl Ids for Fixed {
    fn incarnation(&self) -> Incarnation {
        Incarnation(7)
    }
}

#[tokio::test]
async fn a_run_that_goes_on_is_named() {
    let (from, to) = (empty(), empty());
    let (store, _) = DiskStore::open(&DiskOptions::new(from.path())).expect("a store");
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = Engine::new(store, Arc::new(Fixed), Arc::new(Fixed), Options::default());
    let owner = Owner::new("default").expect("short");
    let scope = Scope { app: owner.clone(), user: owner };
    let start = StartRun {
        thread: ThreadKey::new(scope, ThreadId::new("t").expect("short")),
        request: r#"{"threadId":"t","runId":"r","messages":[]}"#.into(),
        history: HistoryMode::Client,
        agent: None,
    };
    engine.start_run(start).await.expect("a run is opened");
    engine.store().close().await;
    drop(engine);
    let migrated = migrate(path(&from), path(&to));
    assert_eq!((migrated.code, migrated.text()), (1, ""));
    assert!(
        migrated.stderr.contains("default/default/t: left out, because a run of it goes on. run=r"),
        "{}",
        migrated.stderr
    );
}

#[test]
fn a_store_goes_to_a_database_and_back() {
    let (from, back) = (filled(), empty());
    many(from.path());
    let database = postgres::schema_url();
    kill_and_resume(path(&from), &database);
    let migrated = migrate(&database, path(&back));
    assert_eq!(migrated.code, 0, "{}", migrated.stderr);
    assert_eq!(exported(path(&back)), exported(path(&from)));
}

#[test]
fn commands_work_on_a_database() {
    let database = postgres::schema_url();
    let with = |args: &[&str], stdin: &str| {
        let args: Vec<&str> = args.iter().copied().chain(["--store", database.as_str()]).collect();
        threadline(&args, stdin)
    };
    let imported = with(&["import"], BRANCHES);
    assert_eq!((imported.code, imported.text()), (0, "default/default/t\n"), "{}", imported.stderr);
    let listed = with(&["threads", "--query", "another", "--format", "json"], "");
    let thread: Value = serde_json::from_str(listed.text()).expect("JSON");
    assert_eq!((&thread["name"], &thread["tail"]), (&"Hello there".into(), &10.into()));
    let shown = with(&["show", "t", "--run", "two"], "");
    assert!(shown.text().contains("second answer"), "{}", shown.text());
    assert_eq!(with(&["clone", "t", "copy", "--at", "5"], "").code, 0);
    let doctor = with(&["doctor"], "");
    assert_eq!(doctor.code, 0, "{}", doctor.stderr);
    assert!(doctor.text().starts_with("threads: 2, records: 1"), "{}", doctor.text());
    assert!(
        doctor.text().contains("all good") && doctor.text().contains("chain values: "),
        "{}",
        doctor.text()
    );
    assert_eq!(with(&["doctor", "--repair"], "").code, 2);
    assert_eq!(with(&["delete", "copy", "--yes"], "").code, 0);
    assert_eq!(with(&["export", "copy"], "").code, 2);
}

#[test]
fn whoever_looks_at_the_wrong_schema_is_told_and_leaves_nothing_there() {
    let (database, to) = (postgres::schema_url(), empty());
    let (_, schema) = database.split_once('?').expect("a schema");
    let commands: [&[&str]; 9] = [
        &["threads"],
        &["show", "t"],
        &["export", "--all"],
        &["clone", "t", "u"],
        &["delete", "t", "--yes"],
        &["doctor"],
        &["replay", "t"],
        &["migrate", "--to", path(&to)],
        // What one of them had made would be there for the next.
        &["threads"],
    ];
    for command in commands {
        let option = if command[0] == "migrate" { "--from" } else { "--store" };
        let args: Vec<&str> = command.iter().copied().chain([option, database.as_str()]).collect();
        let refused = threadline(&args, "");
        assert_eq!((refused.code, refused.text()), (3, ""), "{command:?}: {}", refused.stderr);
        let said = &refused.stderr;
        assert!(said.contains("there is no store at postgres://") && said.contains(schema), "{said}");
    }
    assert_eq!(std::fs::read_dir(to.path()).expect("it is there").count(), 0, "nothing to migrate to");
    let imported = threadline(&["import", "--store", &database], BRANCHES);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
}

#[test]
fn a_database_that_cannot_be_used_is_named_without_its_password() {
    let url = "postgres://somebody:secret@127.0.0.1:1/nowhere";
    let refused = threadline(&["threads", "--store", url], "");
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("postgres://somebody@127.0.0.1:1/nowhere"), "{}", refused.stderr);
    let wrong = threadline(&["serve", "--store", &format!("{url}?colour=red")], "");
    assert_eq!(wrong.code, 2);
    let checked = threadline(&["serve", "--check", "--store", url], "");
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    for said in [&refused.stderr, &wrong.stderr, &checked.text().to_owned()] {
        assert!(!said.contains("secret"), "{said}");
    }
}
