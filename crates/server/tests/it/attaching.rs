//! Attaching to a thread.

use crate::harness::{Harness, folded, kinds, messages, request, user};
use serde_json::{Value, json};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

#[tokio::test]
async fn a_thread_that_is_not_there_holds_nothing() {
    let server = Harness::new();
    let frames =
        server.post("/agui/connect", &json!({"threadId": "t", "protocolVersion": "1.0"})).await.all().await;
    assert_eq!(kinds(&frames), ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(frames[2].value()["messages"], json!([]));
    assert_eq!(frames[0].value()["runId"], frames[3].value()["runId"]);
    assert_eq!(frames.iter().filter(|frame| frame.id.is_some()).count(), 0);
    assert_eq!(server.get("/v1/threads/t/runs", &[]).await.refusal().await.1, "thread_not_found");
}

#[tokio::test]
async fn who_arrives_in_the_middle_holds_what_the_others_hold() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut first = server.post("/agui", &request("r1", &json!([user("u", "hi")]))).await;
    agent.say(&json!({"type":"STATE_SNAPSHOT","snapshot":{"n":1}}));
    agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"half "}));
    let mut whole = first.until("TEXT_MESSAGE_CONTENT").await;
    let second = server.post("/agui/connect", &request("c", &json!([]))).await;
    agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"and half"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_END","messageId":"a"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
    whole.extend(first.all().await);
    let joined = second.all().await;
    assert_eq!(
        kinds(&joined),
        [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "MESSAGES_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(joined[0].value()["runId"], "r1");
    assert_eq!(messages(&folded(&joined)), messages(&folded(&whole)));
    assert_eq!(messages(&folded(&joined))[1]["content"], "half and half");
    let with_id: Vec<bool> = joined.iter().map(|frame| frame.id.is_some()).collect();
    assert_eq!(with_id, [false, false, false, true, true, true, true]);
}

/// For streams of any kind, and wherever one arrives: what is sent is accepted, and comes to the same as the whole.
#[tokio::test]
async fn every_offset_is_a_place_to_arrive() {
    for seed in 0..40 {
        let stream: Vec<String> =
            streams::valid(&mut Random::new(seed)).iter().map(Value::to_string).collect();
        let whole = run_of(&stream, None).await;
        let Some(whole) = whole else { continue };
        for at in 0..whole.2 {
            let (first, joined, _) = run_of(&stream, Some(at)).await.expect("the same run");
            assert_eq!(messages(&folded(&joined)), messages(&folded(&first)), "seed {seed}, at {at}");
            assert_eq!(folded(&joined).state(), folded(&first).state(), "seed {seed}, at {at}");
        }
    }
}

/// Plays the first run of a stream, attaches after some of its events, and gives what both readers saw, and its length.
async fn run_of(
    stream: &[String],
    at: Option<usize>,
) -> Option<(Vec<crate::harness::Frame>, Vec<crate::harness::Frame>, usize)> {
    let is_end = |event: &String| event.contains("\"RUN_FINISHED\"") || event.contains("\"RUN_ERROR\"");
    let length = stream.iter().position(is_end)? + 1;
    let started: Value = serde_json::from_str(&stream[0]).unwrap();
    let run = started["runId"].as_str()?;
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut first = server.post("/agui", &request(run, &json!([]))).await;
    let mut seen = vec![first.next().await.unwrap()];
    let mut joined = Vec::new();
    for (place, event) in stream[..length].iter().enumerate() {
        if at == Some(place) {
            settle(&server, place).await;
            let answer = server.post("/agui/connect", &request("c", &json!([]))).await;
            for event in &stream[place..length] {
                agent.say_text(event);
            }
            joined = answer.all().await;
            break;
        }
        agent.say_text(event);
    }
    drop(agent);
    seen.extend(first.all().await);
    Some((seen, joined, length))
}

/// Waits until so many events of the source are stored.
async fn settle(server: &Harness, events: usize) {
    let mut live = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
    for _ in 0..=events {
        live.next().await.unwrap();
    }
}

#[tokio::test]
async fn an_old_failure_is_not_told_as_a_new_one() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let answer = server.post("/agui", &request("r1", &json!([]))).await;
    agent.say(&json!({"type":"RUN_ERROR","message":"no","code":"c"}));
    answer.all().await;
    let frames = server.post("/agui/connect", &request("c", &json!([]))).await.all().await;
    assert_eq!(kinds(&frames)[3], "RUN_FINISHED");
    assert_eq!(frames[3].value()["metadata"]["threadline"], json!({"runId": "r1", "status": "failed"}));
}

#[tokio::test]
async fn a_client_of_0_x_sees_what_it_knows() {
    let server = Harness::new();
    let agent = server.agent.next_run();
    let mut body = request("r1", &json!([]));
    body.as_object_mut().unwrap().remove("protocolVersion");
    let answer = server.post("/agui", &body).await;
    agent.say(&json!({"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}));
    agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"x","subagentRunId":"s"}));
    agent.say(&json!({"type":"SUBAGENT_FINISHED","subagentRunId":"s"}));
    agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":{"type":"cancelled"}}));
    let frames = answer.all().await;
    assert_eq!(
        kinds(&frames),
        ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]
    );
    assert!(frames.iter().all(|frame| !frame.json.contains("subagent") && !frame.json.contains("cancelled")));
}
