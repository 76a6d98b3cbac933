//! Threads that are copied, leave and enter.

use crate::harness::{Answer, Harness, request};
use axum::body::Body;
use axum::http::{Method, Request};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use threadline_server::Settings;
use tokio::sync::mpsc;

const LINES: (&str, &str) = ("content-type", "application/x-ndjson");

async fn import(server: &Harness, query: &str, lines: String) -> Answer {
    server.post_with(&format!("/v1/import?{query}"), &[LINES], lines).await
}

async fn export(server: &Harness, thread: &str, form: &str) -> String {
    let mut answer = server.get(&format!("/v1/threads/{thread}/export?form={form}"), &[]).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["content-type"]),
        (200, &"application/x-ndjson".parse().unwrap())
    );
    String::from_utf8(answer.body().await.to_vec()).unwrap()
}

async fn messages(server: &Harness, thread: &str) -> Value {
    server.get(&format!("/v1/threads/{thread}/messages"), &[]).await.json().await["messages"].take()
}

async fn list(server: &Harness) -> Vec<String> {
    let mut page = server.get("/v1/threads", &[]).await.json().await;
    let threads = page["threads"].as_array_mut().unwrap();
    let mut ids: Vec<String> =
        threads.iter().map(|thread| thread["threadId"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// A thread of two runs.
async fn talked() -> Harness {
    let server = Harness::new();
    server.talk("t", "r1", "Hi", "Hello").await;
    server.talk("t", "r2", "More", "Indeed").await;
    server
}

#[tokio::test]
async fn what_is_exported_can_be_imported_elsewhere() {
    let (here, there) = (talked().await, Harness::new());
    let raw = export(&here, "t", "raw").await;
    let imported = import(&there, "", raw.clone()).await.json().await;
    assert_eq!(
        imported,
        json!({"app":"default","user":"default","threadIds":["t"],"runs":2,"records":6,"unreadable":0})
    );
    assert_eq!(export(&there, "t", "raw").await, raw);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for (server, found) in [(&here, &mut one), (&there, &mut other)] {
        for path in ["messages", "state", "events", "runs"] {
            found.push(server.get(&format!("/v1/threads/t/{path}"), &[]).await.json().await);
        }
    }
    assert_eq!(one, other);
    // The other forms are streams of events, and a recording is imported as one.
    for form in ["compact", "snapshot"] {
        let imported =
            import(&there, &format!("thread={form}"), export(&here, "t", form).await).await.json().await;
        assert_eq!(imported["threadIds"], json!([form]));
        assert_eq!(messages(&there, form).await, messages(&here, "t").await, "{form}");
    }
    let (status, code, _) = here.get("/v1/threads/t/export?form=odd", &[]).await.refusal().await;
    assert_eq!((status, code.as_str()), (400, "invalid_parameter"));
    let (status, code, _) = here.get("/v1/threads/x/export", &[]).await.refusal().await;
    assert_eq!((status, code.as_str()), (404, "thread_not_found"));
}

#[tokio::test]
async fn an_import_belongs_to_who_asks_for_it() {
    let mut settings = Settings::default();
    settings.scope.user_header = Some("x-user".to_owned());
    let server = Harness::with(settings);
    server.talk("t", "r1", "Hi", "Hello").await;
    let raw = export(&server, "t", "raw").await;
    let theirs = [LINES, ("x-user", "other")];
    assert_eq!(server.post_with("/v1/import", &theirs, raw).await.status, 200);
    let thread = server.get("/v1/threads/t", &[("x-user", "other")]).await.json().await;
    assert_eq!((&thread["user"], &thread["runs"]), (&json!("other"), &json!(1)));
}

#[tokio::test]
async fn an_import_that_fails_leaves_only_what_is_whole() {
    let server = talked().await;
    let raw = export(&server, "t", "raw").await;
    let (status, code, details) = import(&server, "", raw.clone()).await.refusal().await;
    assert_eq!((status, code.as_str(), details), (409, "thread_exists", json!({"threadId":"t","line":1})));
    let head = raw.lines().next().unwrap();
    let second = raw.replacen(head, &head.replace(r#""id":"t""#, r#""id":"b""#), 1);
    let first = raw.replacen(head, &head.replace(r#""id":"t""#, r#""id":"a""#), 1);
    let cut = &second[..second.trim_end().rfind('\n').unwrap()];
    for (rest, line) in [(cut.to_owned(), None), (format!("{cut}\nnonsense\n"), Some(18))] {
        let (status, code, details) = import(&server, "", format!("{first}{rest}")).await.refusal().await;
        assert_eq!((status, code.as_str(), &details["threadIds"]), (400, "invalid_input", &json!(["a"])));
        assert_eq!(details.get("line").and_then(Value::as_u64), line);
        assert_eq!(list(&server).await, ["a", "t"]);
        assert_eq!(server.ask(Method::DELETE, "/v1/threads/a", None).await.status, 204);
    }
    let (status, _, _) = server.post_with("/v1/import", &[], raw).await.refusal().await;
    assert_eq!(status, 415);
    let (status, code, _) =
        import(&server, &format!("thread={}", "x".repeat(257)), first).await.refusal().await;
    assert_eq!((status, code.as_str()), (400, "invalid_parameter"));
}

#[tokio::test]
async fn a_line_that_is_missing_is_noticed() {
    let (here, there) = (talked().await, Harness::new());
    let raw = export(&here, "t", "raw").await;
    let lines: Vec<&str> = raw.lines().collect();
    for line in 1..lines.len() {
        let altered = [&lines[..line], &lines[line + 1..]].concat().join("\n");
        let (status, code, _) = import(&there, "", altered).await.refusal().await;
        assert_eq!((status, code.as_str()), (400, "invalid_input"), "{}", lines[line]);
        assert_eq!(list(&there).await, Vec::<String>::new());
    }
    assert_eq!(import(&there, "", raw).await.status, 200);
}

#[tokio::test]
async fn what_cannot_be_read_as_an_event_is_counted() {
    let server = Harness::new();
    let start = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
    let imported = import(&server, "", format!("{start}\n{{\"a\":1}}\nwords\n")).await.json().await;
    assert_eq!((&imported["records"], &imported["unreadable"]), (&json!(3), &json!(2)));
    let refused = import(&server, "", "\n# Words\n\nand words\n".to_owned()).await.refusal().await;
    assert_eq!((refused.0, refused.1.as_str(), &refused.2["line"]), (400, "invalid_input", &json!(2)));
    assert_eq!(list(&server).await, ["t"]);
}

#[tokio::test]
async fn an_import_may_be_larger_than_a_request() {
    let here = talked().await;
    let raw = export(&here, "t", "raw").await;
    let mut settings = Settings::default();
    settings.http.request_bytes_max = 16;
    settings.http.import_bytes_max = raw.len() as u64;
    let there = Harness::with(settings);
    let (status, code, _) = import(&there, "", format!("{raw} ")).await.refusal().await;
    assert_eq!((status, code.as_str()), (413, "request_too_large"));
    assert_eq!(list(&there).await, Vec::<String>::new());
    assert_eq!(import(&there, "", raw).await.status, 200);
}

/// A body that is sent as it comes.
fn sent(parts: mpsc::UnboundedReceiver<io::Result<Bytes>>) -> Body {
    Body::from_stream(unfold(parts, async |mut parts| parts.recv().await.map(|part| (part, parts))))
}

#[tokio::test]
async fn who_goes_away_in_the_middle_of_an_import_leaves_nothing() {
    let here = talked().await;
    let raw = export(&here, "t", "raw").await;
    let half = raw.len() / 2;
    for is_told in [true, false] {
        let there = Arc::new(Harness::new());
        let mut changes = there.app.engine().changes();
        let (sender, parts) = mpsc::unbounded_channel();
        let request = Request::post("/v1/import").header("host", "localhost").header(LINES.0, LINES.1);
        let request = request.body(sent(parts)).unwrap();
        let asking = tokio::spawn({
            let there = Arc::clone(&there);
            async move { there.send(request).await.refusal().await }
        });
        sender.send(Ok(Bytes::copy_from_slice(&raw.as_bytes()[..half]))).unwrap();
        changes.recv().await.unwrap();
        assert_eq!(list(&there).await, ["t"], "it has begun");
        if is_told {
            sender.send(Err(io::ErrorKind::ConnectionReset.into())).unwrap();
            let (status, code, _) = asking.await.unwrap();
            assert_eq!((status, code.as_str()), (400, "invalid_input"));
        } else {
            // The connection goes, and with it whoever would be told.
            asking.abort();
            sender.closed().await;
        }
        while !matches!(changes.recv().await, Ok(threadline_log::engine::ThreadChange::Deleted(_))) {}
        assert_eq!(list(&there).await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_copy_is_of_a_run_or_up_to_a_point() {
    let server = talked().await;
    let clone = async |body: Value| server.post("/v1/threads/t/clone", &body).await;
    let whole = clone(json!({"threadId":"all"})).await;
    assert_eq!(whole.status, 201);
    let whole = whole.json().await;
    assert_eq!((&whole["threadId"], &whole["tail"], &whole["runs"]), (&json!("all"), &json!(6), &json!(2)));
    assert_eq!(whole, server.get("/v1/threads/all", &[]).await.json().await);
    assert_eq!(messages(&server, "all").await, messages(&server, "t").await);
    let page = server.get("/v1/threads/t/events", &[]).await.json().await;
    let ms = page["records"][2]["time"].as_i64().unwrap();
    let time = format!("1970-01-01T00:00:00.{ms:03}Z");
    for (name, mut body) in
        [("run", json!({"runId":"r1"})), ("offset", json!({"at":2})), ("time", json!({"at":time}))]
    {
        body["threadId"] = name.into();
        let made = clone(body).await.json().await;
        assert_eq!(
            (&made["tail"], &made["runs"], &made["status"]),
            (&json!(3), &json!(1), &json!("finished")),
            "{name}"
        );
    }
    for (body, status, code) in [
        (json!({"threadId":"all"}), 409, "thread_exists"),
        (json!({"threadId":"x","runId":"r9"}), 404, "run_not_found"),
        (json!({"threadId":"x","at":99}), 400, "invalid_parameter"),
    ] {
        let refused = clone(body.clone()).await.refusal().await;
        assert_eq!((refused.0, refused.1.as_str()), (status, code), "{body}");
    }
    for (body, pointer) in [
        (json!([]), ""),
        (json!({}), "/threadId"),
        (json!({"threadId":1}), "/threadId"),
        (json!({"threadId":"x","at":"soon"}), "/at"),
        (json!({"threadId":"x","at":-1}), "/at"),
        (json!({"threadId":"x","at":1,"runId":"r1"}), "/at"),
        (json!({"threadId":"x","a/b":1}), "/a~1b"),
    ] {
        let (status, code, details) = clone(body.clone()).await.refusal().await;
        assert_eq!(
            (status, code.as_str(), &details["pointer"]),
            (400, "invalid_input", &json!(pointer)),
            "{body}"
        );
    }
    let (status, _, _) = server.post("/v1/threads/x/clone", &json!({"threadId":"y"})).await.refusal().await;
    assert_eq!(status, 404);
    // What goes on is closed in the copy, and goes on in the original.
    let _agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r3", &json!([]))).await;
    answer.next().await.unwrap();
    let made = clone(json!({"threadId":"meanwhile"})).await.json().await;
    assert_eq!(made["status"], "cancelled");
    assert_eq!(server.get("/v1/threads/t", &[]).await.json().await["status"], "running");
}
