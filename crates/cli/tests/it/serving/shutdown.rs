//! A server that is told to stop.

use super::agents::{brief, section, talker};
use super::client::{Client, Next};
use super::process::Served;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

/// How many runs go on.
const RUNS: usize = 8;
/// How many clients ask for one run after the other, until nobody answers.
const ASKING: usize = 8;
/// What runs and connections have in all: `runs.shutdown_timeout`, and what connections have.
const STOP_MAX: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_can_be_stopped_in_good_order_as_soon_as_it_greets() {
    let dir = TempDir::new().expect("a directory");
    for _ in 0..10 {
        let mut served = Served::start(dir.path(), "");
        served.terminate();
        let (status, _) = served.ended().await;
        assert!(status.success(), "{status}: {}", served.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_stop_ends_its_runs_and_leaves_nothing_to_do() {
    let dir = TempDir::new().expect("a directory");
    let (talker, brief) = (talker().await, brief().await);
    let settings =
        section("talker", &talker) + &section("brief", &brief) + "[runs]\nshutdown_timeout = \"5s\"\n";
    let mut served = Served::start(dir.path(), &settings);
    let client = served.client;
    let mut watching = JoinSet::new();
    for slot in 0..RUNS {
        let mut answer = client.run("talker", &format!("talk-{slot}"), "run").await;
        answer.frame().await;
        watching.spawn(answer.rest());
    }
    // These are in nobody's way.
    let _silent = TcpStream::connect(client.address).await.expect("a connection");
    let mut half = TcpStream::connect(client.address).await.expect("a connection");
    half.write_all(b"POST /agui HTTP/1.1\r\nhost: local").await.expect("half a head");
    let (sender, mut ended) = unbounded_channel();
    let mut asking = JoinSet::new();
    for slot in 0..ASKING {
        let sender = sender.clone();
        asking.spawn(ask(client, format!("ask-{slot}"), move || _ = sender.send(())));
    }
    for _ in 0..3 * ASKING {
        ended.recv().await.expect("somebody who asks");
    }
    served.terminate();
    for (frames, end) in watching.join_all().await {
        assert_eq!(end, Next::Over);
        let kinds: Vec<_> = frames.iter().rev().take(2).map(|frame| frame.kind()).collect();
        assert_eq!(kinds, ["RUN_ERROR:shutdown", "TEXT_MESSAGE_END"]);
    }
    let asked = asking.join_all().await;
    let (status, took) = served.ended().await;
    assert!(status.success(), "{status}: {}", served.log());
    assert!(took < STOP_MAX, "{took:?}");

    let served = Served::start(dir.path(), &settings);
    for slot in 0..RUNS {
        let runs = served.client.runs(&format!("talk-{slot}")).await;
        assert_eq!(runs, [("run".to_owned(), "failed".to_owned())]);
    }
    for (thread, count) in asked {
        let runs = served.client.runs(&thread).await;
        assert!(runs.len() >= count, "{thread}: {} of {count}", runs.len());
        assert!(runs.iter().all(|(_, status)| ["finished", "failed"].contains(&status.as_str())), "{runs:?}");
    }
    assert!(!served.log().contains("abandoned"), "{}", served.log());
    served.stop().await;
}

/// Asks for one run after the other. What was begun is ended, one way or the other. Gives the thread and the number of runs.
async fn ask(client: Client, thread: String, ended: impl Fn()) -> (String, usize) {
    for count in 0.. {
        let Ok(answer) = client.try_run("brief", &thread, &format!("run-{count}")).await else {
            return (thread, count);
        };
        if answer.status != 200 {
            assert_eq!(answer.refusal().await, (503, "shutting_down".to_owned()));
            return (thread, count);
        }
        let (frames, end) = answer.rest().await;
        assert_eq!(end, Next::Over, "{thread}: {frames:?}");
        let last = frames.last().expect("a frame").kind();
        assert!(["RUN_FINISHED", "RUN_ERROR:shutdown"].contains(&last.as_str()), "{thread}: {last}");
        ended();
    }
    unreachable!("there is no end of numbers")
}
