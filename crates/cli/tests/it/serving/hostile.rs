//! Agents that mean harm, or are broken: each ends its own run, with the right word, and nobody else's.

use super::agents::{brief, section};
use super::client::{Client, Frame};
use super::process::Served;
use std::time::Duration;
use tempfile::TempDir;
use threadline_testkit::upstream::{Step, Upstream, answer, chunk, head, sse_body};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What the settings of this test let a run have.
const RUN_TIMEOUT: Duration = Duration::from_secs(4);
/// How long anything here may take: the longest timeout, and what a slow machine adds.
const TAKES_MAX: Duration = Duration::from_secs(30);
/// How long the run of an honest agent may take meanwhile.
const HONEST_MAX: Duration = Duration::from_secs(10);
/// The most memory that all of them together may take, in a build that is not optimised.
const GROWTH_MAX: u64 = 384 * 1024 * 1024;

const LIMITS: &str = "
connect_timeout = \"1s\"
first_byte_timeout = \"1s\"
idle_timeout = \"1s\"
";
const RUNS: &str = "
[runs]
run_bytes_max = 16777216
run_timeout = \"4s\"
after_end_timeout = \"1s\"
";

/// What agents do, by their names, and how their runs end.
fn agents() -> Vec<(&'static str, Vec<Step>, &'static str)> {
    let sse = || head("200 OK", &[("content-type", "text/event-stream")]);
    let chunked =
        || head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]);
    let text = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"half"}"#;
    let custom = format!(r#"{{"type":"CUSTOM","name":"n","value":"{}"}}"#, "x".repeat(4 << 10));
    let done = r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#;
    let write = |events: &[&str]| Step::Write(sse_body(events).into());
    let repeat = |text: String| Step::Repeat(text.into());
    let too_large = "RUN_ERROR:upstream_too_large";
    vec![
        ("endless_line", vec![sse(), write(&[text]), repeat("x".repeat(64 << 10))], too_large),
        ("endless_event", vec![sse(), repeat(format!("data: {}\n", "x".repeat(4 << 10)))], too_large),
        ("endless_events", vec![sse(), repeat(format!("data: {custom}\n\n"))], too_large),
        ("endless_comments", vec![sse(), repeat(format!(": {}\n", "x".repeat(4 << 10)))], too_large),
        ("endless_garbage", vec![sse(), repeat(format!("data: {}\n\n", "{".repeat(4 << 10)))], too_large),
        ("huge_event", vec![sse(), write(&[&"x".repeat(11 << 20)])], too_large),
        (
            "byte_by_byte",
            vec![sse(), Step::Trickle(vec![b' '; 1 << 10].into(), Duration::from_millis(100))],
            "RUN_ERROR:run_timeout",
        ),
        (
            "no_http",
            vec![Step::Write("\0\x01\x02 nothing of this is HTTP\r\n\r\n".into())],
            "RUN_ERROR:upstream_malformed",
        ),
        ("no_events", answer("200 OK", "text/html", "<p>hello</p>"), "RUN_ERROR:upstream_malformed"),
        (
            "garbage",
            vec![sse(), Step::Write("\u{0}\u{1}\ndata: {\n\ndata\n\n:\n\ndata: [1]\n\n".into())],
            "RUN_ERROR:truncated",
        ),
        ("early_end", vec![sse(), write(&[text])], "RUN_ERROR:truncated"),
        ("cut_off", vec![chunked(), chunk(sse_body(&[text]))], "RUN_ERROR:upstream_broken"),
        ("reset", vec![sse(), write(&[text]), Step::Reset], "RUN_ERROR:upstream_broken"),
        ("never_answers", vec![Step::UntilGone], "RUN_ERROR:upstream_timeout"),
        ("falls_silent", vec![sse(), write(&[text]), Step::UntilGone], "RUN_ERROR:upstream_timeout"),
        (
            "redirects",
            vec![head(
                "307 Temporary Redirect",
                &[("location", "http://127.0.0.1:1/"), ("content-length", "0")],
            )],
            "RUN_ERROR:upstream_status",
        ),
        ("refuses", answer("500 Internal Server Error", "text/plain", "no"), "RUN_ERROR:upstream_status"),
        (
            "never_stops",
            vec![sse(), write(&[text, done]), repeat(format!("data: {custom}\n\n"))],
            "RUN_FINISHED",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_agents_end_their_own_runs_and_nobody_elses() {
    let dir = TempDir::new().expect("a directory");
    let brief = brief().await;
    let mut settings = section("brief", &brief) + RUNS;
    settings += &format!("[agents.nobody]\nurl = \"http://127.0.0.1:1/\"{LIMITS}");
    let mut expected = vec![("nobody", "RUN_ERROR:upstream_unreachable")];
    let mut there = Vec::new();
    for (name, script, end) in agents() {
        let agent = Upstream::start([script]).await;
        settings += &(section(name, &agent) + LIMITS);
        expected.push((name, end));
        there.push(agent);
    }
    let served = Served::start(dir.path(), &settings);
    let (client, before) = (served.client, served.memory_peak());
    let start = Instant::now();
    let mut runs = JoinSet::new();
    for (name, end) in expected.iter().copied() {
        runs.spawn(
            async move { (name, end, client.run(name, name, "run").await.all().await, start.elapsed()) },
        );
    }
    let mut honest = 0;
    while !runs.is_empty() {
        finish_run(client, "honest", &format!("run-{honest}")).await;
        honest += 1;
        while let Some(run) = runs.try_join_next() {
            let (name, end, frames, took) = run.expect("a run");
            assert_eq!(frames[0].kind(), "RUN_STARTED", "{name}");
            assert_eq!(frames.last().map(Frame::kind).as_deref(), Some(end), "{name}");
            assert!(took < TAKES_MAX, "{name}: {took:?}");
            assert!(end != "RUN_ERROR:run_timeout" || took >= RUN_TIMEOUT, "{name}: {took:?}");
        }
    }
    println!("{honest} honest runs in {:?}", start.elapsed());
    served.assert_grown_less(before, GROWTH_MAX);
    for agent in &there {
        assert_eq!(agent.requests().len(), 1, "nothing is tried again");
    }
    for (name, _) in &expected {
        finish_run(client, name, "next").await;
    }
    served.stop().await;
}

/// A run that means no harm.
async fn finish_run(client: Client, thread: &str, run: &str) {
    let start = Instant::now();
    let frames = client.run("brief", thread, run).await.all().await;
    assert_eq!(frames.last().map(Frame::kind).as_deref(), Some("RUN_FINISHED"), "{thread}");
    assert!(start.elapsed() < HONEST_MAX, "{thread}: {:?}", start.elapsed());
}
