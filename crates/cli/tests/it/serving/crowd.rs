//! A thousand runs at once.

use super::agents::{section, stream};
use super::client::Frame;
use super::process::Served;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Arc;
use tempfile::TempDir;
use threadline_testkit::upstream::{Step, Upstream, sse_body};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const RUNS: usize = 1_000;
/// The most memory that a run may take, all told, in a build that is not optimised.
const RUN_BYTES_MAX: u64 = 256 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_runs_go_on_at_once_and_all_are_kept() {
    if !has_descriptors(2 * RUNS as u64 + 200) {
        println!("skipped: so many connections may not be open at once");
        return;
    }
    let dir = TempDir::new().expect("a directory");
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"so far"}"#;
    let done = r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#;
    // No run ends before all have begun.
    let all = Arc::new(Barrier::new(RUNS));
    let mut script = stream(Step::Write(sse_body(&[chunk]).into()), Step::Meet(all));
    script.push(Step::Write(sse_body(&[chunk, done]).into()));
    let agent = Upstream::start([script]).await;
    let settings = section("crowd", &agent);
    let served = Served::start(dir.path(), &settings);
    let (client, before) = (served.client, served.memory_peak());
    let mut runs = JoinSet::new();
    for run in 0..RUNS {
        runs.spawn(async move { client.run("crowd", &format!("t{run}"), "run").await.all().await });
    }
    for frames in runs.join_all().await {
        let kinds: Vec<String> = frames.iter().map(Frame::kind).collect();
        assert_eq!(kinds, ["RUN_STARTED", "TEXT_MESSAGE_CHUNK", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"]);
    }
    served.assert_grown_less(before, RUNS as u64 * RUN_BYTES_MAX);
    served.stop().await;

    let served = Served::start(dir.path(), &settings);
    for run in 0..RUNS {
        let held = served.client.get(&format!("/v1/threads/t{run}/messages")).await.json().await;
        assert_eq!(held["messages"][1]["content"], "so farso far", "t{run}");
    }
    served.stop().await;
}

/// Whether this process may have so many files open, and whoever it starts. It is raised to that if it can be.
fn has_descriptors(count: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum.map_or(Some(count), |maximum| Some(maximum.min(count)));
    if limit.current.is_some_and(|current| current < count) {
        _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
    getrlimit(Resource::Nofile).current.is_none_or(|current| current >= count)
}
