//! Runs that clients see before they are stored.

use crate::harness::{Answer, Frame, Harness, folded, kinds, messages, request, user};
use crate::puppet::Strings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use threadline_log::buffered::{Aggregator, Aggregators, Merging};
use threadline_log::{MemoryStore, NewRecord, RunNo};
use threadline_server::Settings;
use threadline_server::settings::Mode;
use threadline_testkit::random::Random;
use threadline_testkit::store::{Gate, GatedStore};
use threadline_testkit::streams;
use tokio::time::{Instant, advance};

fn buffered(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    settings.runs.mode = Mode::Buffered;
    change(&mut settings);
    settings
}

/// A server that stores what it delivers later, and what is stored there.
struct Scene {
    server: Harness,
    store: Arc<GatedStore>,
}

impl Scene {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let store = Arc::<GatedStore>::default();
        Self { server: Harness::on(store.clone(), buffered(change)), store }
    }

    /// A run that has begun to speak, and the one who listens.
    async fn run(&self) -> (Strings, Answer) {
        let agent = self.server.agent.next_run();
        let mut answer = self.server.post("/agui", &request("r1", &json!([user("u", "hi")]))).await;
        assert_eq!(answer.next().await.unwrap().value()["input"]["messages"][0]["id"], "u");
        agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
        answer.until("TEXT_MESSAGE_START").await;
        (agent, answer)
    }

    /// How many records are stored, the start of the run included.
    async fn stored(&self) -> usize {
        let page = self.server.get("/v1/threads/t/events", &[]).await.json().await;
        page["records"].as_array().unwrap().len()
    }

    async fn status(&self) -> Value {
        self.server.get("/v1/threads/t/runs", &[]).await.json().await["runs"][0]["status"].take()
    }
}

fn piece(delta: &str) -> Value {
    json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":delta})
}

fn finished() -> Value {
    json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"})
}

/// Lets time pass, and all others do what they can.
async fn pass(time: Duration) {
    advance(time).await;
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn what_is_said_is_seen_before_it_is_stored() {
    let scene = Scene::new(|_| {});
    let (agent, mut answer) = scene.run().await;
    for delta in ["one ", "two ", "three"] {
        agent.say(&piece(delta));
        assert_eq!(answer.next().await.unwrap().value(), piece(delta));
    }
    assert_eq!(scene.stored().await, 1);
    pass(SECOND).await;
    // The start of the run, that of the message, and its pieces in one.
    assert_eq!(scene.stored().await, 3);
    let history = scene.server.post("/history", &json!({"threadId":"t"})).await.all().await;
    assert_eq!(messages(&folded(&history))[1]["content"], "one two three");
    agent.say(&piece("!"));
    answer.next().await.unwrap();
    let history = scene.server.post("/history", &json!({"threadId":"t"})).await.all().await;
    assert_eq!(messages(&folded(&history))[1]["content"], "one two three");
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"a"}));
    agent.say(&finished());
    let rest = answer.all().await;
    assert_eq!(kinds(&rest), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    // Whoever has seen the end of the stream finds all of it.
    assert_eq!((scene.stored().await, scene.status().await), (6, json!("finished")));
    let held = scene.server.get("/v1/threads/t/messages", &[]).await.json().await;
    assert_eq!(held["messages"][1]["content"], "one two three!");
}

#[tokio::test(start_paused = true)]
async fn how_often_it_is_stored_is_a_setting() {
    for (interval, after_a_second, after_a_minute) in [("1s", 3, 3), ("30s", 1, 3), ("0", 1, 1)] {
        let scene = Scene::new(|settings| {
            let toml: Value = json!({"mode": "buffered", "flush_interval": interval});
            settings.runs = serde_json::from_value(toml).unwrap();
        });
        let (agent, mut answer) = scene.run().await;
        agent.say(&piece("x"));
        answer.next().await.unwrap();
        pass(SECOND).await;
        assert_eq!(scene.stored().await, after_a_second, "{interval}");
        pass(60 * SECOND).await;
        assert_eq!(scene.stored().await, after_a_minute, "{interval}");
        agent.say(&finished());
        answer.all().await;
        assert_eq!((scene.stored().await, scene.status().await), (4, json!("finished")), "{interval}");
    }
}

#[tokio::test(start_paused = true)]
async fn whether_pieces_are_merged_is_a_setting() {
    for (aggregate, records) in [(true, 4), (false, 6)] {
        let scene = Scene::new(|settings| settings.runs.aggregate = aggregate);
        let (agent, answer) = scene.run().await;
        for delta in ["a", "b", "c"] {
            agent.say(&piece(delta));
        }
        agent.say(&finished());
        answer.all().await;
        assert_eq!(scene.stored().await, records);
        let held = scene.server.get("/v1/threads/t/messages", &[]).await.json().await;
        assert_eq!(held["messages"][1]["content"], "abc");
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_the_end_may_take_is_a_setting() {
    for (limit, seconds) in [("5s", Some(5)), ("2s", Some(2)), ("0", None)] {
        let scene = Scene::new(|settings| {
            let toml: Value = json!({"mode": "buffered", "finalization_timeout": limit});
            settings.runs = serde_json::from_value(toml).unwrap();
        });
        let (agent, mut answer) = scene.run().await;
        scene.store.set(Gate::Shut);
        agent.say(&finished());
        // Its end is seen at once.
        answer.until("RUN_FINISHED").await;
        let begin = Instant::now();
        match seconds {
            Some(seconds) => {
                answer.cut().await;
                assert_eq!(begin.elapsed().as_secs(), seconds, "{limit}");
                // It is stored nevertheless, as soon as it can be.
                scene.store.set(Gate::Open);
                pass(SECOND).await;
            }
            None => {
                pass(3600 * SECOND).await;
                scene.store.set(Gate::Open);
                assert_eq!(answer.all().await, []);
            }
        }
        assert_eq!(scene.status().await, "finished", "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_stored_breaks_the_run() {
    let scene = Scene::new(|_| {});
    let (agent, mut answer) = scene.run().await;
    scene.store.set(Gate::Broken);
    agent.say(&piece("x"));
    answer.next().await.unwrap();
    // Though the agent says nothing more.
    answer.cut().await;
    agent.let_go().await;
    assert_eq!((scene.store.tried(), scene.status().await), (1, json!("running")));
}

#[tokio::test(start_paused = true)]
async fn the_next_run_waits_until_the_last_is_stored() {
    let scene = Scene::new(|_| {});
    let (agent, mut answer) = scene.run().await;
    scene.store.set(Gate::Shut);
    agent.say(&finished());
    answer.until("RUN_FINISHED").await;
    let next = scene.server.agent.next_run();
    let body = request("r2", &json!([]));
    let begin = scene.server.post("/agui", &body);
    let open = async {
        scene.store.wait_for(1).await;
        scene.store.set(Gate::Open);
    };
    let (second, ()) = tokio::join!(begin, open);
    next.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r2"}));
    assert_eq!(kinds(&second.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[tokio::test(start_paused = true)]
async fn no_frame_is_a_place_to_come_back_to() {
    let scene = Scene::new(|_| {});
    let (agent, answer) = scene.run().await;
    let joined = scene.server.post("/agui/connect", &request("c", &json!([]))).await;
    agent.say(&piece("x"));
    agent.say(&finished());
    let mut frames = answer.all().await;
    frames.extend(joined.all().await);
    frames.extend(scene.server.post("/agui/connect", &request("c", &json!([]))).await.all().await);
    assert!(frames.iter().all(|frame| frame.id.is_none()), "{frames:#?}");
}

/// For streams of any kind, and wherever one arrives: what is sent is accepted, and comes to the same as the whole, and so does
/// what is stored.
#[tokio::test(start_paused = true)]
async fn every_event_is_a_place_to_arrive() {
    for seed in 0..40 {
        let mut stream = streams::valid(&mut Random::new(seed));
        let is_end = |event: &Value| event["type"] == "RUN_FINISHED" || event["type"] == "RUN_ERROR";
        let Some(end) = stream.iter().position(is_end) else { continue };
        stream.truncate(end + 1);
        let Some(run) = stream[0]["runId"].as_str().map(str::to_owned) else { continue };
        for at in 0..stream.len() {
            let scene = Scene::new(|_| {});
            let agent = scene.server.agent.next_run();
            let first = scene.server.post("/agui", &request(&run, &json!([]))).await;
            stream[..at].iter().for_each(|event| agent.say(event));
            pass(SECOND / 4).await;
            let joined = scene.server.post("/agui/connect", &request("c", &json!([]))).await;
            stream[at..].iter().for_each(|event| agent.say(event));
            let (first, joined) = (first.all().await, joined.all().await);
            let held = folded(&first);
            assert_eq!(messages(&folded(&joined)), messages(&held), "seed {seed}, at {at}");
            assert_eq!(folded(&joined).state(), held.state(), "seed {seed}, at {at}");
            let stored: Vec<Frame> =
                scene.server.post("/agui/connect", &request("c", &json!([]))).await.all().await;
            assert_eq!(messages(&folded(&stored)), messages(&held), "seed {seed}, at {at}");
            assert_eq!(folded(&stored).state(), held.state(), "seed {seed}, at {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_falls_behind_is_cut_off_and_attaches_anew() {
    let scene = Scene::new(|settings| settings.runs.flush_interval = None);
    let (agent, slow) = scene.run().await;
    let mut quick = scene.server.post("/agui/connect", &request("c", &json!([]))).await;
    quick.until("TEXT_MESSAGE_START").await;
    for _ in 0..1100 {
        agent.say(&piece("x"));
        quick.next().await.unwrap();
    }
    slow.cut().await;
    let again = scene.server.post("/agui/connect", &request("c", &json!([]))).await;
    agent.say(&finished());
    quick.until("RUN_FINISHED").await;
    assert_eq!(messages(&folded(&again.all().await))[1]["content"], "x".repeat(1100));
}

#[tokio::test(start_paused = true)]
async fn a_run_is_ended_for_its_source() {
    let scene = Scene::new(|_| {});
    let (agent, answer) = scene.run().await;
    let stopped = scene.server.post("/cancel", &json!({"threadId":"t"})).await.json().await;
    assert_eq!(stopped["status"], "cancelled");
    agent.let_go().await;
    let rest = answer.all().await;
    assert_eq!(kinds(&rest), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    assert_eq!(rest[1].value()["outcome"], json!({"type":"cancelled"}));

    let scene = Scene::new(|_| {});
    let (agent, answer) = scene.run().await;
    drop(agent);
    let rest = answer.all().await;
    assert_eq!(kinds(&rest), ["TEXT_MESSAGE_END", "RUN_ERROR"]);
    assert_eq!(rest[1].value()["code"], "truncated");
    assert_eq!((scene.stored().await, scene.status().await), (4, json!("failed")));

    let scene = Scene::new(|_| {});
    let (agent, answer) = scene.run().await;
    agent.fail("upstream_broken", "no more");
    assert_eq!(answer.all().await[1].value()["code"], "upstream_broken");
    assert_eq!(scene.status().await, "failed");

    let scene = Scene::new(|_| {});
    let (_agent, answer) = scene.run().await;
    scene.server.app.shut_down().await;
    assert_eq!(answer.all().await[1].value()["code"], "shutdown");
    assert_eq!(scene.status().await, "failed");
}

#[tokio::test(start_paused = true)]
async fn history_follows_what_is_stored() {
    let scene = Scene::new(|_| {});
    let (agent, answer) = scene.run().await;
    pass(SECOND).await;
    let follower = scene.server.post("/history?follow=true", &json!({"threadId":"t"})).await;
    agent.say(&piece("x"));
    agent.say(&piece("y"));
    agent.say(&finished());
    answer.all().await;
    let frames = follower.all().await;
    assert_eq!(messages(&folded(&frames))[1]["content"], "xy");
    assert_eq!(kinds(&frames).last().unwrap(), "RUN_FINISHED");
}

/// Stores nothing but the ends of runs.
#[derive(Debug)]
struct EndsOnly;

impl Aggregator for EndsOnly {
    fn push(&self, _run: RunNo, record: NewRecord) -> Vec<NewRecord> {
        let is_end = String::from_utf8_lossy(&record.bytes).contains("RUN_FINISHED");
        is_end.then_some(record).into_iter().collect()
    }

    fn flush(&self, _run: RunNo) -> Vec<NewRecord> {
        Vec::new()
    }
}

#[tokio::test(start_paused = true)]
async fn aggregators_may_be_ones_own() {
    let aggregators = Aggregators::new(|_| Arc::new(EndsOnly));
    let server = Harness::made(Arc::new(MemoryStore::new()), buffered(|_| {}), |app| {
        app.with_aggregators(aggregators)
    });
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"CUSTOM","name":"n","value":1}));
    agent.say(&finished());
    assert_eq!(kinds(&answer.all().await), ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"]);
    let page = server.get("/v1/threads/t/events", &[]).await.json().await;
    assert_eq!(page["records"].as_array().unwrap().len(), 2);
}

/// Runs of a thread that overlap share its aggregator, and none of them gets what is another's.
#[tokio::test(start_paused = true)]
async fn a_thread_has_one_aggregator() {
    let made = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&made);
    let aggregators = Aggregators::new(move |thread| {
        assert_eq!(thread.thread.as_str(), "t");
        counted.fetch_add(1, Ordering::SeqCst);
        Arc::new(Merging::default())
    });
    let server = Harness::made(Arc::new(MemoryStore::new()), buffered(|_| {}), |app| {
        app.with_aggregators(aggregators)
    });
    let agent = server.agent.next_run();
    let first = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&finished());
    first.all().await;
    drop(agent);
    pass(SECOND).await;
    let before = made.load(Ordering::SeqCst);
    let runs = ["r2", "r3"];
    let agents = runs.map(|_| server.agent.next_run());
    let mut answers = Vec::new();
    for run in runs {
        let mut fork = request(run, &json!([]));
        fork["parentRunId"] = json!("r1");
        answers.push(server.post("/agui", &fork).await);
    }
    for delta in ["one ", "two"] {
        for (run, agent) in runs.iter().zip(&agents) {
            agent.say(&piece(&format!("{run}:{delta}")));
            pass(SECOND / 10).await;
        }
    }
    agents.iter().for_each(|agent| agent.say(&finished()));
    for answer in answers {
        answer.all().await;
    }
    assert_eq!(made.load(Ordering::SeqCst), before + 1);
    for run in runs {
        let held = server.get(&format!("/v1/threads/t/messages?run={run}"), &[]).await.json().await;
        assert_eq!(held["messages"][0]["content"], format!("{run}:one {run}:two"));
    }
}
