//! The history route.

use crate::harness::{Harness, folded, kinds, messages, request, user};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use threadline_server::Settings;
use threadline_testkit::store::GatedStore;

async fn talk(server: &Harness) {
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([user("u", "hi")]))).await;
    agent.say(&json!({"type":"STATE_SNAPSHOT","snapshot":{"n":1}}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"hello"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1","result":{"x":1}}));
    answer.all().await;
}

fn ask() -> Value {
    json!({"threadId":"t","runId":"h","protocolVersion":"1.0"})
}

#[tokio::test]
async fn three_events_and_nothing_is_stored() {
    let server = Harness::new();
    let empty = server.post("/history", &ask()).await.all().await;
    assert_eq!(kinds(&empty), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(server.get("/v1/threads/t/runs", &[]).await.status, 404);
    talk(&server).await;
    let before = server.get("/v1/threads/t/events", &[]).await.json().await;
    for path in ["/history", "/agents/puppet/history"] {
        let frames = server.post(path, &ask()).await.all().await;
        assert_eq!(kinds(&frames), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
        assert_eq!((&frames[0].value()["runId"], &frames[2].value()["runId"]), (&json!("h"), &json!("h")));
        let hello = json!({"id":"a","role":"assistant","content":"hello"});
        assert_eq!(messages(&folded(&frames)), json!([user("u", "hi"), hello]));
    }
    let minted = server.post("/history", &json!({"threadId":"t"})).await.all().await;
    assert_eq!(minted[0].value()["runId"], minted[2].value()["runId"]);
    assert_eq!(server.get("/v1/threads/t/events", &[]).await.json().await, before);
}

#[tokio::test]
async fn the_state_may_be_asked_for() {
    let server = Harness::new();
    talk(&server).await;
    let frames = server.post("/history?state=true", &ask()).await.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(frames[1].value()["snapshot"], json!({"n":1}));
}

#[tokio::test]
async fn runs_may_be_shown_as_messages() {
    let store = Arc::<GatedStore>::default();
    let server = Harness::on(store.clone(), Settings::default());
    talk(&server).await;
    let agent = server.agent.next_run();
    let mut running = server.post("/agui", &request("r2", &json!([]))).await;
    running.next().await.unwrap();
    // Whoever asks may be faster than who sums up what the run has said.
    store.set_forgetful(true);
    agent.fail("c", "why");
    running.all().await;
    let frames = server.post("/history?lifecycle=true", &ask()).await.all().await;
    let shown = messages(&folded(&frames));
    let activity = |id: &str, kind: &str, content: Value| json!({"id":id,"role":"activity","activityType":kind,"content":content});
    let ids = |run: &str| json!({"threadId":"t","runId":run});
    let with = |run: &str, more: Value| {
        let mut content = ids(run);
        content.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        content
    };
    assert_eq!(
        shown,
        json!([
            activity("RUN_STARTED_0", "RUN_STARTED", ids("r1")),
            user("u", "hi"),
            {"id":"a","role":"assistant","content":"hello"},
            activity("RUN_FINISHED_3", "RUN_FINISHED", with("r1", json!({"result":{"x":1}}))),
            activity("RUN_STARTED_4", "RUN_STARTED", ids("r2")),
            activity("RUN_ERROR_5", "RUN_ERROR", with("r2", json!({"message":"why","code":"c"}))),
        ])
    );
}

#[tokio::test]
async fn during_a_run_it_answers_at_once_or_follows_to_the_end() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut running = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"half"}));
    running.until("TEXT_MESSAGE_CONTENT").await;
    let at_once = server.post("/history", &ask()).await.all().await;
    assert_eq!(messages(&folded(&at_once)), json!([{"id":"a","role":"assistant","content":"half"}]));
    let following = server.post("/history?follow=true", &ask()).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":" more"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"a"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1","result":7}));
    let frames = following.all().await;
    assert_eq!(
        kinds(&frames),
        [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(messages(&folded(&frames))[0]["content"], "half more");
    let end = frames[5].value();
    assert_eq!((&end["runId"], &end["result"]), (&json!("h"), &json!(7)));
    assert_eq!(end["metadata"]["threadline"]["runId"], "r1");
}

#[tokio::test(start_paused = true)]
async fn following_ends_some_time_and_the_run_goes_on() {
    let mut settings = Settings::default();
    settings.history.follow = true;
    settings.history.follow_max_duration = Some(Duration::from_secs(5));
    let server = Harness::with(settings);
    let agent = server.agent.next_run();
    let mut running = server.post("/agui", &request("r1", &json!([]))).await;
    running.next().await.unwrap();
    let frames = server.post("/history", &ask()).await.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_ERROR"]);
    assert_eq!(frames[2].value()["code"], "follow_timeout");
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    assert_eq!(kinds(&running.all().await), ["RUN_FINISHED"]);
}

#[tokio::test]
async fn the_route_can_be_elsewhere_or_nowhere() {
    let mut settings = Settings::default();
    settings.paths.history = "/past".to_owned();
    let server = Harness::with(settings.clone());
    assert_eq!(server.post("/past", &ask()).await.status, 200);
    assert_eq!(server.post("/history", &ask()).await.refusal().await.1, "not_found");
    settings.history.enabled = false;
    let server = Harness::with(settings);
    assert_eq!(server.post("/past", &ask()).await.status, 404);
    assert_eq!(server.post("/agents/puppet/history", &ask()).await.status, 404);
}

#[tokio::test]
async fn a_history_that_cannot_be_read_says_so_within_the_stream() {
    let store = Arc::<GatedStore>::default();
    let server = Harness::on(store.clone(), Settings::default());
    talk(&server).await;
    store.set_damaged(true);
    for path in ["/history", "/history?follow=true", "/agents/puppet/history?lifecycle=true"] {
        let frames = server.post(path, &ask()).await.all().await;
        assert_eq!(kinds(&frames), ["RUN_STARTED", "RUN_ERROR"], "{path}");
        assert_eq!((&frames[0].value()["threadId"], &frames[0].value()["runId"]), (&json!("t"), &json!("h")));
        assert_eq!(frames[1].value()["code"], "history_unavailable");
        assert!(!frames[1].json.contains("secret"), "files are for the log of the server");
    }
    store.set_damaged(false);
    assert_eq!(server.post("/history", &ask()).await.all().await.len(), 3);
}
