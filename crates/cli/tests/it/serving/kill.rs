//! P1: what a client has seen survives the death of the server, and the thread is as good as before.

use super::agents::{PIECES, brief, section, talker};
use super::client::{Answer, Client, Frame, Next};
use super::process::Served;
use crate::store;
use std::path::Path;
use tempfile::TempDir;
use threadline_testkit::random::Random;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// How many runs go on when the server is killed.
const RUNS: usize = 6;
/// For so many rounds the same threads are used.
const ROUNDS_OF_THREADS: u32 = 4;
/// The most frames that clients see before the server is killed.
const FRAMES_MAX: usize = 4_000;

/// How many servers are killed.
fn kills() -> u32 {
    std::env::var("THREADLINE_SERVER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

/// What a client has seen of a run, from a frame on that it could come back to.
#[derive(Debug)]
struct Seen {
    thread: String,
    run: String,
    frames: Vec<Frame>,
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_what_a_client_has_seen_survives_kills_of_the_server() {
    let dir = TempDir::new().expect("a directory");
    let (talker, brief) = (talker().await, brief().await);
    let settings = section("talker", &talker) + &section("brief", &brief);
    let mut random = Random::new(1);
    let mut frames = 0;
    for round in 0..kills() {
        let seen = strike(dir.path(), &settings, round, &mut random).await;
        frames += seen.iter().map(|seen| seen.frames.len()).sum::<usize>();
        let served = Served::start(dir.path(), &settings);
        for seen in &seen {
            check(served.client, seen, &mut random).await;
        }
        for slot in 0..RUNS {
            go_on(served.client, &thread(round, slot), round).await;
        }
        if random.chance(30) {
            served.stop().await;
        }
    }
    println!("{} kills, {frames} frames", kills());
    assert!(frames > 100 * kills() as usize, "there was a load");
}

fn thread(round: u32, slot: usize) -> String {
    format!("thread-{}-{slot}", round / ROUNDS_OF_THREADS)
}

/// Kills a server while runs go on, and says what their clients had seen.
async fn strike(dir: &Path, settings: &str, round: u32, random: &mut Random) -> Vec<Seen> {
    let mut served = Served::start(dir, settings);
    let (sender, mut ticks) = unbounded_channel();
    let mut clients = JoinSet::new();
    for slot in 0..RUNS {
        let (thread, run) = (thread(round, slot), format!("run-{round}"));
        clients.spawn(watch(served.client, thread, run, sender.clone()));
    }
    drop(sender);
    for _ in 0..=random.below(FRAMES_MAX) {
        ticks.recv().await.expect("somebody who reads");
    }
    served.kill();
    clients.join_all().await.into_iter().flatten().collect()
}

/// Starts a run, and attaches to it a second time, until the server is gone.
async fn watch(client: Client, thread: String, run: String, ticks: UnboundedSender<()>) -> Vec<Seen> {
    let Ok(mut answer) = client.try_run("talker", &thread, &run).await else { return Vec::new() };
    assert_eq!(answer.status, 200);
    let Next::Frame(first) = answer.next().await else { return Vec::new() };
    let second = async {
        let attached = client.try_connect("talker", &thread, None).await;
        let mut frames = match attached {
            Ok(answer) => until_cut(answer, &ticks).await,
            Err(_) => Vec::new(),
        };
        // What it is told on arrival is of no offset, up to the last of it.
        let arrived = frames.iter().position(|frame| frame.id.is_some()).unwrap_or(frames.len());
        frames.split_off(arrived)
    };
    let (mut rest, attached) = tokio::join!(until_cut(answer, &ticks), second);
    rest.insert(0, first);
    let seen = [rest, attached].into_iter().filter(|frames| !frames.is_empty());
    seen.map(|frames| Seen { thread: thread.clone(), run: run.clone(), frames }).collect()
}

async fn until_cut(mut answer: Answer, ticks: &UnboundedSender<()>) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        match answer.next().await {
            Next::Frame(frame) => frames.push(frame),
            Next::Cut => return frames,
            Next::Over => panic!("a run that has no end has ended. {:?}", frames.last()),
        }
        // Nobody counts any more when the server is gone.
        _ = ticks.send(());
    }
}

/// Whether a server has what a client has seen, and goes on from any of it.
async fn check(client: Client, seen: &Seen, random: &mut Random) {
    let Seen { thread, run, frames } = seen;
    let told = client.connect("talker", thread, Some(frames[0].cursor())).await.all().await;
    let known = &frames[1..];
    assert!(told.len() > known.len(), "{thread}, {run}: {} of {}", told.len(), known.len());
    assert_eq!(&told[..known.len()], known, "{thread}, {run}");
    assert_eq!(told.last().map(Frame::kind).as_deref(), Some("RUN_ERROR:abandoned"), "{thread}, {run}");
    let pieces: Vec<usize> = told.iter().filter_map(piece).collect();
    assert!(pieces.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{thread}, {run}: {pieces:?}");
    for at in [known.len(), random.below(frames.len())] {
        let rest = client.connect("talker", thread, Some(frames[at].cursor())).await.all().await;
        assert_eq!(rest, told[at..], "{thread}, {run}, after {at}");
    }
    let runs = client.runs(thread).await;
    assert!(runs.contains(&(run.clone(), "abandoned".to_owned())), "{thread}, {run}: {runs:?}");
}

/// The number of a piece of what the talker says.
fn piece(frame: &Frame) -> Option<usize> {
    frame.value()["delta"].as_str()?.trim().parse().ok()
}

/// Whether a thread is as good as new: nothing goes on, a run works, and no offset is missing.
async fn go_on(client: Client, thread: &str, round: u32) {
    let answer = client.run("brief", thread, &format!("next-{round}")).await;
    let kinds: Vec<String> = answer.all().await.iter().map(Frame::kind).collect();
    assert_eq!(kinds, ["RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"], "{thread}");
    let runs = client.runs(thread).await;
    assert_eq!(runs.last(), Some(&(format!("next-{round}"), "finished".to_owned())), "{thread}");
    assert!(runs.iter().all(|(_, status)| status != "running"), "{thread}: {runs:?}");
    let (mut next, mut after) = (0, String::new());
    loop {
        let page = client.get(&format!("/v1/threads/{thread}/events?limit=10000{after}")).await.json().await;
        for record in page["records"].as_array().expect("records") {
            assert_eq!(record["offset"], next, "{thread}");
            next += 1;
        }
        let Some(cursor) = page["next"].as_str() else { return assert_eq!(page["tail"], next, "{thread}") };
        after = format!("&after={cursor}");
    }
}

/// A server is killed that has said up to 7 in a run of `t`.
async fn killed_at_seven(dir: &Path, settings: &str) {
    let mut served = Served::start(dir, settings);
    let mut answer = served.client.run("talker", "t", "run").await;
    loop {
        let Next::Frame(frame) = answer.next().await else { panic!("the run has ended") };
        if piece(&frame) == Some(7) {
            break;
        }
    }
    served.kill();
}

/// What the runs of a killed server had said is folded soon after the next one is ready, without anybody who asks for it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_until_a_kill_is_found_by_search() {
    let dir = TempDir::new().expect("a directory");
    let talker = talker().await;
    let settings = section("talker", &talker);
    killed_at_seven(dir.path(), &settings).await;
    let served = Served::start(dir.path(), &settings);
    while served.client.get("/v1/threads?q=7").await.json().await["threads"][0]["threadId"] != "t" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_killed_server_are_left_alone_by_who_cannot_serve_and_closed_by_commands_that_write() {
    let dir = TempDir::new().expect("a directory");
    let talker = talker().await;
    killed_at_seven(dir.path(), &section("talker", &talker)).await;
    let on = |args: &[&str], stdin: &str| store::on(&dir.path().join("store"), args, stdin);
    let refused = on(&["serve", "--listen", "127.0.0.1:0", "--tokens", "no/such/file"], "");
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let shown = on(&["show", "t"], "");
    assert!(shown.text().contains("* run  running"), "{}", shown.text());
    let imported = on(&["import"], &store::BRANCHES.replace("\"t\"", "\"other\""));
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert!(on(&["show", "t"], "").text().contains("* run  abandoned"));
    let found = on(&["threads", "--query", "7", "--format", "json"], "");
    assert!(found.text().contains("\"t\""), "{}", found.text());
}

/// Buffered runs promise less: their start and all of a run whose stream has ended, and of one that goes on what was stored in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_that_buffers_loses_no_more_than_it_says() {
    let dir = TempDir::new().expect("a directory");
    let (talker, brief) = (talker().await, brief().await);
    let runs = "[runs]\nmode = \"buffered\"\nflush_interval = \"50ms\"\n";
    let settings = section("talker", &talker) + &section("brief", &brief) + runs;
    let whole: String = (0..PIECES).map(|piece| format!("{piece} ")).collect();
    for round in 0..6 {
        let (thread, ended) = (format!("talk-{round}"), format!("brief-{round}"));
        let mut served = Served::start(dir.path(), &settings);
        let client = served.client;
        client.run("brief", &ended, "run").await.all().await;
        let mut answer = client.run("talker", &thread, "run").await;
        let frames = if round % 2 == 0 { 100 * (round + 1) } else { PIECES + 1 };
        for _ in 0..=frames {
            let Next::Frame(frame) = answer.next().await else { panic!("the run goes on") };
            assert_eq!(frame.id, None);
        }
        let is_stored = round % 2 == 1;
        while is_stored && said(client, &thread).await != whole {
            tokio::task::yield_now().await;
        }
        served.kill();

        let served = Served::start(dir.path(), &settings);
        let client = served.client;
        assert_eq!(said(client, &ended).await, "word");
        let kept = said(client, &thread).await;
        assert!(whole.starts_with(&kept), "{kept}");
        assert!(!is_stored || kept == whole, "{kept}");
        assert_eq!(client.runs(&thread).await, [("run".to_owned(), "abandoned".to_owned())]);
        client.run("brief", &thread, "next").await.all().await;
        assert_eq!(client.runs(&thread).await[1], ("next".to_owned(), "finished".to_owned()));
        served.stop().await;
    }
}

/// What the agent has said in a thread, as far as it is stored.
async fn said(client: Client, thread: &str) -> String {
    let held = client.get(&format!("/v1/threads/{thread}/messages")).await.json().await;
    held["messages"][1]["content"].as_str().unwrap_or_default().to_owned()
}
