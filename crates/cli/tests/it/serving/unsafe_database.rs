//! A database that may lose what it has acknowledged.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use threadline_testkit::postgres;

/// What a server says first, how it has ended where it has, and what it logs.
fn serve(store: &str, more: &[&str]) -> (String, Option<i32>, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("threadline starts");
    let mut first = String::new();
    let mut stdout = BufReader::new(process.stdout.take().expect("piped"));
    stdout.read_line(&mut first).expect("text");
    if !first.is_empty() {
        process.kill().expect("a process that can be killed");
    }
    let status = process.wait().expect("a process that has ended");
    let mut log = String::new();
    process.stderr.take().expect("piped").read_to_string(&mut log).expect("text");
    (first, status.code(), log)
}

#[test]
fn a_database_that_may_lose_what_it_has_acknowledged_is_served_if_that_is_said() {
    let store = format!("{}&options=-csynchronous_commit%3Doff", postgres::schema_url());
    let (first, code, log) = serve(&store, &[]);
    assert_eq!((first.as_str(), code), ("", Some(3)), "{log}");
    assert!(log.contains("synchronous_commit is off") && log.contains("--allow-unsafe-durability"), "{log}");
    let (first, _, log) = serve(&store, &["--allow-unsafe-durability"]);
    assert!(first.contains("http://127.0.0.1:"), "{first:?}, {log}");
    assert!(
        log.contains("may lose what it has acknowledged") && log.contains("synchronous_commit is off"),
        "{log}"
    );
}
