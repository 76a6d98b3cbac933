//! Runs.

use crate::harness::{Harness, folded, kinds, messages, request, user};
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::delivery::UnknownEvents;
use threadline_server::Settings;
use threadline_server::settings::{History, OnBusy};
use threadline_testkit::store::GatedStore;
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn a_run_is_told_as_it_goes_and_kept() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([user("u", "hi")]))).await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let started = answer.next().await.unwrap();
    assert_eq!(started.value()["runId"], "r1");
    assert_eq!(started.value()["protocolVersion"], "1.0");
    assert_eq!(started.value()["input"]["messages"], json!([user("u", "hi")]));
    agent.say(&json!({"type":"RUN_STARTED","threadId":"t","runId":"r1"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    agent.say_text(r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"hello","vendor":1}"#);
    let frames = answer.until("TEXT_MESSAGE_CONTENT").await;
    assert_eq!(frames[1].json, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"hello"}"#);
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"a"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"other","runId":"x"}));
    let end = answer.until("RUN_FINISHED").await.pop().unwrap();
    assert_eq!((&end.value()["threadId"], &end.value()["runId"]), (&json!("t"), &json!("r1")));
    assert_eq!(answer.next().await, None);

    let held = server.get("/v1/threads/t/messages", &[]).await.json().await;
    let hello = json!({"id":"a","role":"assistant","content":"hello"});
    assert_eq!(held["messages"], json!([user("u", "hi"), hello]));
    let runs = server.get("/v1/threads/t/runs", &[]).await.json().await;
    assert_eq!(runs["runs"][0]["status"], "finished");
}

#[tokio::test]
async fn who_leaves_does_not_stop_a_run() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agents/puppet", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    drop(answer);
    agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"unseen"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    server.end_of_run().await;
    let frames = server.post("/agui/connect", &request("c", &json!([]))).await.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(messages(&folded(&frames)), json!([{"id":"a","role":"assistant","content":"unseen"}]));
}

#[tokio::test]
async fn a_source_that_stops_or_fails_ends_its_run() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    drop(agent);
    let frames = answer.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_ERROR"]);
    assert_eq!(frames[3].value()["code"], "truncated");
    folded(&frames);

    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("error", &json!([]))).await;
    agent.say(&json!({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}));
    agent.say(&json!({"type":"RUN_ERROR","message":"its own"}));
    let frames = answer.all().await;
    let closed = ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_ERROR"];
    assert_eq!(kinds(&frames), closed);
    assert_eq!(frames[4].value()["message"], "its own");
    folded(&frames);

    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r2", &json!([]))).await;
    agent.fail("upstream_unreachable", "nobody there");
    let frames = answer.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "RUN_ERROR"]);
    assert_eq!(
        (&frames[1].value()["code"], &frames[1].value()["message"]),
        (&json!("upstream_unreachable"), &json!("nobody there"))
    );

    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r3", &json!([]))).await;
    agent.say_text("{ this is no JSON");
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r3"}));
    assert_eq!(kinds(&answer.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_with_ids_of_its_own_need_not_hang_up() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"RUN_STARTED","threadId":"mine","runId":"mine"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"mine","runId":"mine"}));
    let frames = answer.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "RUN_FINISHED"]);
    assert_eq!(frames[1].value()["runId"], "r1");
    agent.let_go().await;
}

#[tokio::test]
async fn events_of_other_types_are_kept_and_shown_if_that_is_wanted() {
    for unknown in [UnknownEvents::Drop, UnknownEvents::Custom("vendor.".to_owned())] {
        let mut settings = Settings::default();
        settings.runs.unknown = unknown.clone();
        let server = Harness::with(settings);
        let agent = server.agent.next_run();
        let answer = server.post("/agui", &request("r1", &json!([]))).await;
        let odd = r#"{"type":"THOUGHT","n":1.50}"#;
        agent.say_text(odd);
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
        let frames = answer.all().await;
        match unknown {
            UnknownEvents::Drop => assert_eq!(kinds(&frames), ["RUN_STARTED", "RUN_FINISHED"]),
            UnknownEvents::Custom(_) => {
                assert_eq!(kinds(&frames), ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"]);
                let custom = format!(r#"{{"type":"CUSTOM","name":"vendor.THOUGHT","value":{odd}}}"#);
                assert_eq!(frames[1].json, custom);
            }
        }
        let page = server.get("/v1/threads/t/events", &[]).await.body().await;
        assert!(String::from_utf8_lossy(&page).contains(odd));
    }
}

#[tokio::test]
async fn however_much_comes_at_once_nothing_is_lost() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    for piece in 0..2_000 {
        agent.say(&json!({"type":"CUSTOM","name":"piece","value":piece}));
    }
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    let frames = server.post("/agui", &request("r1", &json!([]))).await.all().await;
    let pieces = frames.iter().filter_map(|frame| frame.value()["value"].as_i64());
    assert_eq!(pieces.collect::<Vec<_>>(), Vec::from_iter(0..2_000));
}

#[tokio::test(start_paused = true)]
async fn a_run_may_go_on_for_so_long() {
    for (max, end) in [(Some(Duration::from_secs(10)), "run_timeout"), (None, "truncated")] {
        let mut settings = Settings::default();
        settings.runs.run_timeout = max;
        let server = Harness::with(settings);
        let agent = server.agent.next_run();
        let answer = server.post("/agui", &request("r1", &json!([]))).await;
        tokio::spawn(async move {
            // Two hours of an agent that is never silent for long.
            for _ in 0..7200 {
                agent.say(&json!({"type":"CUSTOM","name":"beat","value":null}));
                sleep(Duration::from_secs(1)).await;
            }
        });
        let start = Instant::now();
        let frames = answer.all().await;
        assert_eq!(frames.last().unwrap().value()["code"], end);
        assert_eq!(start.elapsed().as_secs(), max.map_or(7200, |max| max.as_secs()));
    }
}

#[tokio::test]
async fn while_a_run_goes_on_another_is_refused() {
    let server = Harness::new();
    let _agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    let (status, code, details) = server.post("/agui", &request("r2", &json!([]))).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "run_active"));
    assert_eq!(details, json!({"runId": "r1"}));
}

#[tokio::test]
async fn a_run_may_supersede_another() {
    let mut settings = Settings::default();
    settings.runs.on_busy = OnBusy::Supersede;
    let server = Harness::with(settings);
    let first = server.agent.next_run();
    let second = server.agent.next_run();
    let mut one = server.post("/agui", &request("r1", &json!([]))).await;
    first.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"kept"}));
    one.until("TEXT_MESSAGE_CHUNK").await;
    let two = server.post("/agui", &request("r2", &json!([]))).await;
    first.let_go().await;
    let end = one.until("RUN_FINISHED").await.pop().unwrap();
    assert_eq!(end.value()["outcome"], json!({"type": "cancelled"}));
    second.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r2"}));
    assert_eq!(kinds(&two.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
    let held = server.get("/v1/threads/t/messages", &[]).await.json().await;
    assert_eq!(held["messages"][0]["content"], "kept");
}

/// Whoever finds a run in its way may find it before it is executed.
#[tokio::test(start_paused = true)]
async fn a_run_that_has_just_been_opened_can_be_superseded_and_cancelled() {
    let mut settings = Settings::default();
    settings.runs.on_busy = OnBusy::Supersede;
    let store = Arc::<GatedStore>::default();
    let server = Harness::on(store.clone(), settings);
    let (_first, second) = (server.agent.next_run(), server.agent.next_run());
    let bodies = ["r1", "r2"].map(|run| request(run, &json!([])));
    let cancel = json!({"threadId":"t","runId":"r1"});
    store.set_silent(true);
    let others = async {
        store.wait_for_runs(1).await;
        let soon = async {
            // The others have looked for it by then.
            sleep(Duration::from_secs(1)).await;
            store.set_silent(false);
        };
        tokio::join!(server.post("/agui", &bodies[1]), server.post("/cancel", &cancel), soon)
    };
    let (one, (two, cancelled, ())) = tokio::join!(server.post("/agui", &bodies[0]), others);
    assert_eq!(cancelled.json().await["status"], "cancelled");
    assert_eq!(one.all().await.pop().unwrap().value()["outcome"], json!({"type":"cancelled"}));
    second.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r2"}));
    assert_eq!(kinds(&two.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_request_many_times_at_once_starts_one_run() {
    for _ in 0..20 {
        let server = Harness::new();
        let agent = server.agent.next_run();
        agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"once"}));
        let body = request("r1", &json!([user("u", "hi")]));
        let answers = join_all((0..8).map(|_| server.post("/agui", &body))).await;
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
        for answer in answers {
            let held = messages(&folded(&answer.all().await));
            assert_eq!(held, json!([user("u", "hi"), {"id":"a","role":"assistant","content":"once"}]));
        }
        assert_eq!(server.agent.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_same_request_starts_one_run() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let body = request("r1", &json!([]));
    let mut first = server.post("/agui", &body).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"once"}));
    first.until("TEXT_MESSAGE_CONTENT").await;
    let again = server.post("/agui", &body).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"a"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    let frames = again.all().await;
    assert_eq!(messages(&folded(&frames)), json!([{"id":"a","role":"assistant","content":"once"}]));
    let later = server.post("/agui", &body).await.all().await;
    assert_eq!(messages(&folded(&later)), messages(&folded(&frames)));
    assert_eq!(server.agent.requests().len(), 1);

    let mut other = body.clone();
    other["state"] = json!({"x": 1});
    let (status, code, _) = server.post("/agui", &other).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "run_id_reused"));
}

#[tokio::test]
async fn an_agent_gets_the_request_as_it_came_or_the_whole_branch() {
    for history in [History::Client, History::Server] {
        let mut settings = Settings::default();
        settings.runs.history = history;
        let server = Harness::with(settings);
        for (run, message) in [("r1", user("u1", "one")), ("r2", user("u2", "two"))] {
            let agent = server.agent.next_run();
            let answer = server.post("/agui", &request(run, &json!([message]))).await;
            agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
            answer.all().await;
        }
        let given = server.agent.requests().pop().unwrap().body;
        let given: serde_json::Value = serde_json::from_slice(&given).unwrap();
        match history {
            History::Client => assert_eq!(given, request("r2", &json!([user("u2", "two")]))),
            History::Server => assert_eq!(given["messages"], json!([user("u1", "one"), user("u2", "two")])),
        }
    }
}

#[tokio::test]
async fn edit_and_regenerate_are_forks() {
    let server = Harness::new();
    let say = async |run: &str, sent: serde_json::Value, id: &str| {
        let agent = server.agent.next_run();
        let answer = server.post("/agui", &request(run, &sent)).await;
        agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":id,"delta":run}));
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
        answer.all().await;
    };
    let answer = |id: &str, run: &str| json!({"id":id,"role":"assistant","content":run});
    say("r1", json!([user("u1", "one")]), "a1").await;
    say("r2", json!([user("u1", "one"), answer("a1", "r1"), user("u2", "two")]), "a2").await;
    // Another answer to the same question, and another question in its place.
    say("r3", json!([user("u1", "one"), answer("a1", "r1"), user("u2", "two")]), "a3").await;
    say("r4", json!([user("u4", "edited")]), "a4").await;
    let runs = server.get("/v1/threads/t/runs", &[]).await.json().await;
    let parents: Vec<_> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["parentRunId"].clone()).collect();
    assert_eq!(parents[..3], [json!(null), json!("r1"), json!("r1")]);
    for (run, last) in [("r2", "a2"), ("r3", "a3")] {
        let held = server.get(&format!("/v1/threads/t/messages?run={run}"), &[]).await.json().await;
        assert_eq!(held["messages"][3]["id"], last);
        let frames =
            server.post(&format!("/agui/connect?run={run}"), &request("c", &json!([]))).await.all().await;
        assert_eq!(messages(&folded(&frames))[3]["id"], last);
    }
}

/// A request may be larger than an event: readers would give up on a start that repeats it.
#[tokio::test]
async fn a_start_repeats_no_more_than_an_event_may_have() {
    let server = Harness::new();
    for (run, bytes, is_there) in [("r1", 10, true), ("r2", 11 * 1024 * 1024, false)] {
        let agent = server.agent.next_run();
        let answer = server.post("/agui", &request(run, &json!([user(run, &"x".repeat(bytes))]))).await;
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
        let frames = answer.all().await;
        assert_eq!(kinds(&frames), ["RUN_STARTED", "RUN_FINISHED"]);
        assert_eq!(frames[0].value().get("input").is_some(), is_there);
    }
}
