//! Our own server, with the demo agent: nothing to be found.

use super::{report, rules};
use crate::serving::Served;
use std::collections::BTreeSet;
use tempfile::tempdir;

#[test]
fn nothing_is_found_at_our_own_server() {
    let dir = tempdir().expect("a directory");
    let served = Served::start(dir.path(), "");
    for (scheme, path) in
        [("http", "/agui"), ("http", "/agents/demo"), ("http", "/api/agent"), ("ws", "/agui/ws")]
    {
        let url = format!("{scheme}://{}{path}", served.address());
        let report = report(&url, &["--say", "fail", "--say", "tool"]);
        assert_eq!(rules(&report), BTreeSet::new(), "{report:#}");
        assert_eq!(report["verdict"], "conformant");
        // Every family was seen, the tool was answered and so was the question.
        for row in report["summary"].as_array().expect("rows") {
            assert!(!row["observed"].as_str().expect("text").starts_with("no "), "{row}");
        }
        let asked = report["requests"].as_array().expect("requests").iter();
        let names: Vec<&str> = asked.filter_map(|asked| asked["name"].as_str()).collect();
        assert!(names.contains(&"tool-result") && names.contains(&"answer"), "{names:?}");
    }
}
