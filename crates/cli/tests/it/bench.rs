//! `threadline bench URL`

use crate::serving::Served;
use crate::threadline;
use serde_json::Value;
use tempfile::tempdir;

fn figures(url: &str, more: &[&str]) -> (i32, Value) {
    let ran = threadline(&[&["bench", url, "--format", "json"], more].concat(), "");
    let figures = serde_json::from_str(ran.text()).unwrap_or_else(|_| panic!("{}", ran.stderr));
    (ran.code, figures)
}

#[test]
fn runs_followers_and_history_are_counted_and_timed() {
    let dir = tempdir().expect("a directory");
    let served = Served::start(dir.path(), "");
    for path in ["/agui", "/agents/demo"] {
        let url = format!("http://{}{path}", served.address());
        let more = ["--runs", "12", "--concurrency", "3", "--followers", "5", "--history", "20"];
        let (code, figures) = figures(&url, &more);
        assert_eq!(code, 0, "{figures:#}");
        for (part, count) in [("runs", 12), ("followers", 5), ("history", 20)] {
            let part = &figures[part];
            assert_eq!(
                (&part["count"], part["failed"].as_array().map(Vec::len)),
                (&count.into(), Some(0)),
                "{figures:#}"
            );
            let times = ["minMs", "p50Ms", "p90Ms", "p99Ms", "maxMs"];
            let times = times.map(|name| part["wholeStream"][name].as_f64().expect("a time"));
            assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");
            let buckets = part["wholeStream"]["buckets"].as_array().expect("buckets").iter();
            assert_eq!(buckets.filter_map(|bucket| bucket["count"].as_u64()).sum::<u64>(), count);
        }
        // A history has three events, whatever the run had.
        assert_eq!(figures["history"]["events"], 60);
        assert!(figures["runs"]["events"].as_u64().expect("a number") > 12 * 5);
    }
}

#[test]
fn histories_are_those_of_the_runs() {
    let dir = tempdir().expect("a directory");
    let served = Served::start(dir.path(), "");
    let url = format!("http://{}/agui", served.address());
    let bytes = |histories: &str| {
        let (_, figures) = figures(&url, &["--runs", "1", "--history", histories]);
        figures["history"]["bytes"].as_u64().expect("a number")
    };
    // That of a thread which is not there is about half as long.
    let (one, four) = (bytes("1"), bytes("4"));
    assert!(four * 10 > one * 36, "{one}, {four}");
}

#[test]
fn what_fails_is_counted_by_its_reason() {
    let dir = tempdir().expect("a directory");
    let served = Served::start(dir.path(), "");
    let url = format!("http://{}/agui", served.address());
    let (code, failing) = figures(&url, &["--runs", "3", "--message", "fail"]);
    assert_eq!((code, &failing["runs"]["count"]), (1, &0.into()));
    assert_eq!(failing["runs"]["failed"], serde_json::json!([{"why": "it ends with RUN_ERROR", "count": 3}]));
    assert_eq!(failing["runs"]["wholeStream"], Value::Null);
    let (code, nothing) = figures(&format!("{url}/nothing"), &["--runs", "2"]);
    assert_eq!(code, 1);
    assert!(nothing["runs"]["failed"][0]["why"].as_str().expect("a reason").contains("404"), "{nothing:#}");
}

#[test]
fn people_see_a_histogram_and_are_asked_before_other_machines_are() {
    let dir = tempdir().expect("a directory");
    let served = Served::start(dir.path(), "");
    let ran = threadline(&["bench", &format!("http://{}/agui", served.address()), "--runs", "5"], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("starts 5 runs at http://"), "{}", ran.stderr);
    for part in ["runs: 5 in ", "first event ", "whole stream ", "p99 ", " |###"] {
        assert!(ran.text().contains(part), "{part}: {}", ran.text());
    }
    // An address for documentation, where nobody is.
    let ran = threadline(&["bench", "http://192.0.2.1:9/agui"], "");
    assert_eq!((ran.code, ran.text()), (2, ""));
    assert!(ran.stderr.contains("say --yes"), "{}", ran.stderr);
    let gone = format!("http://{}/agui", served.address());
    drop(served);
    assert_eq!(threadline(&["bench", &gone, "--runs", "2"], "").code, 3);
    assert_eq!(threadline(&["bench", "ws://127.0.0.1/"], "").code, 2);
}
