//! Everything that is refused, before anything is done.

use crate::harness::{Harness, request};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use threadline_server::Settings;

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
