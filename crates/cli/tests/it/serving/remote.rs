//! Commands that ask a running server in place of a store: the same questions, the same answers.

use super::process::Served;
use crate::store::{BRANCHES, altered, filled, odd_inputs, on};
use crate::{Ran, threadline};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use threadline_testkit::upstream::{Step, Upstream, answer, head};

/// Runs a command on a server.
fn at(server: &Served, args: &[&str], stdin: &str) -> Ran {
    let url = format!("http://{}", server.client.address);
    let args: Vec<&str> = args.iter().copied().chain(["--server", &url]).collect();
    threadline(&args, stdin)
}

/// A store with the threads of another, and a server that holds the same.
fn both(of: &Path) -> (TempDir, TempDir, Served) {
    let (store, dir) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let server = Served::start(dir.path(), "");
    let exported = on(of, &["export", "--all"], "");
    for imported in
        [on(store.path(), &["import"], exported.text()), at(&server, &["import"], exported.text())]
    {
        assert_eq!(imported.code, 0, "{}", imported.stderr);
    }
    (store, dir, server)
}

fn branches() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    assert_eq!(on(dir.path(), &["import"], BRANCHES).code, 0);
    dir
}

/// Whether a word is a time of the day or a date, or both.
fn is_time(word: &str) -> bool {
    word.len() >= 8
        && word.contains([':', '-'])
        && word.bytes().all(|byte| byte.is_ascii_digit() || b":-.TZ".contains(&byte))
}

fn assert_same(store: &Path, server: &Served, args: &[&str], stdin: &str) {
    let (here, there) = (on(store, args, stdin), at(server, args, stdin));
    let without_incarnation = |text: &str| {
        let lines = text.lines().map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut json) => {
                for place in ["/incarnation", "/thread/incarnation"] {
                    if let Some(incarnation) = json.pointer_mut(place) {
                        incarnation.take();
                    }
                }
                json.to_string()
            }
            // What is made now is made twice, one after the other. As JSON, times are compared.
            Err(_) => line
                .split(' ')
                .map(|word| if is_time(word) { "TIME" } else { word })
                .collect::<Vec<_>>()
                .join(" "),
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(without_incarnation(there.text()), without_incarnation(here.text()), "{args:?}");
    assert_eq!((there.code, there.stderr), (here.code, here.stderr), "{args:?}");
}

#[test]
fn a_server_answers_as_its_store_would() {
    let (store, _dir, server) = both(branches().path());
    for args in [
        &["threads"][..],
        &["threads", "--format", "json"],
        &["threads", "--query", "ANOTHER hello"],
        &["threads", "--query", "elsewhere"],
        &["threads", "--label", "a=b"],
        &["threads", "--archived"],
        &["show", "t"],
        &["show", "t", "--format", "json"],
        &["show", "t", "--records"],
        &["show", "t", "--records", "--format", "json"],
        &["show", "t", "--run", "two"],
        &["show", "t", "--at", "1"],
        &["show", "t", "--run", "three", "--at", "6", "--format", "json"],
        &["show", "x"],
        &["show", "t", "--run", "x"],
        &["show", "t", "--at", "10"],
        &["export", "t"],
        &["export", "--all"],
        &["export", "t", "--form", "compact"],
        &["export", "t", "--form", "snapshot"],
        &["export", "x"],
        &["clone", "t", "../copy ü"],
        &["clone", "t", "branch", "--run", "two"],
        &["clone", "t", "cut", "--at", "1"],
        &["clone", "t", "cut"],
        &["show", "../copy ü"],
        &["show", "cut"],
        &["delete", "cut"],
        &["delete", "cut", "--yes"],
        &["delete", "cut", "--yes"],
        &["threads"],
    ] {
        assert_same(store.path(), &server, args, "");
    }
    assert_same(store.path(), &server, &["import", "--thread", "other"], BRANCHES);
}

#[test]
fn what_clients_have_recorded_goes_through_a_server_unchanged() {
    let (store, _dir, server) = both(filled().path());
    assert_same(store.path(), &server, &["export", "--all"], "");
    let exported = on(store.path(), &["export", "--all"], "");
    // A thread that is there is not written over, and what is cut off leaves nothing.
    let again = at(&server, &["import"], exported.text());
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("line 1: the thread exists"), "{}", again.stderr);
    let one = on(branches().path(), &["export", "t"], "");
    let lines: Vec<&str> = one.text().lines().collect();
    let cut = at(&server, &["import"], &lines[..lines.len() - 1].join("\n"));
    assert_eq!(cut.code, 2);
    assert!(cut.stderr.contains("the export is cut off"), "{}", cut.stderr);
    for (altered, said) in altered(one.text()) {
        let refused = at(&server, &["import"], &altered);
        assert_eq!((refused.code, refused.text()), (2, ""), "{said}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
    let mut damaged = lines.clone();
    damaged[4] = "{\"offset\":";
    assert_eq!(at(&server, &["import"], &damaged.join("\n")).code, 2);
    assert_eq!(at(&server, &["show", "t"], "").code, 2, "nothing of it is there");
    assert_eq!(at(&server, &["import"], one.text()).code, 0);
    assert_eq!(at(&server, &["export", "t"], "").text(), one.text());
}

#[test]
fn what_cannot_be_read_as_an_event_is_told_through_a_server() {
    let (_store, _dir, server) = both(branches().path());
    let threads = || at(&server, &["threads", "--format", "json"], "").text().lines().count();
    for (input, code, said) in odd_inputs() {
        let before = threads();
        let ran = at(&server, &["import"], &input);
        assert_eq!(ran.code, code, "{input}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{input}: {}", ran.stderr);
        assert_eq!(threads() - before, usize::from(code == 1), "{input}");
    }
    // The line is that of the input, whatever was left out of it.
    let started =
        |run: &str| format!("{{\"type\":\"RUN_STARTED\",\"threadId\":\"new\",\"runId\":\"{run}\"}}");
    let refused = at(&server, &["import"], &format!("\n\n{}\n\n{}\n", started("r"), started("r")));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("line 5: the run id is taken"), "{}", refused.stderr);
    // What came before a failure stays.
    let one = at(&server, &["export", "t"], "").text().replacen("\"id\":\"t\"", "\"id\":\"a\"", 1);
    let other = one.replacen("\"id\":\"a\"", "\"id\":\"b\"", 1);
    let cut = other.trim_end().rsplit_once('\n').expect("lines").0;
    let refused = at(&server, &["import"], &format!("{one}{cut}"));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("imported before that, and kept: a\n"), "{}", refused.stderr);
    let beyond = at(&server, &["show", "t", "--run", "one", "--at", "99999"], "");
    assert_eq!((beyond.code, beyond.stderr.contains("no such offset yet")), (2, true), "{}", beyond.stderr);
}

#[test]
fn a_server_is_named_or_a_store() {
    let nobody = threadline(&["threads", "--server", "http://127.0.0.1:1"], "");
    assert_eq!(nobody.code, 3, "{}", nobody.stderr);
    assert!(nobody.stderr.starts_with("threadline: the server cannot be asked: "), "{}", nobody.stderr);
    for args in [
        &["threads", "--server", "http://a", "--store", "b"][..],
        &["show", "t", "--server", "http://a", "--app", "b"],
        &["threads", "--server", "a"],
        &["threads", "--server", "http://127.0.0.1:1", "--token", "a\nb"],
    ] {
        assert_eq!(threadline(args, "").code, 2, "{args:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_told_who_asks() {
    let server = Upstream::start([answer("200 OK", "application/json", r#"{"threads":[]}"#)]).await;
    let url = server.url("/base/");
    let ran = tokio::task::spawn_blocking(move || {
        threadline(&["threads", "--server", &url, "--token", "secret"], "")
    });
    let ran = ran.await.expect("it runs");
    assert_eq!((ran.code, ran.text()), (0, "no threads\n"), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests[0].target, "/base/v1/threads?limit=1000");
    assert_eq!(requests[0].header("authorization"), ["Bearer secret"]);
}

/// A thread as a server tells of it.
fn told(id: &str, updated: u64) -> Value {
    json!({
        "threadId": id, "app": "a", "user": "u", "incarnation": "1", "name": null, "archived": false, "agent": null,
        "labels": {}, "first": 0, "tail": 1, "bytes": 1, "runs": 0, "status": null, "created": 0, "updated": updated,
    })
}

/// In the order that servers list in else, those that are written to between two pages would be missed.
#[tokio::test(flavor = "multi_thread")]
async fn more_threads_than_a_page_has_are_asked_for_in_the_order_of_their_names() {
    let list = |page: Value| answer("200 OK", "application/json", page.to_string());
    let lines = |text: &str| answer("200 OK", "application/x-ndjson", text);
    let pages = [
        list(json!({ "threads": [told("1", 5), told("2", 7)], "next": "7.32" })),
        list(json!({ "threads": [told("3", 9)] })),
    ];
    let targets = ["/v1/threads?limit=1000&order=name", "/v1/threads?limit=1000&order=name&after=7%2E32"];
    let ask = async |args: &'static [&str], scripts: Vec<Vec<Step>>| {
        let server = Upstream::start(scripts).await;
        let url = server.url("/");
        let ran = tokio::task::spawn_blocking(move || threadline(&[args, &["--server", &url]].concat(), ""));
        let ran = ran.await.expect("it runs");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let asked: Vec<String> = server.requests().iter().map(|request| request.target.clone()).collect();
        assert_eq!(asked[..2], targets, "{args:?}");
        ran
    };
    let exported = ask(&["export", "--all"], [&pages[..], &["1\n", "2\n", "3\n"].map(lines)].concat()).await;
    assert_eq!(exported.text(), "1\n2\n3\n");
    let listed = ask(&["threads", "--limit", "2000", "--format", "json"], pages.to_vec()).await;
    let name = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["thread"].clone();
    assert_eq!(
        listed.text().lines().map(name).collect::<Vec<_>>(),
        ["a/u/3", "a/u/2", "a/u/1"].map(|key| &key[4..])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_all_goes_on_where_one_thread_fails() {
    let thread = |id: &str| told(id, 0);
    let refused = |status: &str, code: &str| {
        let body = json!({"error":{"code":code,"message":format!("it is {code}")}});
        answer(status, "application/json", body.to_string())
    };
    let lines = |text: &str| answer("200 OK", "application/x-ndjson", text);
    let cut = vec![head("200 OK", &[("content-length", "100")]), Step::Write("half\n".into())];
    let threads = ["1", "2", "3", "4", "5"].map(thread);
    let list = json!({ "threads": threads }).to_string();
    let scripts = [
        answer("200 OK", "application/json", list),
        lines("first\n"),
        refused("500 Internal Server Error", "damaged"),
        cut,
        refused("404 Not Found", "thread_not_found"),
        lines("last\n"),
    ];
    let export = async |scripts: Vec<Vec<Step>>| {
        let server = Upstream::start(scripts).await;
        let url = server.url("/");
        let ran = tokio::task::spawn_blocking(move || threadline(&["export", "--all", "--server", &url], ""));
        ran.await.expect("it runs")
    };
    let all = export(scripts.to_vec()).await;
    assert_eq!((all.code, all.text()), (3, "first\nhalf\nlast\n"), "{}", all.stderr);
    assert!(all.stderr.contains("a/u/2: it is damaged\n"), "{}", all.stderr);
    assert!(all.stderr.contains("a/u/3: ") && !all.stderr.contains("a/u/4: "), "{}", all.stderr);
    assert!(all.stderr.ends_with("threads that could not be exported whole: 2\n"), "{}", all.stderr);
    // What concerns all of them ends it.
    let none = export(vec![scripts[0].clone(), refused("401 Unauthorized", "unauthorized")]).await;
    assert_eq!((none.code, none.text()), (2, ""), "{}", none.stderr);
}
