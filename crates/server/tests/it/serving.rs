//! Where routes are, what keeps streams alive, and what agents elsewhere are sent.

use crate::harness::{Harness, kinds, request};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue};
use serde_json::json;
use std::time::Duration;
use threadline_server::agents::{AgentRequest, Backend, Upstream};
use threadline_server::settings::AgentSettings;
use threadline_server::{Settings, keep_up};
use threadline_testkit::upstream::{Upstream as Script, sse_answer};
use tokio::time::sleep;

fn with(toml: &str) -> Harness {
    let settings: Settings = toml::from_str(toml).unwrap();
    settings.check().unwrap();
    Harness::with(settings)
}

#[tokio::test]
async fn routes_are_where_they_are_wanted() {
    let posts = ["/agui", "/api/agent", "/agui/connect", "/history", "/cancel"];
    // An empty object is refused by whoever takes it.
    let is_there = async |server: &Harness, path: &str| server.post(path, &json!({})).await.status == 400;
    let server = with("");
    for path in posts {
        assert!(is_there(&server, path).await, "{path}");
    }
    assert_eq!(server.get("/capabilities", &[]).await.status, 200);

    let server = with("paths.base = '/x'");
    for path in posts {
        assert!(!is_there(&server, path).await, "{path}");
        assert!(is_there(&server, &format!("/x{path}")).await, "/x{path}");
    }
    for (path, status) in [("/x/agents/puppet/capabilities", 200), ("/x/healthz", 200), ("/healthz", 404)] {
        assert_eq!(server.get(path, &[]).await.status, status, "{path}");
    }
    let (status, code, _) = server.post("/x/nowhere", &json!({})).await.refusal().await;
    assert_eq!((status, code.as_str()), (404, "not_found"));
    let (status, code, _) = server.get("/x/agui", &[]).await.refusal().await;
    assert_eq!((status, code.as_str()), (405, "method_not_allowed"));

    let server = with(
        "[paths]\nrun = '/talk'\nrun_alias = ''\nconnect = '/join'\nhistory = '/past'\ncancel = '/stop'\ncapabilities = '/can'",
    );
    for path in ["/talk", "/join", "/past", "/stop", "/agents/puppet", "/agents/puppet/connect"] {
        assert!(is_there(&server, path).await, "{path}");
    }
    for path in posts {
        assert_eq!(server.post(path, &json!({})).await.status, 404, "{path}");
    }
    assert_eq!(server.get("/can", &[]).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn silent_streams_are_kept_alive() {
    for (toml, count) in [("", 2), ("http.keep_alive = '10s'", 3), ("http.keep_alive = '0'", 0)] {
        let server = with(toml);
        let agent = server.agent.next_run();
        let body = request("r1", &json!([]));
        let mut answers = vec![server.post("/agui", &body).await];
        answers.push(server.post("/agui/connect", &body).await);
        answers.push(server.post("/history?follow=true", &body).await);
        answers.push(server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await);
        let silence = async {
            sleep(Duration::from_secs(35)).await;
            agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
            // Records of a thread have no end but that of the server.
            sleep(Duration::from_secs(1)).await;
            server.app.shut_down().await;
        };
        let bodies = futures_util::future::join_all(answers.iter_mut().map(|answer| answer.body()));
        let (bodies, ()) = tokio::join!(bodies, silence);
        for body in bodies {
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert_eq!(text.matches(": keep-alive\n\n").count(), count, "{toml}: {text}");
            assert!(text.contains("RUN_FINISHED"), "{text}");
        }
    }
}

/// As after a computer has slept: leases are over, but those who hold them are there.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ends_no_run() {
    let server = with("");
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    server.jump(Duration::from_hours(1));
    let upkeep = tokio::spawn(keep_up(server.app.clone(), Duration::from_millis(1)));
    sleep(Duration::from_millis(50)).await;
    upkeep.abort();
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    assert_eq!(kinds(&answer.all().await), ["RUN_FINISHED"]);
}

#[tokio::test]
async fn a_run_has_no_more_than_it_may() {
    let server = with("runs.run_bytes_max = 1000");
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    for _ in 0..10 {
        agent.say(&json!({"type":"CUSTOM","name":"n","value":"x".repeat(100)}));
    }
    let frames = answer.all().await;
    agent.let_go().await;
    assert_eq!(frames.last().unwrap().value()["code"], "run_too_large");
    assert_eq!(
        frames.len(),
        2 + 1000 / json!({"type":"CUSTOM","name":"n","value":"x".repeat(100)}).to_string().len()
    );
}

#[tokio::test]
async fn an_agent_is_sent_its_own_headers_and_those_of_the_client_that_are_named() {
    let script = Script::start([sse_answer(&[r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#])]).await;
    let mut settings = AgentSettings::at(script.url("/"));
    settings.headers.insert("authorization".to_owned(), "Bearer ours".to_owned());
    settings.forward_headers = vec!["X-Request-Id".to_owned(), "authorization".to_owned()];
    let agent = Upstream::new(&settings, 1 << 20).unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in
        [("x-request-id", "7"), ("authorization", "theirs"), ("cookie", "secret"), ("x-other", "1")]
    {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let mut source = agent.source(AgentRequest { body: Bytes::from_static(b"{}"), headers });
    assert!(source.next().await.unwrap().is_ok());
    let sent = &script.requests()[0].headers;
    let values = |wanted: &str| {
        let named = sent.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(values("x-request-id"), ["7"]);
    assert_eq!(values("authorization"), ["Bearer ours"], "what is configured counts");
    assert!(values("cookie").is_empty() && values("x-other").is_empty(), "{sent:?}");
}
