//! Points in time: by offset, by time, page by page, and what is gone.

use crate::harness::{Answer, Harness, request, user};
use serde_json::{Value, json};
use threadline_log::names::Owner;
use threadline_log::retention::{KeepRaw, Retention};
use threadline_log::{Scope, ThreadId, ThreadKey, Timestamp};

/// A time as RFC 3339 writes it. The clock of tests has not come far.
fn rfc3339(ms: i64) -> String {
    format!("1970-01-01T00:00:{:02}.{:03}Z", ms / 1_000, ms % 1_000)
}

fn key(thread: &str) -> ThreadKey {
    let owner = Owner::new("default").unwrap();
    ThreadKey::new(Scope { app: owner.clone(), user: owner }, ThreadId::new(thread).unwrap())
}

async fn get(server: &Harness, path: &str) -> Value {
    server.get(&format!("/v1/threads/t/{path}"), &[]).await.json().await
}

async fn refused(server: &Harness, path: &str) -> (u16, String, Value) {
    server.get(&format!("/v1/threads/t/{path}"), &[]).await.refusal().await
}

/// A run that sets the state to 1, 2 and 3.
async fn count(server: &Harness, run: &str) {
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request(run, &json!([]))).await;
    for n in 1..=3 {
        agent.say(&json!({"type":"STATE_SNAPSHOT","snapshot":{"n":n,"of":run}}));
    }
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
    answer.all().await;
}

fn offsets(page: &Value) -> Vec<u64> {
    let records = page["records"].as_array().unwrap();
    records.iter().map(|record| record["offset"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn offsets_and_times_mean_the_same() {
    let server = Harness::new();
    count(&server, "r1").await;
    let all = get(&server, "events").await;
    let records = all["records"].as_array().unwrap();
    let time = |offset: usize| records[offset]["time"].as_i64().unwrap();
    for record in records {
        let (offset, at) = (record["offset"].as_u64().unwrap(), record["time"].as_i64().unwrap());
        // The last one of its time is what is seen at that time.
        let last = records.iter().rposition(|other| other["time"] == at).unwrap();
        for path in ["state?run=r1&at", "state?at", "messages?at"] {
            let by_time = get(&server, &format!("{path}={}", rfc3339(at))).await;
            assert_eq!(by_time, get(&server, &format!("{path}={last}")).await, "{path} {offset}");
        }
        let after = get(&server, &format!("events?after={}", rfc3339(at))).await;
        assert_eq!(offsets(&after), (last as u64 + 1..5).collect::<Vec<_>>());
        let first = records.iter().position(|other| other["time"] == at).unwrap();
        let until = get(&server, &format!("events?until={}", rfc3339(at))).await;
        assert_eq!(offsets(&until), (0..first as u64).collect::<Vec<_>>());
    }
    let nothing = get(&server, &format!("state?at={}", rfc3339(time(0) - 1))).await;
    assert_eq!((&nothing["runId"], &nothing["state"]), (&Value::Null, &json!({})));
    for path in ["events?after=1:0", "events?until=soon", "state?at=now", "messages?at=2026-02-30T00:00:00Z"]
    {
        let (status, code, _) = refused(&server, path).await;
        assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{path}");
    }
}

#[tokio::test]
async fn a_stream_ends_where_it_is_told_to() {
    let server = Harness::new();
    count(&server, "r1").await;
    let all = get(&server, "events").await;
    let times: Vec<i64> =
        all["records"].as_array().unwrap().iter().map(|record| record["time"].as_i64().unwrap()).collect();
    let before = times.iter().filter(|time| **time < times[4]).count();
    for (until, len) in [("2".to_owned(), 2), (rfc3339(times[4]), before), ("0".to_owned(), 0)] {
        let path = format!("/v1/threads/t/events?until={until}");
        let frames = server.get(&path, &[("accept", "text/event-stream")]).await.all().await;
        assert_eq!(frames.len(), len, "{until}");
    }
}

#[tokio::test]
async fn messages_page_backwards_as_they_were() {
    let server = Harness::new();
    let mut said = Vec::new();
    for n in 0..5 {
        let run = format!("r{n}");
        let agent = server.agent.next_run();
        said.push(user(&format!("u{n}"), "Hi"));
        let answer = server.post("/agui", &request(&run, &json!(said))).await;
        let id = format!("a{n}");
        agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":id,"role":"assistant","delta":"Hello"}));
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
        answer.all().await;
        said.push(json!({"id":id,"role":"assistant","content":"Hello"}));
    }
    let whole = get(&server, "messages").await;
    assert_eq!((&whole["messages"], whole.get("before")), (&json!(said), None));
    let (mut pages, mut path) = (Vec::new(), "messages?limit=3".to_owned());
    loop {
        let page = get(&server, &path).await;
        pages.push(page["messages"].clone());
        let Some(before) = page["before"].as_str() else { break };
        path = format!("messages?limit=3&before={before}");
        if pages.len() == 1 {
            // What is said meanwhile, on another branch, does not change them.
            let agent = server.agent.next_run();
            let mut fork = request("fork", &json!([user("else", "Else")]));
            fork["parentRunId"] = "r0".into();
            let answer = server.post("/agui", &fork).await;
            agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"fork"}));
            answer.all().await;
            assert_eq!(get(&server, "messages").await["messages"].as_array().unwrap().len(), 3);
        }
    }
    assert_eq!(json!(pages), json!([said[7..], said[4..7], said[1..4], said[..1]]));
    for path in [path.as_str(), "messages?limit=3&run=r2&before=x", "messages?before=7.0.3"] {
        let path = format!("{path}&at=0");
        let (status, code, _) = refused(&server, &path).await;
        assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{path}");
    }
    let gone = server.ask(axum::http::Method::DELETE, "/v1/threads/t", None).await;
    assert_eq!(gone.status, 204);
    server.talk("t", "r0", "Hi", "Hello").await;
    let (status, code, _) = refused(&server, &path).await;
    assert_eq!((status, code.as_str()), (410, "thread_replaced"));
}

#[tokio::test]
async fn what_is_gone_says_so() {
    let server = Harness::new();
    count(&server, "r1").await;
    server.talk("t", "r2", "Hi", "Hello").await;
    let all = get(&server, "events").await;
    let time = |offset: usize| rfc3339(all["records"][offset]["time"].as_i64().unwrap());
    let state = get(&server, "state?run=r1").await;
    let engine = server.app.engine();
    let thread = key("t");
    engine.store().compact_run(&thread, threadline_log::RunNo(0), Timestamp(9_999)).await.unwrap();
    for path in [
        "events".to_owned(),
        "events?after=1".to_owned(),
        format!("events?after={}", time(0)),
        "state?at=1".to_owned(),
        format!("messages?at={}", time(0)),
        "state?run=r1&at=2".to_owned(),
    ] {
        let (status, code, details) = refused(&server, &path).await;
        assert_eq!((status, code.as_str(), &details["runId"]), (410, "compacted", &json!("r1")), "{path}");
        if path.starts_with("events") {
            assert_eq!(details["first"], 5, "{path}");
        }
    }
    // What it came to is there still, at any time after its end.
    let at_its_end = format!("state?at={}", time(4));
    for path in ["state?run=r1", &at_its_end] {
        assert_eq!(get(&server, path).await, state, "{path}");
    }
    assert_eq!(offsets(&get(&server, "events?after=4").await), [5, 6, 7]);
    assert_eq!(get(&server, "runs/r1").await["compacted"], true);

    engine.trim(&thread, 6).await.unwrap();
    for path in ["events?after=4", "state?at=5", "messages?at=1970-01-01T00:00:00Z"] {
        let (status, code, details) = refused(&server, path).await;
        assert_eq!((status, code.as_str(), &details["first"]), (410, "trimmed", &json!(6)), "{path}");
    }
}

#[tokio::test]
async fn a_page_ends_before_what_is_gone() {
    let server = Harness::new();
    count(&server, "r1").await;
    let engine = server.app.engine();
    engine.retain(&Retention { keep_raw: KeepRaw::For(0), ..Retention::default() }).await.unwrap();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r2", &json!([]))).await;
    answer.next().await.unwrap();
    let other = server.agent.next_run();
    let mut beside = request("r3", &json!([]));
    beside["parentRunId"] = "r1".into();
    let beside = server.post("/agui", &beside).await;
    other.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r3"}));
    beside.all().await;
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r2"}));
    answer.all().await;
    engine.store().compact_run(&key("t"), threadline_log::RunNo(2), Timestamp(9_999)).await.unwrap();
    let page = get(&server, "events?after=4").await;
    assert_eq!(offsets(&page), [5]);
    let next = page["next"].as_str().unwrap();
    let (status, _, details) = refused(&server, &format!("events?after={next}")).await;
    assert_eq!((status, &details), (410, &json!({"runId":"r3","first":8})));
    assert_eq!(offsets(&get(&server, "events?after=7").await), [8]);
}

async fn held(server: &Harness, path: &str, answer: &Answer) -> u16 {
    let tag = answer.headers["etag"].to_str().unwrap();
    let mut again = server.get(&format!("/v1/threads/t/{path}"), &[("if-none-match", tag)]).await;
    if again.status == 304 {
        assert_eq!(again.headers["etag"], tag);
        assert_eq!(again.body().await.len(), 0);
    }
    again.status.as_u16()
}

#[tokio::test]
async fn what_does_not_change_is_not_sent_twice() {
    let server = Harness::new();
    count(&server, "r1").await;
    let (fixed, moving) = (
        [
            "messages?run=r1",
            "state?run=r1",
            "messages?at=2",
            "state?at=2",
            "runs/r1",
            "events?limit=2",
            "events?until=3",
        ],
        ["messages", "state", "events"],
    );
    let mut answers = Vec::new();
    for path in fixed.iter().chain(&moving) {
        let answer = server.get(&format!("/v1/threads/t/{path}"), &[]).await;
        assert_eq!(held(&server, path, &answer).await, 304, "{path}");
        answers.push(answer);
    }
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r2", &json!([user("u", "Hi")]))).await;
    answer.next().await.unwrap();
    assert_eq!(server.get("/v1/threads/t/runs/r2", &[]).await.headers.get("etag"), None, "it goes on");
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r2"}));
    answer.all().await;
    for (path, answer) in fixed.iter().zip(&answers) {
        assert_eq!(held(&server, path, answer).await, 304, "{path}");
    }
    for (path, answer) in moving.iter().zip(&answers[fixed.len()..]) {
        assert_eq!(held(&server, path, answer).await, 200, "{path}");
    }
    let one = get(&server, "runs/r2").await;
    assert_eq!(
        (&one["runId"], &one["parentRunId"], &one["status"]),
        (&json!("r2"), &json!("r1"), &json!("finished"))
    );
    assert_eq!(json!([get(&server, "runs/r1").await, one]), get(&server, "runs").await["runs"]);
    let (status, code, _) = refused(&server, "runs/r9").await;
    assert_eq!((status, code.as_str()), (404, "run_not_found"));
    server.ask(axum::http::Method::DELETE, "/v1/threads/t", None).await;
    assert_eq!(held(&server, "messages?at=2", &answers[2]).await, 404, "what is deleted is not held on to");
}
