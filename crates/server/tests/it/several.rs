//! Several instances on one store: whichever is asked answers, whichever executes the run.

use crate::harness::{Answer, Frame, Harness, folded, kinds, messages, request, user};
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use threadline_server::{Settings, keep_up};
use threadline_testkit::store::{Hearing, SharedStore};
use tokio::task::JoinSet;
use tokio::time::Instant;

const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}"#;

/// Two instances.
struct Pair {
    one: Harness,
    two: Harness,
    /// Where the first hears of the second.
    hears: Arc<SharedStore>,
    _keeping_up: JoinSet<()>,
}

impl Pair {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let hears = Arc::<SharedStore>::default();
        let two = Arc::new(hears.second());
        let one = Harness::on(hears.clone(), settings.clone());
        let two = one.beside(two, settings);
        let mut keeping_up = JoinSet::new();
        for server in [&one, &two] {
            keeping_up.spawn(keep_up(server.app.clone(), Duration::from_secs(1)));
        }
        Self { one, two, hears, _keeping_up: keeping_up }
    }
}

fn said(text: &str) -> Value {
    json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"a","role":"assistant","delta":text})
}

async fn connect(server: &Harness) -> Answer {
    server.post("/agui/connect", &json!({"threadId":"t","runId":"c","protocolVersion":"1.0"})).await
}

fn last(frames: &[Frame]) -> Value {
    frames.last().unwrap().value()
}

#[tokio::test]
async fn a_run_is_read_wherever_one_asks() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let mut answer = pair.one.post("/agui", &request("r1", &json!([user("u", "Hi")]))).await;
    agent.say(&said("Hel"));
    let mut direct = answer.until("TEXT_MESSAGE_CHUNK").await;
    let mut attached = connect(&pair.two).await;
    let mut there = attached.until("MESSAGES_SNAPSHOT").await;
    // The same request again is the same run.
    let joined = pair.two.post("/agui", &request("r1", &json!([user("u", "Hi")]))).await;
    let mut envelopes = pair.two.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    agent.say(&said("lo"));
    agent.say_text(FINISHED);
    direct.extend(answer.all().await);
    there.extend(attached.all().await);
    let joined = joined.all().await;
    let expected = messages(&folded(&direct));
    assert_eq!(expected[1]["content"], "Hello");
    assert_eq!(messages(&folded(&there)), expected);
    assert_eq!(messages(&folded(&joined)), expected);
    for offset in 0..4 {
        assert_eq!(envelopes.next().await.unwrap().value()["offset"], offset);
    }
    let history = pair.two.post("/history", &json!({"threadId":"t","runId":"h"})).await.all().await;
    assert_eq!(messages(&folded(&history)), expected);
    for path in ["/v1/threads/t/runs", "/v1/threads/t/messages", "/v1/threads/t/state", "/v1/threads/t"] {
        let [one, two] = [pair.one.get(path, &[]).await, pair.two.get(path, &[]).await];
        assert_eq!(one.json().await, two.json().await, "{path}");
    }
}

#[tokio::test]
async fn a_cursor_is_good_everywhere() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let mut answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
    for text in ["a", "b", "c"] {
        agent.say(&said(text));
    }
    let mut frames = answer.until("TEXT_MESSAGE_CHUNK").await;
    let cursor = frames.last().unwrap().id.clone().unwrap();
    let body = json!({"threadId":"t","runId":"c","protocolVersion":"1.0"}).to_string();
    let rest = pair.two.post_with("/agui/connect", &[("last-event-id", &cursor)], body).await;
    agent.say_text(FINISHED);
    let rest = rest.all().await;
    assert_eq!(rest, answer.all().await);
    frames.extend(rest);
    assert_eq!(messages(&folded(&frames))[0]["content"], "abc");
}

#[tokio::test]
async fn a_run_is_in_the_way_wherever_it_is_executed() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
    let (status, code, details) = pair.two.post("/agui", &request("r2", &json!([]))).await.refusal().await;
    assert_eq!((status, code.as_str(), &details["runId"]), (409, "run_active", &json!("r1")));
    let other = pair.two.post("/agui", &request("r1", &json!([user("u", "other")]))).await;
    assert_eq!(other.refusal().await.1, "run_id_reused");
    let deleted = pair.two.ask(Method::DELETE, "/v1/threads/t", None).await;
    assert_eq!(deleted.refusal().await.1, "run_active");
    // What a server executes takes no events from outside.
    let lines = [("content-type", "application/x-ndjson")];
    let event = r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned();
    let outside = pair.two.post_with("/v1/threads/t/events?run=r1", &lines, event).await;
    assert_eq!(outside.refusal().await.1, "run_active");
    agent.say_text(FINISHED);
    answer.all().await;
    let next = pair.two.agent.next_run();
    let answer = pair.two.post("/agui", &request("r2", &json!([]))).await;
    next.say_text(FINISHED);
    assert_eq!(last(&answer.all().await)["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn outside_events_are_taken_by_any_instance() {
    let pair = Pair::new();
    let lines = [("content-type", "application/x-ndjson")];
    let mut answer = None;
    for (server, event) in [
        (
            &pair.one,
            json!({"type":"RUN_STARTED","threadId":"t","runId":"r1","input":request("r1", &json!([]))}),
        ),
        (&pair.two, said("Hel")),
        (&pair.one, said("lo")),
    ] {
        let given = server.post_with("/v1/threads/t/events?run=r1", &lines, event.to_string()).await;
        assert_eq!(given.status, 200);
        if answer.is_none() {
            answer = Some(connect(&pair.two).await);
        }
    }
    let stopped = pair.two.post("/cancel", &json!({"threadId":"t"})).await.json().await;
    assert_eq!(stopped["status"], "cancelled");
    let frames = answer.unwrap().all().await;
    assert_eq!(messages(&folded(&frames))[0]["content"], "Hello");
    let late = pair.one.post_with("/v1/threads/t/events?run=r1", &lines, said("!").to_string()).await;
    assert_eq!(late.refusal().await.1, "run_ended");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_stopped_from_another_instance() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let mut answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}));
    let mut frames = answer.until("TOOL_CALL_START").await;
    let mut attached = connect(&pair.two).await;
    attached.until("TOOL_CALL_START").await;
    let begun = Instant::now();
    let stopped = pair.two.post("/cancel", &json!({"threadId":"t","runId":"r1"})).await.json().await;
    assert_eq!(stopped, json!({"threadId":"t","runId":"r1","status":"cancelled"}));
    // It hears of it at once, though its agent says nothing.
    agent.let_go().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    frames.extend(answer.all().await);
    assert_eq!(
        kinds(&frames),
        ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    );
    assert_eq!(last(&frames)["outcome"], json!({"type":"cancelled"}));
    folded(&frames);
    assert_eq!(last(&attached.all().await)["outcome"], json!({"type":"cancelled"}));
    let again = pair.one.post("/cancel", &json!({"threadId":"t","runId":"r1"})).await.json().await;
    assert_eq!(again["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_stop_a_run_both_are_right() {
    for _ in 0..20 {
        let pair = Pair::new();
        let _agent = pair.one.agent.next_run();
        let answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
        let body = json!({"threadId":"t","runId":"r1"});
        let stopped = tokio::join!(pair.one.post("/cancel", &body), pair.two.post("/cancel", &body));
        for stopped in [stopped.0, stopped.1] {
            assert_eq!(stopped.json().await["status"], "cancelled");
        }
        assert_eq!(kinds(&answer.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
    }
}

/// Without news, a run finds out when its lease is renewed, and its readers when they look.
#[tokio::test(start_paused = true)]
async fn a_run_that_was_stopped_elsewhere_ends_without_news() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
    pair.hears.set_hearing(Hearing::Deaf);
    let begun = Instant::now();
    pair.two.post("/cancel", &json!({"threadId":"t","runId":"r1"})).await.json().await;
    assert_eq!(kinds(&answer.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
    assert!(begun.elapsed() <= Duration::from_secs(1), "{:?}", begun.elapsed());
    agent.let_go().await;
    assert!(begun.elapsed() <= Duration::from_secs(2), "a third of the lease: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_run_that_is_executed_elsewhere_is_superseded() {
    let pair = Pair::with(toml::from_str("runs.on_busy = 'supersede'").unwrap());
    let (old, new) = (pair.one.agent.next_run(), pair.two.agent.next_run());
    let mut first = pair.one.post("/agui", &request("r1", &json!([]))).await;
    old.say(&said("Hello"));
    first.until("TEXT_MESSAGE_CHUNK").await;
    let second = pair.two.post("/agui", &request("r2", &json!([]))).await;
    assert_eq!(last(&first.all().await)["outcome"], json!({"type":"cancelled"}));
    old.let_go().await;
    new.say_text(FINISHED);
    assert_eq!(kinds(&second.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[tokio::test]
async fn a_thread_is_deleted_wherever_it_is_used() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let _reader = pair.one.post("/agui", &request("r1", &json!([]))).await;
    let envelopes = pair.one.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    let deleted = pair.two.ask(Method::DELETE, "/v1/threads/t?cancel=true", None).await;
    assert_eq!(deleted.status, 204);
    agent.let_go().await;
    envelopes.cut().await;
    assert_eq!(pair.one.get("/v1/threads/t", &[]).await.refusal().await.1, "thread_not_found");
    // The name is free, and nothing of the old one comes into it.
    let agent = pair.one.agent.next_run();
    let answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
    agent.say_text(FINISHED);
    assert_eq!(kinds(&answer.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[tokio::test]
async fn lists_show_what_other_instances_do() {
    let pair = Pair::new();
    let mut changes = pair.two.get("/v1/changes", &[]).await;
    changes.until("listed").await;
    pair.one.talk("t", "r1", "Hi", "Hello").await;
    loop {
        let change = changes.next().await.unwrap().value();
        assert_eq!((&change["type"], &change["thread"]["threadId"]), (&json!("thread"), &json!("t")));
        if change["thread"]["status"] == "finished" {
            break;
        }
    }
    pair.one.ask(Method::DELETE, "/v1/threads/t", None).await;
    while changes.next().await.unwrap().value() != json!({"type":"deleted","threadId":"t"}) {}
}

/// As one that was stopped and goes on later: its leases are over, and others have closed its runs.
#[tokio::test(start_paused = true)]
async fn an_instance_that_was_asleep_writes_no_more() {
    let pair = Pair::new();
    let agent = pair.one.agent.next_run();
    let mut answer = pair.one.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&said("Hel"));
    let mut frames = answer.until("TEXT_MESSAGE_CHUNK").await;
    pair.hears.set_hearing(Hearing::Late);
    pair.one.jump(Duration::from_hours(1));
    let closed = pair.two.app.engine().close_expired().await.unwrap();
    assert_eq!(closed.len(), 1);
    // It goes on as if nothing had happened.
    agent.say(&said("lo"));
    agent.let_go().await;
    pair.hears.set_hearing(Hearing::Good);
    frames.extend(answer.all().await);
    assert_eq!(
        (last(&frames)["type"].as_str(), &last(&frames)["code"]),
        (Some("RUN_ERROR"), &json!("abandoned"))
    );
    assert_eq!(messages(&folded(&frames))[0]["content"], "Hel", "nothing of it came after");
    let records = pair.two.get("/v1/threads/t/events", &[]).await.json().await;
    assert!(!records.to_string().contains("lo\""), "{records}");
    // The thread goes on, at any instance.
    let agent = pair.one.agent.next_run();
    let answer = pair.one.post("/agui", &request("r2", &json!([]))).await;
    agent.say_text(FINISHED);
    assert_eq!(last(&answer.all().await)["type"], "RUN_FINISHED");
}
