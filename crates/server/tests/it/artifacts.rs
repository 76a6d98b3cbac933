//! Evidence of runs.

use crate::harness::{Harness, request};
use serde_json::{Value, json};
use threadline_evidence::verify::{Claim, Level, Outcome, Verification};
use threadline_evidence::{Statement, check};
use threadline_log::names::Owner;
use threadline_log::{RunNo, Scope, ThreadId, ThreadKey};
use threadline_server::evidence::recheck;

fn snapshot() -> Value {
    json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "u", "role": "user", "content": "Hello"}, {"id": "a", "role": "assistant", "content": "Hi there"},
    ]})
}

/// Runs an agent that says these things.
async fn said(server: &Harness, run: &str, events: &[Value]) {
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request(run, &json!([]))).await;
    events.iter().for_each(|event| agent.say(event));
    answer.all().await;
}

fn whole(run: &str) -> Vec<Value> {
    vec![
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": run}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}),
        snapshot(),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": run}),
    ]
}

async fn reasons(server: &Harness, run: &str) -> Vec<String> {
    let answer = server.get(&format!("/v1/threads/t/runs/{run}/artifact"), &[]).await;
    let (status, code, details) = answer.refusal().await;
    assert_eq!((status, code.as_str()), (422, "artifact_refused"));
    let refusals = details["refusals"].as_array().unwrap().iter();
    refusals.map(|refusal| refusal["reason"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_run_gives_its_artifact_and_where_it_came_from() {
    let server = Harness::new();
    said(&server, "r1", &whole("r1")).await;
    let mut artifact = server.get("/v1/threads/t/runs/r1/artifact", &[]).await;
    assert_eq!(artifact.headers["content-type"], "application/json");
    let artifact = artifact.body().await;
    assert_eq!(check(&artifact).unwrap().messages().len(), 2);
    let statement = server.get("/v1/threads/t/runs/r1/artifact/statement", &[]).await.body().await;
    let source = Statement::read(&statement).unwrap().source().clone();
    assert_eq!((source.thread.as_str(), source.run.as_str()), ("t", "r1"));
    assert_eq!(source.scope.unwrap().app, "default");
    let verdict = Verification::new(&artifact, Claim::Statement(&statement), &[]).verdict();
    assert_eq!(verdict.outcome(Level::Subject), Outcome::Passed);
    let told: Value = serde_json::from_slice(&statement).unwrap();
    // The start that the server made lies before; its own one counts.
    assert_eq!(told["predicate"]["raw"]["first"], 1);
    assert_eq!(told["predicate"]["raw"]["count"], 4);
    assert_eq!(told["predicate"]["dropped"]["events"], json!({"STATE_SNAPSHOT": 1}));
    assert_eq!(told["predicate"]["clock"], "recorder");
    let chain = &told["predicate"]["chain"];
    assert_eq!((&chain["from"], &chain["at"]), (&json!(0), &json!(5)));
    let engine = server.app.engine();
    let thread = thread();
    let mut said = Statement::read(&statement).unwrap().chain().unwrap().clone();
    assert_eq!(recheck(engine, &thread, &said).await.unwrap().0, Outcome::Passed);
    said.at = 4;
    assert_eq!(recheck(engine, &thread, &said).await.unwrap().0, Outcome::Failed);
    said.at = 6;
    assert_eq!(recheck(engine, &thread, &said).await.unwrap().0, Outcome::Failed);
}

#[tokio::test]
async fn why_there_is_none_is_told_by_name() {
    let server = Harness::new();
    let finished = |run: &str| json!({"type": "RUN_FINISHED", "threadId": "t", "runId": run});
    let started = |run: &str| json!({"type": "RUN_STARTED", "threadId": "t", "runId": run});
    said(&server, "silent", &[started("silent"), finished("silent")]).await;
    assert_eq!(reasons(&server, "silent").await, ["no_snapshot"]);
    // The start that the server makes is not the source's.
    said(&server, "unsaid", &[snapshot(), finished("unsaid")]).await;
    assert_eq!(reasons(&server, "unsaid").await, ["outside_run", "no_run_started"]);
    // The client sees one end only, and the log has both.
    let twice =
        [started("twice"), snapshot(), json!({"type": "RUN_ERROR", "message": "m"}), finished("twice")];
    said(&server, "twice", &twice).await;
    let mut records = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    while records.next().await.unwrap().value()["kind"] != "rejected" {}
    assert_eq!(reasons(&server, "twice").await, ["double_terminal"]);
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("open", &json!([]))).await;
    agent.say(&started("open"));
    assert_eq!(reasons(&server, "open").await.first().map(String::as_str), Some("run_not_ended"));
    agent.say(&finished("open"));
    answer.all().await;
    for path in ["/v1/threads/t/runs/nobody/artifact", "/v1/threads/t/runs/nobody/artifact/statement"] {
        let (status, code, _) = server.get(path, &[]).await.refusal().await;
        assert_eq!((status, code.as_str()), (404, "run_not_found"));
    }
    let (status, code, _) = server.get("/v1/threads/x/runs/r/artifact", &[]).await.refusal().await;
    assert_eq!((status, code.as_str()), (404, "thread_not_found"));
}

#[tokio::test]
async fn a_run_whose_records_are_gone_has_none() {
    let server = Harness::new();
    for run in ["r1", "r2"] {
        said(&server, run, &whole(run)).await;
    }
    let engine = server.app.engine();
    let statement = server.get("/v1/threads/t/runs/r2/artifact/statement", &[]).await.body().await;
    let chain = Statement::read(&statement).unwrap().chain().unwrap().clone();
    engine.store().compact_run(&thread(), RunNo(0), engine.now()).await.unwrap();
    assert_eq!(reasons(&server, "r1").await, ["raw_not_kept"]);
    // Those of the other are there, and those before them cannot be looked at any more.
    assert_eq!(server.get("/v1/threads/t/runs/r2/artifact", &[]).await.status, 200);
    assert_eq!(recheck(engine, &thread(), &chain).await.unwrap().0, Outcome::NotChecked);
    engine.trim(&thread(), 7).await.unwrap();
    assert_eq!(reasons(&server, "r2").await, ["raw_not_kept"]);
}

fn thread() -> ThreadKey {
    let owner = Owner::new("default").expect("a name");
    ThreadKey::new(Scope { app: owner.clone(), user: owner }, ThreadId::new("t").expect("a name"))
}

/// What the server tells of a thread by itself is no integration's snapshot, and can be told from one.
#[tokio::test]
async fn snapshots_that_the_server_makes_are_marked() {
    let server = Harness::new();
    said(&server, "r1", &whole("r1")).await;
    let body = json!({"threadId": "t", "runId": "again"});
    for path in ["/history", "/agui/connect"] {
        for version in [None, Some("1.0")] {
            let mut body = body.clone();
            if let Some(version) = version {
                body["protocolVersion"] = version.into();
            }
            let frames = server.post(path, &body).await.all().await;
            let snapshot = frames.iter().find(|frame| frame.kind() == "MESSAGES_SNAPSHOT").unwrap().value();
            assert_eq!(snapshot["metadata"]["threadline"]["synthesised"], true, "{path} {version:?}");
            let mut deriver = threadline_evidence::Deriver::new(threadline_evidence::Times::Recorded);
            for (offset, frame) in (0..).zip(&frames) {
                deriver.push(offset, Some(0), frame.json.as_bytes());
            }
            let refused = deriver.finish().unwrap_err();
            assert!(refused.has(threadline_evidence::Reason::SynthesisedSnapshot), "{path}: {refused}");
        }
    }
    // As it happens, the client that runs the agent sees the agent's own.
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r2", &json!([]))).await;
    whole("r2").iter().for_each(|event| agent.say(event));
    let frames = answer.all().await;
    let snapshot = frames.iter().find(|frame| frame.kind() == "MESSAGES_SNAPSHOT").unwrap().value();
    assert_eq!(snapshot.get("metadata"), None);
    let mut exported = server.get("/v1/threads/t/export?form=snapshot", &[]).await;
    let exported = String::from_utf8(exported.body().await.to_vec()).unwrap();
    assert_eq!(exported.matches(r#""threadline":{"synthesised":true}"#).count(), 1, "{exported}");
}
