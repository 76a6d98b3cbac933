//! What a server lets go of by itself, as it was told.

use crate::harness::{Harness, request, user};
use serde_json::{Value, json};
use std::time::Duration;
use threadline_server::keep_up;
use tokio::time::sleep;

const HOUR: Duration = Duration::from_hours(1);

/// A run that says something, to its end.
async fn talk(server: &Harness, run: &str) {
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request(run, &json!([user("u1", "hello")]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"hi"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":" there"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"m1"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
    answer.all().await;
}

async fn get(server: &Harness, path: &str) -> Value {
    server.get(path, &[]).await.json().await
}

#[tokio::test(start_paused = true)]
async fn what_need_not_be_kept_is_let_go_when_it_is_time() {
    let settings = "[retention]\nkeep_raw = '2h'\nthread_age_max = '30d'\nevery = '1h'";
    let server = Harness::with(toml::from_str(settings).unwrap());
    talk(&server, "r1").await;
    let upkeep = tokio::spawn(keep_up(server.app.clone(), HOUR));
    sleep(HOUR / 2).await;
    assert_eq!(get(&server, "/v1/threads/t/runs/r1").await["compacted"], false);
    let messages = get(&server, "/v1/threads/t/messages").await;

    server.jump(2 * HOUR);
    sleep(HOUR).await;
    assert_eq!(get(&server, "/v1/threads/t/runs/r1").await["compacted"], true);
    assert_eq!(get(&server, "/v1/threads/t/messages").await, messages);

    server.jump(30 * 24 * HOUR);
    assert_eq!(server.get("/v1/threads/t", &[]).await.status, 200);
    sleep(HOUR).await;
    assert_eq!(server.get("/v1/threads/t", &[]).await.status, 404);
    upkeep.abort();
}

#[tokio::test(start_paused = true)]
async fn everything_is_kept_unless_it_was_told() {
    let server = Harness::new();
    talk(&server, "r1").await;
    server.jump(10_000 * 24 * HOUR);
    let upkeep = tokio::spawn(keep_up(server.app.clone(), HOUR));
    sleep(3 * HOUR).await;
    upkeep.abort();
    assert_eq!(get(&server, "/v1/threads/t/runs/r1").await["compacted"], false);
}
