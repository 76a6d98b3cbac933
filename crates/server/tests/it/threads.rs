//! Threads as a list, and what is said about them.

use crate::harness::{Harness, request};
use axum::http::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use threadline_server::Settings;

async fn list(server: &Harness, query: &str) -> Vec<String> {
    let page = server.get(&format!("/v1/threads?{query}"), &[]).await.json().await;
    let threads = page["threads"].as_array().unwrap();
    threads.iter().map(|thread| thread["threadId"].as_str().unwrap().to_owned()).collect()
}

async fn patch(server: &Harness, thread: &str, change: &Value) -> crate::harness::Answer {
    server.ask(Method::PATCH, &format!("/v1/threads/{thread}"), Some(change)).await
}

#[tokio::test]
async fn a_thread_is_named_by_the_first_words_and_found_by_any() {
    let server = Harness::new();
    server.talk("a", "r1", "What is the  weather?", "Sunny in Oslo").await;
    server.talk("b", "r1", "Tell me a story", "Once upon a time").await;
    let thread = server.get("/v1/threads/a", &[]).await.json().await;
    let shown =
        ["threadId", "name", "archived", "agent", "labels", "first", "tail", "runs", "status", "user"];
    let shown: Vec<&Value> = shown.iter().map(|name| &thread[name]).collect();
    assert_eq!(
        json!(shown),
        json!(["a", "What is the weather?", false, "puppet", {}, 0, 3, 1, "finished", "default"])
    );
    for (query, found) in [
        ("", vec!["b", "a"]),
        ("q=oslo", vec!["a"]),
        ("q=TIME+once", vec!["b"]),
        ("q=oslo+once", vec![]),
        ("agent=puppet", vec!["b", "a"]),
        ("agent=other", vec![]),
        ("archived=true", vec![]),
    ] {
        assert_eq!(list(&server, query).await, found, "{query}");
    }
    for query in ["q=", "q=!!!"] {
        let refused = server.get(&format!("/v1/threads?{query}"), &[]).await.refusal().await;
        assert_eq!((refused.0, refused.1.as_str()), (400, "invalid_parameter"), "{query}");
    }
}

#[tokio::test]
async fn what_is_said_about_a_thread_can_be_changed() {
    let server = Harness::new();
    server.talk("a", "r1", "Hi", "Hello").await;
    server.talk("b", "r1", "Hi", "Hello").await;
    let change = json!({"name":"New","archived":true,"labels":{"team":"x","colour":"red"}});
    let changed = patch(&server, "a", &change).await.json().await;
    assert_eq!(changed, server.get("/v1/threads/a", &[]).await.json().await);
    assert_eq!((&changed["name"], &changed["archived"]), (&json!("New"), &json!(true)));
    let changed = patch(&server, "a", &json!({"labels":{"colour":null,"size":"s"}})).await.json().await;
    assert_eq!((&changed["labels"], &changed["name"]), (&json!({"team":"x","size":"s"}), &json!("New")));
    for (query, found) in [
        ("archived=true", vec!["a"]),
        ("archived=false", vec!["b"]),
        ("label=team=x", vec!["a"]),
        ("label=team=x&label=size=s", vec!["a"]),
        ("label=team=x&label=size=m", vec![]),
    ] {
        assert_eq!(list(&server, query).await, found, "{query}");
    }
    let many: Value = (0..65).map(|n| (n.to_string(), json!("v"))).collect::<serde_json::Map<_, _>>().into();
    for (change, pointer) in [
        (json!([]), ""),
        (json!({"name":null}), "/name"),
        (json!({"name":"n".repeat(1_025)}), "/name"),
        (json!({"archived":"true"}), "/archived"),
        (json!({"labels":[]}), "/labels"),
        (json!({"labels":{"a/b":1}}), "/labels/a~1b"),
        (json!({"labels":{"threadline:importing":"true"}}), "/labels/threadline:importing"),
        (json!({"labels":many}), "/labels"),
        (json!({"agent":"x"}), "/agent"),
        (json!({"name":"x","na~me":"x"}), "/na~0me"),
    ] {
        let (status, code, details) = patch(&server, "a", &change).await.refusal().await;
        assert_eq!((status, code.as_str(), &details["pointer"]), (400, "invalid_input", &json!(pointer)));
    }
    assert_eq!(changed, server.get("/v1/threads/a", &[]).await.json().await, "nothing of it was done");
    let (status, code, _) = patch(&server, "nobody", &json!({"name":"x"})).await.refusal().await;
    assert_eq!((status, code.as_str()), (404, "thread_not_found"));
}

#[tokio::test]
async fn pages_stay_right_while_threads_come_and_go() {
    let server = Harness::new();
    for n in 0..7 {
        server.talk(&format!("t/{n} ü"), "r1", "Hi", "Hello").await;
    }
    let mut seen = Vec::new();
    let mut path = "/v1/threads?limit=2".to_owned();
    loop {
        let page = server.get(&path, &[]).await.json().await;
        let threads = page["threads"].as_array().unwrap();
        seen.extend(threads.iter().map(|thread| thread["threadId"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        assert_eq!(threads.len(), 2);
        path = format!("/v1/threads?limit=2&after={next}");
        // One that was seen moves to the front, one that was not goes, and a new one comes.
        if seen.len() == 2 {
            server.talk("t/6 ü", "r2", "Hi", "Hello").await;
            server.talk("new", "r1", "Hi", "Hello").await;
            assert_eq!(server.ask(Method::DELETE, "/v1/threads/t%2F4%20%C3%BC", None).await.status, 204);
        }
    }
    assert_eq!(seen, [6, 5, 3, 2, 1, 0].map(|n| format!("t/{n} ü")));
    for query in ["after=x", "limit=x", "archived=maybe", "label=a", "sort=name", "order=created"] {
        let (status, code, _) = server.get(&format!("/v1/threads?{query}"), &[]).await.refusal().await;
        assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{query}");
    }
}

#[tokio::test]
async fn a_list_by_name_has_every_thread_whatever_is_written_meanwhile() {
    let server = Harness::new();
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        server.talk(name, "r", "Hi", "Hello").await;
    }
    assert_eq!(list(&server, "order=name&q=hello").await, names);
    assert_eq!(list(&server, "order=updated").await, ["e", "d", "c", "b", "a"]);
    let mut seen = Vec::new();
    let mut path = "/v1/threads?order=name&limit=2".to_owned();
    loop {
        let page = server.get(&path, &[]).await.json().await;
        let threads = page["threads"].as_array().unwrap();
        seen.extend(threads.iter().map(|thread| thread["threadId"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/threads?order=name&limit=2&after={next}");
        for name in names {
            server.talk(name, &format!("r{}", seen.len()), "Hi", "Hello").await;
        }
    }
    assert_eq!(seen, names);
}

#[tokio::test]
async fn a_scope_sees_its_own_threads() {
    let mut settings = Settings::default();
    settings.scope.user_header = Some("x-user".to_owned());
    let server = Harness::with(settings);
    server.talk("mine", "r1", "Hi", "Hello").await;
    let theirs = [("x-user", "other")];
    let listed = server.get("/v1/threads", &theirs).await.json().await;
    assert_eq!(listed, json!({"threads":[]}));
    let missing = server.get("/v1/threads/nobody", &theirs).await.json().await;
    let foreign = server.get("/v1/threads/mine", &theirs).await.json().await;
    assert_eq!(foreign["error"]["code"], missing["error"]["code"]);
    assert_eq!(list(&server, "").await, ["mine"]);
}

#[tokio::test]
async fn a_thread_is_deleted_when_nothing_goes_on() {
    let server = Harness::new();
    let _agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    answer.next().await.unwrap();
    let follower = server.get("/v1/threads/t/events?after=0", &[("accept", "text/event-stream")]).await;
    let (status, code, details) = server.ask(Method::DELETE, "/v1/threads/t", None).await.refusal().await;
    assert_eq!((status, code.as_str(), &details["runId"]), (409, "run_active", &json!("r1")));
    assert_eq!(server.get("/v1/threads/t", &[]).await.json().await["status"], "running");

    let deleted = server.ask(Method::DELETE, "/v1/threads/t?cancel=true", None).await;
    assert_eq!(deleted.status, 204);
    follower.cut().await;
    let paths = ["", "/events", "/messages", "/state", "/runs"].map(|path| format!("/v1/threads/t{path}"));
    let mut answers = BTreeSet::new();
    for path in &paths {
        let (status, code, _) = server.get(path, &[]).await.refusal().await;
        answers.insert((status, code));
    }
    assert_eq!(answers, [(404, "thread_not_found".to_owned())].into());
    let again = server.ask(Method::DELETE, "/v1/threads/t", None).await.refusal().await;
    assert_eq!((again.0, again.1.as_str()), (404, "thread_not_found"));
}
