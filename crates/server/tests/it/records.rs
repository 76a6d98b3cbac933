//! The records of a thread.

use crate::harness::{Harness, request};
use serde_json::{Value, json};

#[tokio::test]
async fn records_are_read_page_by_page_and_live() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    let mut live = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    let odd = r#"{"type":"VENDOR", "n":1.50}"#;
    agent.say_text(odd);
    agent.say_text("garbage");
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(live.next().await.unwrap());
    }
    assert!(seen[1].json.contains(odd), "{}", seen[1].json);
    assert_eq!(seen[2].value()["kind"], "rejected");
    assert_eq!(seen[2].value()["text"], "garbage");
    let envelopes: Vec<Value> = seen.iter().map(crate::harness::Frame::value).collect();
    let page = server.get("/v1/threads/t/events", &[]).await.json().await;
    assert_eq!((&page["records"], &page["tail"], page.get("next")), (&json!(envelopes), &json!(4), None));

    let mut read = Vec::new();
    let mut path = "/v1/threads/t/events?limit=1".to_owned();
    loop {
        let mut page = server.get(&path, &[]).await.json().await;
        read.append(page["records"].as_array_mut().unwrap());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/threads/t/events?limit=1&after={next}");
    }
    assert_eq!(read, envelopes);
    let after = seen[2].id.clone().unwrap();
    let mut resumed = server
        .get("/v1/threads/t/events", &[("accept", "text/event-stream"), ("last-event-id", &after)])
        .await;
    assert_eq!(resumed.next().await.as_ref(), Some(&seen[3]));
    let some = server.get("/v1/threads/t/events?after=0&until=2&run=r1", &[]).await.json().await;
    assert_eq!(some["records"], json!([envelopes[1]]));
}

#[tokio::test]
async fn any_point_in_time_can_be_seen() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    for n in 1..=3 {
        agent.say(&json!({"type":"STATE_SNAPSHOT","snapshot":{"n":n}}));
    }
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    for n in 1..=3 {
        let state = server.get(&format!("/v1/threads/t/state?at={n}"), &[]).await.json().await;
        assert_eq!((&state["state"]["n"], &state["next"]), (&json!(n), &json!(n + 1)));
    }
    let last = server.get("/v1/threads/t/state", &[]).await.json().await;
    assert_eq!((&last["state"]["n"], &last["runId"]), (&json!(3), &json!("r1")));
    let refused = server.get("/v1/threads/t/state?at=99", &[]).await.refusal().await;
    assert_eq!((refused.0, refused.1.as_str()), (400, "invalid_parameter"));
}
