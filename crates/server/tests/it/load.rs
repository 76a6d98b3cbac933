//! How much at once, how fast, and what is counted.

use crate::harness::{Harness, request};
use serde_json::json;
use std::collections::BTreeSet;
use threadline_server::Settings;
use threadline_server::settings::LimitSettings;

fn limited(limits: LimitSettings) -> Harness {
    let mut settings = Settings { limits, ..Settings::default() };
    settings.scope.user_header = Some("x-user".to_owned());
    Harness::with(settings)
}

#[tokio::test]
async fn one_scope_has_so_many_runs_and_all_have_so_many() {
    let server = limited(LimitSettings { runs_max: 2, runs_per_scope_max: 1, ..LimitSettings::default() });
    let run = async |user: &str, id: &str| {
        let body = json!({ "threadId": id, "runId": id, "messages": [] }).to_string();
        server.post_with("/agui", &[("x-user", user)], body).await
    };
    let strings = [server.agent.next_run(), server.agent.next_run()];
    let mut first = run("ann", "a1").await;
    assert_eq!(first.status, 200);
    let refused = run("ann", "a2").await;
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.refusal().await.1, "too_many");
    assert_eq!(run("bob", "b1").await.status, 200);
    let (status, code, _) = run("eve", "e1").await.refusal().await;
    assert_eq!((status, code.as_str()), (503, "overloaded"));
    assert_eq!(server.get("/v1/threads/a2", &[("x-user", "ann")]).await.status, 404, "nothing was stored");
    drop(strings);
    while first.next().await.is_some() {}
    let _strings = server.agent.next_run();
    assert_eq!(run("ann", "a2").await.status, 200, "a place is free again");
}

#[tokio::test]
async fn who_finds_no_place_is_refused_before_its_body_is_looked_at() {
    let limits = LimitSettings { runs_max: 1, ..LimitSettings::default() };
    let mut settings = Settings { limits, ..Settings::default() };
    settings.http.origins = vec!["https://chat.example".to_owned()];
    let server = Harness::with(settings);
    let headers = [("origin", "https://chat.example"), ("x-request-id", "abc")];
    let nonsense = async || server.post_with("/agui", &headers, "nonsense".to_owned()).await;
    assert_eq!(nonsense().await.refusal().await.1, "invalid_input");
    let _strings = server.agent.next_run();
    let _run = server.post("/agui", &request("r", &json!([]))).await;
    let refused = nonsense().await;
    for (name, value) in [
        ("retry-after", "1"),
        ("x-request-id", "abc"),
        ("access-control-allow-origin", "https://chat.example"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(refused.headers[name], value, "{name}");
    }
    let (status, code, _) = refused.refusal().await;
    assert_eq!((status, code.as_str()), (503, "overloaded"));
}

#[tokio::test]
async fn one_scope_has_so_many_streams_and_a_run_that_cannot_be_seen_is_not_started() {
    let limits = LimitSettings { streams_per_scope_max: 1, ..LimitSettings::default() };
    let server = limited(limits);
    let _strings = server.agent.next_run();
    let run = server.post("/agui", &request("r", &json!([]))).await;
    for (path, accept) in [("/v1/threads/t/events", "text/event-stream")] {
        assert_eq!(server.get(path, &[("accept", accept)]).await.refusal().await.1, "too_many");
    }
    let connect = json!({ "threadId": "t" });
    assert_eq!(server.post("/agui/connect", &connect).await.refusal().await.1, "too_many");
    assert_eq!(server.post("/history?follow=true", &connect).await.refusal().await.1, "too_many");
    assert_eq!(
        server.post("/history", &connect).await.all().await.len(),
        3,
        "what ends at once needs no place"
    );
    let other = json!({ "threadId": "u", "runId": "r", "messages": [] });
    assert_eq!(server.post("/agui", &other).await.refusal().await.1, "too_many");
    assert_eq!(server.get("/v1/threads/u", &[]).await.status, 404);
    drop(run);
    let events = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    assert_eq!(events.status, 200, "a place is free again");
}

#[tokio::test]
async fn requests_may_come_so_fast() {
    let limits = LimitSettings { requests_per_scope_per_second: 5, ..LimitSettings::default() };
    let server = limited(limits);
    tokio::time::pause();
    let mut admitted = 0;
    let refused = loop {
        let answer = server.get("/agents", &[("x-user", "ann")]).await;
        if answer.status == 429 {
            break answer;
        }
        admitted += 1;
    };
    assert_eq!(admitted, 10);
    assert_eq!(refused.refusal().await.1, "rate_limited");
    assert_eq!(server.get("/agents", &[("x-user", "bob")]).await.status, 200);
    assert_eq!(server.get("/healthz", &[("x-user", "ann")]).await.status, 200);
}

#[tokio::test]
async fn what_happens_is_counted() {
    let server = Harness::new();
    let strings = server.agent.next_run();
    let mut run = server.post("/agui", &request("r", &json!([]))).await;
    strings.say(&json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" }));
    run.until("TEXT_MESSAGE_START").await;
    let figures =
        async || String::from_utf8(server.get("/metrics", &[]).await.body().await.to_vec()).unwrap();
    let has = |text: &str, line: &str| assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    let text = figures().await;
    has(&text, "threadline_runs 1");
    has(&text, "threadline_streams 1");
    has(&text, "threadline_store_available 1");
    has(&text, "threadline_events_total 1");
    has(&text, "threadline_commit_seconds_count 1");
    drop(strings);
    while run.next().await.is_some() {}
    drop(run);
    assert_eq!(server.get("/v1/threads/secret-name", &[]).await.status, 404);
    assert_eq!(server.get("/v1/nothing/secret-name", &[]).await.status, 404);
    let text = figures().await;
    has(&text, "threadline_runs 0");
    has(&text, "threadline_streams 0");
    has(&text, r#"threadline_runs_ended_total{outcome="failed"} 1"#);
    has(&text, r#"threadline_refusals_total{code="thread_not_found"} 1"#);
    has(&text, r#"threadline_requests_total{method="GET",route="/v1/threads/{thread}",status="404"} 1"#);
    has(&text, r#"threadline_requests_total{method="GET",route="none",status="404"} 1"#);
    assert!(!text.contains("secret-name"));
    assert!(text.ends_with("# EOF\n"));
}

/// The dashboard shows what there is, and all of it.
#[tokio::test]
async fn the_dashboard_knows_the_figures() {
    let server = Harness::new();
    server.talk("t", "r1", "Hello", "Hi").await;
    assert_eq!(server.get("/v1/threads/none", &[]).await.status, 404);
    // A run is counted when all of it is done, which is after its reader has seen the end.
    server.app.runs().shut_down().await;
    let text = String::from_utf8(server.get("/metrics", &[]).await.body().await.to_vec()).unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.filter(|word| word.starts_with("threadline_")).map(ToOwned::to_owned).collect()
    };
    let there = names(&text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"));
    let shown = names(include_str!("../../../../docs/grafana.json"));
    let unknown: Vec<_> = shown.difference(&there).collect();
    assert!(unknown.is_empty(), "{unknown:?} not among {there:?}");
    let family = |name: &String| {
        name.trim_end_matches("_bucket").trim_end_matches("_count").trim_end_matches("_sum").to_owned()
    };
    let shown: BTreeSet<String> = shown.iter().map(family).collect();
    let there: BTreeSet<String> = there.iter().map(family).collect();
    assert_eq!(shown, there);
}

#[tokio::test]
async fn a_request_has_an_id_of_its_own_or_of_whoever_sent_it() {
    let server = Harness::new();
    let id =
        async |given: &[(&str, &str)]| server.get("/healthz", given).await.headers["x-request-id"].clone();
    assert_eq!(id(&[("x-request-id", "abc-1")]).await, "abc-1");
    let (one, two) = (id(&[]).await, id(&[]).await);
    assert_eq!(one.len(), 16);
    assert_ne!(one, two);
    assert_eq!(id(&[("x-request-id", &"a".repeat(129))]).await.len(), 16);
    assert_eq!(id(&[("x-request-id", "a b")]).await.len(), 16);
}
