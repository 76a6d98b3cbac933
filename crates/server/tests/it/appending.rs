//! Events that somebody outside appends.

use crate::harness::{Answer, Harness, folded, kinds, messages, request};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::MemoryStore;
use threadline_server::{Settings, keep_up};
use tokio::task::JoinSet;

const LINES: (&str, &str) = ("content-type", "application/x-ndjson");
const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r1"}"#;
const TEXT: &str = r#"{"type":"TEXT_MESSAGE_CHUNK", "messageId":"m","role":"assistant","delta":"Hi"}"#;
const DONE: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}"#;

async fn append(server: &Harness, query: &str, key: Option<&str>, lines: &[&str]) -> Answer {
    let mut headers = vec![LINES];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    server.post_with(&format!("/v1/threads/t/events?{query}"), &headers, lines.join("\n")).await
}

async fn events(server: &Harness) -> Vec<(String, Value)> {
    let page = server.get("/v1/threads/t/events", &[]).await.json().await;
    let records = page["records"].as_array().unwrap();
    records
        .iter()
        .map(|one| (one["kind"].as_str().unwrap().to_owned(), one["event"]["type"].clone()))
        .collect()
}

#[tokio::test]
async fn a_run_is_appended_bit_by_bit_and_followed() {
    let server = Harness::new();
    let answer = append(&server, "run=r1", None, &[STARTED, "", TEXT]).await.json().await;
    let expected =
        json!({"threadId":"t","runId":"r1","status":"running","first":0,"next":2,"tail":2,"repeated":false});
    assert_eq!(answer, expected);
    let mut attached = server.post("/agui/connect", &request("x", &json!([]))).await;
    let mut seen = attached.until("MESSAGES_SNAPSHOT").await;
    let answer = append(&server, "run=r1&expected_tail=2", None, &[TEXT, DONE, ""]).await.json().await;
    assert_eq!(
        (&answer["status"], &answer["first"], &answer["tail"]),
        (&json!("finished"), &json!(2), &json!(4))
    );
    seen.extend(attached.all().await);
    assert_eq!(messages(&folded(&seen))[0]["content"], "HiHi");
    assert_eq!(kinds(&seen).last().map(String::as_str), Some("RUN_FINISHED"));
    let held = server.get("/v1/threads/t/messages", &[]).await.json().await;
    assert_eq!(held["messages"][0]["content"], "HiHi");
    let page = server.get("/v1/threads/t/events", &[]).await.json().await;
    assert_eq!(
        page["records"][1]["event"].to_string(),
        serde_json::from_str::<Value>(TEXT).unwrap().to_string()
    );
    let (status, code, _) = append(&server, "run=r1", None, &[TEXT]).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "run_ended"));
    // The next one continues it, in a single request that says nothing of its start.
    let done = DONE.replace("r1", "r2");
    let answer = append(&server, "run=r2", None, &[TEXT, &done]).await.json().await;
    assert_eq!(
        (&answer["status"], &answer["first"], &answer["next"]),
        (&json!("finished"), &json!(4), &json!(7))
    );
    let kept = events(&server).await;
    assert_eq!(kept[4], ("made".to_owned(), json!("RUN_STARTED")));
    let run = server.get("/v1/threads/t/runs/r2", &[]).await.json().await;
    assert_eq!((&run["parentRunId"], &run["status"]), (&json!("r1"), &json!("finished")));
}

#[tokio::test]
async fn a_repeated_request_lands_once() {
    let server = Harness::new();
    for (key, lines) in [("1", vec![STARTED, TEXT]), ("2", vec![TEXT]), ("3", vec![TEXT, DONE])] {
        let first = append(&server, "run=r1", Some(key), &lines).await.json().await;
        let mut again = append(&server, "run=r1&expected_tail=0", Some(key), &lines).await.json().await;
        assert_eq!(again["repeated"].take(), true);
        again["repeated"] = false.into();
        assert_eq!(again, first, "{key}");
    }
    assert_eq!(events(&server).await.len(), 5);
    let first = append(&server, "run=r1", Some("1"), &[STARTED, TEXT]).await.json().await;
    assert_eq!((&first["first"], &first["next"], &first["tail"]), (&json!(0), &json!(2), &json!(5)));
    let (status, code, _) = append(&server, "run=r1", None, &[STARTED]).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "run_id_reused"));
}

#[tokio::test]
async fn who_expects_another_tail_is_told_where_it_is() {
    let server = Harness::new();
    let (status, code, details) =
        append(&server, "run=r1&expected_tail=3", None, &[TEXT]).await.refusal().await;
    assert_eq!((status, code.as_str(), details), (409, "tail_moved", json!({"tail":0})));
    assert_eq!(server.get("/v1/threads/t", &[]).await.status, 404, "nothing was stored");
    append(&server, "run=r1&expected_tail=0", None, &[TEXT]).await.json().await;
    // Of many who expect the same, one is right.
    let server = Arc::new(server);
    let mut racing = JoinSet::new();
    for _ in 0..16 {
        let server = Arc::clone(&server);
        racing.spawn(async move {
            append(&server, "run=r1&expected_tail=2", None, &[TEXT]).await.status.as_u16()
        });
    }
    let mut answers = racing.join_all().await;
    answers.sort_unstable();
    assert_eq!((answers[0], &answers[1..]), (200, [409; 15].as_slice()));
    let (_, _, details) = append(&server, "run=r1&expected_tail=2", None, &[TEXT]).await.refusal().await;
    assert_eq!(details, json!({"tail":3}));
}

#[tokio::test]
async fn a_bad_line_has_a_place_and_nothing_is_stored() {
    let server = Harness::new();
    let other = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r2"}"#;
    let foreign = r#"{"type":"RUN_FINISHED","threadId":"x","runId":"r1"}"#;
    for (lines, line, pointer) in [
        (vec![TEXT, "{"], 2, ""),
        (vec!["", TEXT, "", r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":1,"delta":"d"}"#], 4, "/messageId"),
        (vec![r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"}"#], 1, "/delta"),
        (vec![TEXT, STARTED], 2, "/type"),
        (vec![other], 1, "/runId"),
        (vec![foreign], 1, "/threadId"),
        (vec![TEXT, DONE, TEXT], 3, ""),
        (vec![TEXT, "[]"], 2, ""),
    ] {
        let (status, code, details) = append(&server, "run=r1", None, &lines).await.refusal().await;
        assert_eq!((status, code.as_str()), (400, "invalid_input"), "{lines:?}");
        assert_eq!(details, json!({"line":line,"pointer":pointer}), "{lines:?}");
    }
    let (_, _, details) = append(&server, "run=r1", None, &["", " "]).await.refusal().await;
    assert_eq!(details, json!({"pointer":""}));
    let many = vec![TEXT; 10_001];
    let (status, code, details) = append(&server, "run=r1", None, &many).await.refusal().await;
    assert_eq!((status, code.as_str(), details), (413, "request_too_large", json!({"line":10_001})));
    let long = format!(r#"{{"type":"CUSTOM","name":"n","value":"{}"}}"#, "x".repeat(10 * 1024 * 1024));
    let (status, code, _) = append(&server, "run=r1", None, &[&long]).await.refusal().await;
    assert_eq!((status, code.as_str()), (413, "request_too_large"));
    for query in ["", "run=r1&expected_tail=x", "run=r1&key=1"] {
        let (status, code, _) = append(&server, query, None, &[TEXT]).await.refusal().await;
        assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{query}");
    }
    let key = "k".repeat(257);
    let (status, code, _) = append(&server, "run=r1", Some(&key), &[TEXT]).await.refusal().await;
    assert_eq!((status, code.as_str()), (400, "invalid_parameter"));
    let json = [("content-type", "application/json")];
    let (status, _, _) =
        server.post_with("/v1/threads/t/events?run=r1", &json, TEXT.to_owned()).await.refusal().await;
    assert_eq!(status, 415);
    assert_eq!(server.get("/v1/threads/t", &[]).await.status, 404, "nothing was stored");
}

#[tokio::test]
async fn runs_of_agents_and_of_outsiders_wait_for_each_other() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    // Neither its events nor those of a run behind it are anybody else's.
    for run in ["r1", "r2"] {
        let (status, code, details) =
            append(&server, &format!("run={run}"), None, &[TEXT]).await.refusal().await;
        assert_eq!((status, code.as_str(), &details["runId"]), (409, "run_active", &json!("r1")), "{run}");
    }
    agent.say_text(DONE);
    answer.all().await;
    append(&server, "run=r2", None, &[TEXT]).await.json().await;
    let (status, code, _) = server.post("/agui", &request("r3", &json!([]))).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "run_active"));
    let cancelled = server.post("/cancel", &json!({"threadId":"t","runId":"r2"})).await.json().await;
    assert_eq!(cancelled["status"], "cancelled");
    let (status, code, _) = append(&server, "run=r2", None, &[TEXT]).await.refusal().await;
    assert_eq!((status, code.as_str()), (409, "run_ended"));
}

#[tokio::test]
async fn a_run_whose_producer_is_silent_is_closed() {
    let mut settings = Settings::default();
    settings.runs.append_timeout = Duration::from_millis(100);
    let server = Harness::on(Arc::new(MemoryStore::new()), settings);
    append(&server, "run=r1", None, &[TEXT]).await.json().await;
    let engine = server.app.engine();
    // The clock of tests goes on by one whenever it is looked at; who goes on is not silent.
    for _ in 0..200 {
        append(&server, "run=r1", None, &[TEXT]).await.json().await;
        assert_eq!(engine.close_expired().await.unwrap().len(), 0);
    }
    while engine.close_expired().await.unwrap().is_empty() {}
    let run = server.get("/v1/threads/t/runs/r1", &[]).await.json().await;
    assert_eq!(run["status"], "abandoned");
}

#[tokio::test]
async fn what_a_silent_producer_had_said_is_found_though_nobody_goes_on() {
    let mut settings = Settings::default();
    settings.runs.append_timeout = Duration::from_millis(100);
    let server = Harness::on(Arc::new(MemoryStore::new()), settings);
    append(&server, "run=r1", None, &[TEXT]).await.json().await;
    let upkeep = tokio::spawn(keep_up(server.app.clone(), Duration::from_millis(1)));
    while server.get("/v1/threads?q=hi", &[]).await.json().await["threads"] == json!([]) {
        tokio::task::yield_now().await;
    }
    upkeep.abort();
    let run = server.get("/v1/threads/t/runs/r1", &[]).await.json().await;
    assert_eq!(run["status"], "abandoned");
}
