//! What the inspector asks beyond what clients do.

use crate::harness::{Harness, request};
use serde_json::{Value, json};

#[tokio::test]
async fn what_is_wrong_with_a_run_is_told_with_its_offsets() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"RUN_STARTED","threadId":"t","runId":"r1","protocolVersion":"1.0"}));
    agent.say(&json!({"type":"textMessageStart","message_id":"m"}));
    answer.next().await.unwrap();
    let mut records = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    for _ in 0..3 {
        records.next().await.unwrap();
    }
    let path = "/v1/threads/t/runs/r1/findings";
    let so_far = server.get(path, &[]).await.json().await;
    let codes = |report: &Value| -> Vec<(String, Value)> {
        let findings = report["findings"].as_array().unwrap();
        findings
            .iter()
            .map(|one| (one["code"].as_str().unwrap().to_owned(), one["offsets"].clone()))
            .collect()
    };
    // That it has no end is no finding while it goes on.
    let spelling = [("type_spelling".to_owned(), json!([2])), ("member_spelling".to_owned(), json!([2]))];
    assert_eq!(codes(&so_far), spelling, "{so_far:#}");
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    let report = server.get(path, &[]).await.json().await;
    assert_eq!((&report["threadId"], &report["runId"]), (&json!("t"), &json!("r1")));
    assert!(codes(&report).len() > 2, "a message without an end: {report:#}");
    assert!(
        report["findings"].as_array().unwrap().iter().all(|one| one["offsets"] != json!([0])),
        "{report:#}"
    );
    assert_eq!(server.get("/v1/threads/t/runs/none/findings", &[]).await.refusal().await.1, "run_not_found");
}

#[tokio::test]
async fn a_run_whose_source_said_no_start_is_checked_with_the_one_that_was_made() {
    let server = Harness::new();
    server.talk("t", "r1", "Hi", "Hello").await;
    let report = server.get("/v1/threads/t/runs/r1/findings", &[]).await.json().await;
    assert_eq!((&report["verdict"], &report["findings"]), (&json!("conformant"), &json!([])), "{report:#}");
}

#[tokio::test]
async fn followers_leases_and_what_is_durable_can_be_seen() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    let live = server.get("/v1/threads/t/live", &[]).await.json().await;
    assert_eq!((&live["durable"], &live["followers"]), (&json!(1), &json!(1)), "{live:#}");
    assert_eq!((&live["runs"][0]["runId"], &live["runs"][0]["next"]), (&json!("r1"), &json!(1)));
    assert!(live["runs"][0]["leaseUntil"].as_i64() > live["now"].as_i64(), "{live:#}");
    let mut other = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    other.next().await.unwrap();
    assert_eq!(server.get("/v1/threads/t/live", &[]).await.json().await["followers"], 2);
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    drop(other);
    let live = server.get("/v1/threads/t/live", &[]).await.json().await;
    assert_eq!((&live["durable"], &live["followers"], &live["runs"]), (&json!(2), &json!(0), &json!([])));
    assert_eq!(server.get("/v1/threads/none/live", &[]).await.refusal().await.1, "thread_not_found");
}

#[tokio::test]
async fn one_run_is_exported_compacted() {
    let server = Harness::new();
    server.talk("t", "r1", "Hi", "Hello").await;
    server.talk("t", "r2", "More", "Indeed").await;
    let mut answer = server.get("/v1/threads/t/export?form=compact&run=r2", &[]).await;
    let lines = String::from_utf8(answer.body().await.to_vec()).unwrap();
    assert!(lines.contains("Indeed") && !lines.contains("Hello"), "{lines}");
    let refusal = server.get("/v1/threads/t/export?run=r2", &[]).await.refusal().await;
    assert_eq!((refusal.0, refusal.1.as_str()), (400, "invalid_parameter"));
    let refusal = server.get("/v1/threads/t/export?form=compact&run=none", &[]).await.refusal().await;
    assert_eq!(refusal.1, "run_not_found");
}
