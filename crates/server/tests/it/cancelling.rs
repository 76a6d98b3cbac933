//! Stopping runs.

use crate::harness::{Harness, folded, kinds, request};
use serde_json::json;
use std::sync::Arc;
use threadline_server::Settings;
use threadline_testkit::store::{Gate, GatedStore};
use tokio::time::Instant;

#[tokio::test]
async fn a_run_is_stopped_and_says_so() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}));
    let mut frames = answer.until("TOOL_CALL_START").await;
    let stopped = server.post("/cancel", &json!({"threadId":"t","runId":"r1"})).await.json().await;
    assert_eq!(stopped, json!({"threadId":"t","runId":"r1","status":"cancelled"}));
    agent.let_go().await;
    frames.extend(answer.all().await);
    assert_eq!(
        kinds(&frames),
        ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    );
    assert_eq!(frames[4].value()["outcome"], json!({"type":"cancelled"}));
    folded(&frames);
    // A second stop, or one that comes too late, says how it ended.
    let again =
        server.post("/agents/puppet/cancel", &json!({"threadId":"t","runId":"r1"})).await.json().await;
    assert_eq!(again["status"], "cancelled");
}

#[tokio::test]
async fn without_an_id_the_only_run_is_stopped() {
    let server = Harness::new();
    let cancel = async || server.post("/cancel", &json!({"threadId":"t"})).await;
    assert_eq!(cancel().await.refusal().await.1, "thread_not_found");
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    assert_eq!(cancel().await.json().await["runId"], "r1");
    agent.let_go().await;
    let (status, code, _) = cancel().await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "no_active_run"));
    let unknown = server.post("/cancel", &json!({"threadId":"t","runId":"x"})).await.refusal().await;
    assert_eq!((unknown.0, unknown.1.as_str()), (404, "run_not_found"));
}

#[tokio::test]
async fn several_runs_must_be_told_apart() {
    let server = Harness::new();
    let done = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    done.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    let (_one, _two) = (server.agent.next_run(), server.agent.next_run());
    for run in ["r2", "r3"] {
        // Both are children of the first.
        let mut body = request(run, &json!([]));
        body["parentRunId"] = json!("r1");
        server.post("/agui", &body).await.next().await.unwrap();
    }
    let (status, code, _) = server.post("/cancel", &json!({"threadId":"t"})).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "several_active_runs"));
    for run in ["r2", "r3"] {
        let stopped = server.post("/cancel", &json!({"threadId":"t","runId":run})).await.json().await;
        assert_eq!(stopped["status"], "cancelled");
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_its_runs() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    answer.until("TEXT_MESSAGE_START").await;
    server.app.shut_down().await;
    let rest = answer.all().await;
    assert_eq!(kinds(&rest), ["TEXT_MESSAGE_END", "RUN_ERROR"]);
    assert_eq!(rest[1].value()["code"], "shutdown");
    let (status, code, _) = server.post("/agui", &request("r2", &json!([]))).await.refusal().await;
    assert_eq!((status, code.as_str()), (503, "shutting_down"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_does_not_wait_for_agents_that_do_not() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    let start = Instant::now();
    server.app.shut_down().await;
    assert_eq!(start.elapsed().as_secs(), 0);
    agent.let_go().await;
}

/// The clean end of a stream would read as the end of the run.
#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_ended_in_time_is_cut() {
    let store = Arc::<GatedStore>::default();
    let server = Harness::on(store.clone(), Settings::default());
    let _agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    store.set(Gate::Shut);
    server.app.shut_down().await;
    answer.cut().await;
}
