//! Coming back with a cursor.

use crate::harness::{Harness, kinds, request};
use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::json;
use threadline_server::Input;
use threadline_server::access::Caller;

#[tokio::test]
async fn who_comes_back_gets_exactly_what_follows() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut first = server.post("/agui", &request("r1", &json!([]))).await;
    // A record that several events are made of, and one that nothing is made of.
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"without a start"}));
    agent.say_text("garbage");
    agent.say(&json!({"type":"STEP_STARTED","stepName":"s"}));
    let mut whole = first.until("STEP_STARTED").await;
    let mut live = Vec::new();
    for frame in &whole {
        let id = frame.id.clone().unwrap();
        live.push(
            server
                .post_with("/agui/connect", &[("last-event-id", &id)], request("c", &json!([])).to_string())
                .await,
        );
    }
    agent.say(&json!({"type":"STEP_FINISHED","stepName":"s"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    whole.extend(first.all().await);
    assert_eq!(whole.len(), 7, "{:?}", kinds(&whole));
    for (place, answer) in live.into_iter().enumerate() {
        assert_eq!(answer.all().await, whole[place + 1..], "live, after {place}");
    }
    for (place, frame) in whole.iter().enumerate() {
        let path = format!("/agui/connect?after={}", frame.id.as_ref().unwrap());
        assert_eq!(
            server.post(&path, &request("c", &json!([]))).await.all().await,
            whole[place + 1..],
            "after {place}"
        );
    }
}

#[tokio::test]
async fn the_end_of_a_prelude_is_a_place_to_come_back_to() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut first = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    first.until("TEXT_MESSAGE_START").await;
    let mut second = server.post("/agui/connect", &request("c", &json!([]))).await;
    let cursor = second.until("TEXT_MESSAGE_START").await.pop().unwrap().id.unwrap();
    let third = server.post(&format!("/agui/connect?after={cursor}"), &request("c", &json!([]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"a"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    let rest = first.all().await;
    assert_eq!(rest.len(), 2);
    assert_eq!(third.all().await, rest);
    assert_eq!(second.all().await, rest);
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([]))).await;
    let cursor = answer.next().await.unwrap().id.unwrap();
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    answer.all().await;
    for (cursor, status, code) in [
        ("x".to_owned(), 400, "invalid_cursor"),
        ("7..0".to_owned(), 400, "invalid_cursor"),
        ("8.0.0.1".to_owned(), 410, "thread_replaced"),
        ("8.3.0.1".to_owned(), 410, "thread_replaced"),
        ("7.3.0.1".to_owned(), 404, "run_not_found"),
        ("7.0.99.1".to_owned(), 400, "invalid_parameter"),
    ] {
        let refused = server
            .post(&format!("/agui/connect?after={cursor}"), &request("c", &json!([])))
            .await
            .refusal()
            .await;
        assert_eq!((refused.0, refused.1.as_str()), (status, code), "{cursor}");
    }
    assert_eq!(cursor, "7.0.0.1");
    let key = server.app.thread(
        &Caller::anybody(),
        &HeaderMap::new(),
        &Input::read(&Bytes::from(r#"{"threadId":"t"}"#)).unwrap(),
    );
    server.app.engine().delete(&key.unwrap()).await.unwrap();
    let (status, code, _) = server
        .post(&format!("/agui/connect?after={cursor}"), &request("c", &json!([])))
        .await
        .refusal()
        .await;
    assert_eq!((status, code.as_str()), (410, "thread_replaced"), "the thread was deleted");
}
