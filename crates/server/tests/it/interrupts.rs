//! Interrupts: asked, shown again, answered once.

use crate::harness::{Harness, request};
use serde_json::{Value, json};

async fn asked(server: &Harness) {
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    let outcome = json!({"type":"interrupt","interrupts":[{"id":"i1","reason":"confirmation"},{"id":"i2","reason":"confirmation"}]});
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":outcome}));
    answer.all().await;
}

fn answering(run: &str, ids: &[&str]) -> Value {
    let mut body = request(run, &json!([]));
    body["resume"] = ids.iter().map(|id| json!({"interruptId":id,"status":"resolved"})).collect();
    body
}

#[tokio::test]
async fn a_reload_shows_what_was_asked() {
    let server = Harness::new();
    asked(&server).await;
    let frames = server.post("/agui/connect", &request("c", &json!([]))).await.all().await;
    let end = frames.last().unwrap().value();
    assert_eq!(end["outcome"]["type"], "interrupt");
    assert_eq!(end["outcome"]["interrupts"][1]["id"], "i2");
}

#[tokio::test]
async fn all_that_was_asked_must_be_answered() {
    let server = Harness::new();
    asked(&server).await;
    for (body, open) in
        [(request("r2", &json!([])), json!(["i1", "i2"])), (answering("r2", &["i1"]), json!(["i2"]))]
    {
        let (status, code, details) = server.post("/agui", &body).await.refusal().await;
        assert_eq!((status, code.as_str()), (409, "interrupts_open"));
        assert_eq!(details["interruptIds"], open);
    }
}

#[tokio::test]
async fn what_was_asked_is_answered_once_but_by_a_run_that_failed() {
    let server = Harness::new();
    asked(&server).await;
    let agent = server.agent.next_run();
    let failing = server.post("/agui", &answering("r2", &["i1", "i2"])).await;
    agent.fail("x", "no");
    failing.all().await;
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &answering("r3", &["i1", "i2"])).await;
    answer.next().await.unwrap();
    for _ in 0..2 {
        let (status, code, details) =
            server.post("/agui", &answering("r4", &["i2", "i1"])).await.refusal().await;
        assert_eq!((status, code.as_str()), (409, "interrupt_answered"));
        assert_eq!(details, json!({"interruptId":"i2","runId":"r3"}));
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r3"}));
    }
    answer.all().await;
}
