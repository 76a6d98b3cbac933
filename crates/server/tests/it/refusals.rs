//! Everything that is refused, before anything is done.

use crate::harness::{Harness, request};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request};
use serde_json::{Value, json};
use std::sync::Arc;
use threadline_log::{RunNo, ThreadKey};
use threadline_server::access::Caller;
use threadline_server::{Input, Settings};
use threadline_testkit::store::{Gate, GatedStore};

#[tokio::test]
async fn bad_bodies_have_a_place() {
    let server = Harness::new();
    let run = |body: Value| ("/agui", body.to_string());
    for ((path, body), pointer) in [
        (("/agui", "{".to_owned()), ""),
        (("/agui", String::new()), ""),
        (run(json!([])), ""),
        (run(json!({"threadId":"t","messages":[]})), "/runId"),
        (run(json!({"runId":"r","messages":[]})), "/threadId"),
        (
            run(json!({"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":7}]})),
            "/messages/0/content",
        ),
        (run(json!({"threadId":"t".repeat(300),"runId":"r","messages":[]})), "/threadId"),
        (("/agui/connect", "{}".to_owned()), "/threadId"),
        (("/history", "{}".to_owned()), "/threadId"),
        (("/cancel", r#"{"threadId":"t","runId":1}"#.to_owned()), "/runId"),
    ] {
        let (status, code, details) = server.post_with(path, &[], body.clone()).await.refusal().await;
        assert_eq!((status, code.as_str()), (400, "invalid_input"), "{path} {body}");
        assert_eq!(details["pointer"], pointer, "{path} {body}");
    }
    assert_eq!(server.get("/v1/threads/t/runs", &[]).await.status, 404, "nothing was stored");
    assert_eq!(server.agent.requests().len(), 0, "nobody was asked");
}

#[tokio::test]
async fn requests_must_be_meant_for_us() {
    let server = Harness::new();
    let body = request("r1", &json!([])).to_string();
    for (kind, status) in [
        ("text/plain", 415),
        ("", 415),
        ("application/jsonx", 415),
        ("application/x-www-form-urlencoded", 415),
    ] {
        let (found, code, _) =
            server.post_with("/agui", &[("content-type", kind)], body.clone()).await.refusal().await;
        assert_eq!((found, code.as_str()), (status, "unsupported_media_type"), "{kind}");
    }
    let (status, _, _) =
        server.post_with("/agui", &[("content-encoding", "gzip")], body.clone()).await.refusal().await;
    assert_eq!(status, 415);
    for host in ["evil.example", "localhost.evil.example"] {
        let request = Request::get("/healthz").header("host", host).body(Body::empty()).unwrap();
        let (status, code, _) = server.send(request).await.refusal().await;
        assert_eq!((status, code.as_str()), (403, "host_not_allowed"));
    }
    assert_eq!(server.get("/healthz", &[]).await.json().await, json!({"status":"ok"}));
    assert_eq!(server.get("/readyz", &[]).await.json().await, json!({"status":"ready","runs":0}));
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let server = Harness::new();
    let body = request("r1", &json!([]));
    for (path, code) in [
        ("/agents/nobody", "agent_not_found"),
        ("/agents/nobody/connect", "agent_not_found"),
        ("/nowhere", "not_found"),
    ] {
        let (status, found, _) = server.post(path, &body).await.refusal().await;
        assert_eq!((status, found.as_str()), (404, code), "{path}");
    }
    assert_eq!(server.get("/agents/nobody/capabilities", &[]).await.status, 404);
    let (status, code, _) = server.get("/agui", &[]).await.refusal().await;
    assert_eq!((status, code.as_str()), (405, "method_not_allowed"));
    let (status, code, _) = server.post("/history?follow=perhaps", &body).await.refusal().await;
    assert_eq!((status, code.as_str()), (400, "invalid_parameter"));
    let (status, code, _) = server.post("/agui/connect?runn=x", &body).await.refusal().await;
    assert_eq!((status, code.as_str()), (400, "invalid_parameter"));
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let mut settings = Settings::default();
    let body = request("r1", &json!([])).to_string();
    settings.http.request_bytes_max = body.len();
    let server = Harness::with(settings);
    let (status, code, _) = server.post_with("/agui", &[], format!("{body} ")).await.refusal().await;
    assert_eq!((status, code.as_str()), (413, "request_too_large"));
    let _agent = server.agent.next_run();
    assert_eq!(server.post_with("/agui", &[], body).await.status, 200);
}

#[tokio::test]
async fn agents_and_what_they_can_do_are_told() {
    let server = Harness::new();
    let agents = server.get("/agents", &[]).await.json().await;
    assert_eq!(agents, json!({"agents":[{"name":"puppet","default":true}]}));
    for path in ["/capabilities", "/agents/puppet/capabilities"] {
        let said = server.get(path, &[]).await.json().await;
        assert_eq!(
            (&said["identity"]["name"], &said["transport"]["resumable"]),
            (&json!("puppet"), &json!(true))
        );
    }
}

/// The thread `t`.
fn thread(server: &Harness) -> ThreadKey {
    let input = Input::read(&Bytes::from(r#"{"threadId":"t"}"#)).unwrap();
    server.app.thread(&Caller::anybody(), &HeaderMap::new(), &input).unwrap()
}

#[tokio::test]
async fn a_store_that_fails_is_no_fault_of_the_client() {
    let store = Arc::<GatedStore>::default();
    let server = Harness::on(store.clone(), Settings::default());
    store.set(Gate::Broken);
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    assert_eq!(answer.headers["retry-after"], "1");
    let (status, code, _) = answer.refusal().await;
    assert_eq!((status, code.as_str()), (503, "store_unavailable"));
    assert_eq!(server.agent.requests().len(), 0, "nobody was asked");
    store.set_damaged(true);
    for path in ["/agui", "/agui/connect", "/cancel"] {
        let mut answer = server.post(path, &request("r1", &json!([]))).await;
        assert_eq!(answer.status, 500);
        let body = String::from_utf8(answer.body().await.to_vec()).unwrap();
        assert!(body.contains(r#""code":"damaged""#) && !body.contains("secret"), "{path}: {body}");
    }
}

#[tokio::test]
async fn what_is_gone_is_gone() {
    let server = Harness::new();
    let mut cursors = Vec::new();
    for run in ["r1", "r2", "r3"] {
        let agent = server.agent.next_run();
        let answer = server.post("/agui", &request(run, &json!([]))).await;
        agent.say(&json!({"type":"CUSTOM","name":"n","value":1}));
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
        cursors.push(answer.all().await[0].id.clone().unwrap());
    }
    let (key, engine) = (thread(&server), server.app.engine());
    engine.store().compact_run(&key, RunNo(1), engine.now()).await.unwrap();
    engine.trim(&key, 3).await.unwrap();
    for (cursor, code, details) in
        [(&cursors[0], "trimmed", json!({"first":3})), (&cursors[1], "compacted", json!({"runId":"r2"}))]
    {
        let path = format!("/agui/connect?after={cursor}");
        let refused = server.post(&path, &request("c", &json!([]))).await.refusal().await;
        assert_eq!(refused, (410, code.to_owned(), details));
    }
    let rest = server.post(&format!("/agui/connect?after={}", cursors[2]), &request("c", &json!([]))).await;
    assert_eq!(rest.all().await.len(), 2);
}
