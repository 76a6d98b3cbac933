//! Streams of protobuf, and what has no place in them.

use crate::harness::{Answer, Harness, request};
use serde_json::{Value, json};
use threadline_protocol::Limits;
use threadline_protocol::codec::PrefixedDecoder;
use threadline_protocol::proto::{self, Decoded};
use threadline_server::Settings;
use threadline_server::settings::Mode;

const PROTOBUF: (&str, &str) = ("accept", "application/vnd.ag-ui.event+proto");

/// All events of an answer.
async fn events(mut answer: Answer) -> Vec<Value> {
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["content-type"].to_str().unwrap()),
        (200, &PROTOBUF.1)
    );
    let mut decoder = PrefixedDecoder::new(Limits::default());
    decoder.push(&answer.body().await);
    decoder.finish();
    let mut events = Vec::new();
    while let Some(payload) = decoder.next_event() {
        let Decoded::Event { event, .. } = proto::decode(payload.unwrap().bytes).unwrap() else {
            panic!("an event")
        };
        events.push(serde_json::from_str(event.json()).unwrap());
    }
    events
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// A state of three megabytes of JSON, whose protobuf is larger than an event may be.
fn large_in_protobuf() -> Value {
    json!({"type":"STATE_SNAPSHOT","snapshot":{"zeros":vec![0; 1_500_000]}})
}

/// A client that misses an event would hold something wrong, and would not know.
#[tokio::test]
async fn what_does_not_fit_ends_the_stream_with_an_error_and_not_the_run() {
    for mode in [Mode::Durable, Mode::Buffered] {
        let mut settings = Settings::default();
        settings.runs.mode = mode;
        let server = Harness::with(settings);
        let agent = server.agent.next_run();
        let body = request("r1", &json!([]));
        let answer = server.post_with("/agui", &[PROTOBUF], body.to_string()).await;
        let text = server.post("/agui/connect", &request("c", &json!([]))).await;
        agent.say(&large_in_protobuf());
        let told = events(answer).await;
        assert_eq!(kinds(&told), ["RUN_STARTED", "RUN_ERROR"], "{mode:?}");
        assert_eq!(told[1]["code"], "not_in_protobuf");
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"}));
        let text = text.all().await;
        assert_eq!(crate::harness::kinds(&text).last().unwrap(), "RUN_FINISHED");
        // Nor is it told to who asks for all of it at once.
        for path in ["/agui/connect", "/history?state=true"] {
            let refused = server.post_with(path, &[PROTOBUF], request("c", &json!([])).to_string()).await;
            let (status, code, _) = refused.refusal().await;
            assert_eq!((status, code.as_str()), (422, "snapshot_too_large"), "{path}");
        }
        let history = server.post_with("/history", &[PROTOBUF], request("h", &json!([])).to_string()).await;
        assert_eq!(kinds(&events(history).await), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    }
}

/// Who sent the request has it.
#[tokio::test]
async fn a_start_goes_without_a_request_that_does_not_fit() {
    let server = Harness::new();
    let deep = serde_json::from_str::<Value>(&format!("{}1{}", "[".repeat(100), "]".repeat(100))).unwrap();
    for (run, state, is_there) in
        [("r1", json!({"zeros": vec![0; 1_500_000]}), false), ("r2", json!({"deep": deep}), true)]
    {
        let agent = server.agent.next_run();
        let mut body = request(run, &json!([]));
        body["state"] = state;
        let answer = server.post_with("/agui", &[PROTOBUF], body.to_string()).await;
        agent.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":run}));
        let told = events(answer).await;
        assert_eq!(kinds(&told), ["RUN_STARTED", "RUN_FINISHED"]);
        assert_eq!(told[0].get("input").is_some(), is_there, "{run}");
    }
}
