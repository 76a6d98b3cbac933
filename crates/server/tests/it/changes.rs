//! The list of threads, live.

use crate::harness::{Answer, Harness};
use axum::http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use threadline_server::Settings;

async fn next(changes: &mut Answer) -> (String, Value) {
    let mut frame = changes.next().await.unwrap().value();
    let kind = frame["type"].as_str().unwrap().to_owned();
    let said = match kind.as_str() {
        "thread" => json!([frame["thread"]["threadId"], frame["thread"]["status"], frame["thread"]["name"]]),
        _ => frame["threadId"].take(),
    };
    (kind, said)
}

fn thread(id: &str, status: &str, name: &str) -> (String, Value) {
    ("thread".to_owned(), json!([id, status, name]))
}

#[tokio::test]
async fn a_list_is_told_and_then_what_changes() {
    let mut settings = Settings::default();
    settings.scope.user_header = Some("x-user".to_owned());
    let server = Harness::with(settings);
    server.talk("a", "r1", "One", "Hello").await;
    server.talk("b", "r1", "Two", "Hello").await;
    let mut changes = server.get("/v1/changes", &[]).await;
    let mut theirs = server.get("/v1/changes", &[("x-user", "other")]).await;
    let nothing = |kind: &str| (kind.to_owned(), Value::Null);
    assert_eq!(next(&mut changes).await, nothing("list"));
    assert_eq!(next(&mut changes).await, thread("a", "finished", "One"));
    assert_eq!(next(&mut changes).await, thread("b", "finished", "Two"));
    assert_eq!(next(&mut changes).await, nothing("listed"));
    assert_eq!([next(&mut theirs).await, next(&mut theirs).await], [nothing("list"), nothing("listed")]);
    let name = json!({"name":"Uno"});
    server.ask(Method::PATCH, "/v1/threads/a", Some(&name)).await;
    assert_eq!(next(&mut changes).await, thread("a", "finished", "Uno"));
    server.talk("c", "r1", "Three", "Hello").await;
    // By when it is told, a run that was opened may have ended.
    assert_eq!(next(&mut changes).await.1[0], "c");
    assert_eq!(next(&mut changes).await, thread("c", "finished", "Three"));
    server.ask(Method::DELETE, "/v1/threads/b", None).await;
    assert_eq!(next(&mut changes).await, ("deleted".to_owned(), json!("b")));
    let event = r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned();
    let headers = [("x-user", "other"), ("content-type", "application/x-ndjson")];
    assert_eq!(server.post_with("/v1/threads/a/events?run=r", &headers, event).await.status, 200);
    assert_eq!(next(&mut theirs).await, ("thread".to_owned(), json!(["a", "running", null])));
    server.app.shut_down().await;
    assert_eq!((changes.next().await, theirs.next().await), (None, None), "neither was told anything else");
}

/// Appends to a run that goes on are no changes, so that nothing else would tell of its thread.
#[tokio::test]
async fn a_thread_that_is_appended_to_while_the_list_is_told_is_in_it() {
    let server = Harness::new();
    let append = async |thread: String| {
        let event = r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned();
        let headers = [("content-type", "application/x-ndjson")];
        let answer = server.post_with(&format!("/v1/threads/{thread}/events?run=r"), &headers, event).await;
        assert_eq!(answer.status, 200);
    };
    // More than are told at once.
    for n in 100..400 {
        append(n.to_string()).await;
    }
    let mut changes = server.get("/v1/changes", &[]).await;
    assert_eq!(next(&mut changes).await.0, "list");
    let mut told = vec![next(&mut changes).await.1];
    append("100".to_owned()).await;
    append("399".to_owned()).await;
    loop {
        let (kind, thread) = next(&mut changes).await;
        if kind == "listed" {
            break;
        }
        told.push(thread);
    }
    let ids: Vec<&str> = told.iter().map(|thread| thread[0].as_str().unwrap()).collect();
    assert!((100..400).map(|n| n.to_string()).eq(ids), "{told:?}");
}

#[tokio::test]
async fn who_falls_behind_is_told_the_list_again() {
    let server = Harness::new();
    server.talk("a", "r1", "One", "Hello").await;
    let mut changes = server.get("/v1/changes", &[]).await;
    while next(&mut changes).await.0 != "listed" {}
    for n in 0..1_100 {
        let name = json!({"name":n.to_string()});
        server.ask(Method::PATCH, "/v1/threads/a", Some(&name)).await;
    }
    assert_eq!(next(&mut changes).await.0, "list");
    assert_eq!(next(&mut changes).await, thread("a", "finished", "1099"));
    assert_eq!(next(&mut changes).await.0, "listed");
}

#[tokio::test(start_paused = true)]
async fn silence_is_filled_with_comments() {
    let mut settings = Settings::default();
    settings.http.keep_alive = Some(Duration::from_secs(7));
    let server = Harness::with(settings);
    let mut changes = server.get("/v1/changes", &[]).await;
    while next(&mut changes).await.0 != "listed" {}
    let started = tokio::time::Instant::now();
    assert_eq!(changes.piece().await, ": keep-alive\n\n");
    assert_eq!(started.elapsed(), Duration::from_secs(7));
}
