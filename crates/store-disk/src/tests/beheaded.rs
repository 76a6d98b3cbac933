//! A checkpoint that outlives its run is in nobody's way.

use super::remembered::Made;
use super::script::{Step, run, thread};
use crate::doctor::{self, Severity};
use crate::open::CATALOGUE;
use std::fs;
use threadline_log::{RunNo, Store};

/// A thread whose last run is gone but for its checkpoint, and another.
async fn beheaded() -> Made {
    let begin = [Step::Open("b", "b0"), Step::Append("b", 0, 2), Step::End("b", 0), Step::Checkpoint("b", 0)];
    let run = |no, id| [Step::Open("a", id), Step::End("a", no), Step::Checkpoint("a", no)];
    let made = Made::of(&[&begin[..], &run(0, "a0"), &run(1, "a1")].concat()).await;
    for gone in ["\"id\":\"a1\"", "{\"opened\":\"a1\"}", "\"of\":\"app/user/a\",\"run\":1}", "\"ended\""] {
        made.flip("log/", gone);
    }
    made
}

#[tokio::test]
async fn a_checkpoint_that_outlives_its_run_is_in_nobodys_way() {
    for is_remembered in [true, false] {
        let made = beheaded().await;
        if !is_remembered {
            fs::remove_file(made.dir.path().join(CATALOGUE)).unwrap();
        }
        let report = doctor::repair(&made.options()).unwrap();
        let store = made.open();
        let whole = store.read(&thread("b"), 0..9, None, usize::MAX).await.unwrap();
        assert_eq!(whole.records.len(), 4, "{report:?}");
        let runs = store.runs(&thread("a")).await.unwrap();
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, ["a0", if is_remembered { "a1" } else { "lost-1" }]);
        if is_remembered {
            assert!(!runs[1].is_running());
            assert_eq!(store.thread(&thread("a")).await.unwrap().offsets, 0..4);
        }
        // The checkpoint is not that of the run that is opened next.
        run(&store, 50, Step::Open("a", "a2")).await.unwrap();
        assert_eq!(store.runs(&thread("a")).await.unwrap()[2].no, RunNo(2));
        assert!(store.checkpoint(&thread("a"), RunNo(2)).await.unwrap().is_none());
        store.tidy().await.unwrap();
        store.close().await;
        drop(store);
        let report = doctor::check(&made.options()).unwrap();
        assert!(report.findings.iter().all(|finding| finding.severity != Severity::Derived), "{report:?}");
    }
}
