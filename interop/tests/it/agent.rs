//! The demo agent, served by its own handler, to the published clients.

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use threadline_agent::demo::Demo;
use threadline_agent::serve::Handler;
use threadline_interop::peer::Peer;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const WORDS: [&str; 12] = [
    "hello", "think", "tool", "ask", "state", "activity", "steps", "team", "approve", "fail", "slow", "help",
];

const SSE: &str = "text/event-stream";
const PROTO: &str = "application/vnd.ag-ui.event+proto";

/// The demo on loopback, for as long as the runtime lives.
fn serve() -> (Runtime, String) {
    let runtime = Runtime::new().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let demo = Demo::new().with_interval(Duration::from_millis(1));
    let app = Handler::new(Arc::new(demo)).into_router();
    runtime.spawn(async move { axum::serve(listener, app).await });
    (runtime, url)
}

/// What the agent said last.
fn last_words(run: &Value) -> &str {
    let messages = run["messages"].as_array().expect("messages");
    let said = messages.iter().rev().find(|message| message["role"] == "assistant");
    said.and_then(|message| message["content"].as_str()).unwrap_or_default()
}

/// The runs of one conversation a word, all on threads of their own.
fn converse(more: &Value) -> Vec<Vec<Value>> {
    let (_runtime, url) = serve();
    let questions = WORDS.map(|word| {
        let tools =
            json!([{"name": "show_map", "description": "Shows a map.", "parameters": {"type": "object"}}]);
        let mut turns = vec![json!({"say": word, "tools": tools})];
        match word {
            "ask" => turns.push(json!({"result": "Paris", "tools": tools})),
            "approve" => turns.push(json!({"answer": {"approved": true}})),
            "state" => turns.push(json!({"say": word})),
            _ => {}
        }
        turns.push(json!({"say": "hello again"}));
        let mut question = json!({"op": "converse", "url": url, "turns": turns});
        let members = more.as_object().expect("an object").clone();
        question.as_object_mut().expect("an object").extend(members);
        question
    });
    let answers = Peer::Node.ask(&questions);
    answers
        .into_iter()
        .map(|answer| {
            assert_eq!(answer["ok"], true, "{answer}");
            assert_eq!(answer["warnings"], json!([]), "{answer}");
            answer["runs"].as_array().expect("runs").clone()
        })
        .collect()
}

fn assert_as_meant(conversations: &[Vec<Value>], content_type: &str) {
    for (word, runs) in WORDS.iter().zip(conversations) {
        for (at, run) in runs.iter().enumerate() {
            let events = run["events"].as_array().expect("events");
            let last = events.last().expect("an end");
            let fails = *word == "fail" && at == 0;
            assert_eq!(last["type"], if fails { "RUN_ERROR" } else { "RUN_FINISHED" }, "{word} {run}");
            assert_eq!(run["failure"], Value::Null, "{word} {run}");
            assert_eq!(run["contentType"], content_type, "{word}");
        }
        let first = &runs[0];
        match *word {
            "think" => assert!(first["messages"].to_string().contains(r#""role":"reasoning""#)),
            "tool" => assert_eq!(last_words(first), "You wrote 1 words."),
            "ask" => assert_eq!(last_words(&runs[1]), "Your tool answered: Paris"),
            "state" => assert_eq!(runs[1]["state"], json!({"visits": 2, "status": "done"})),
            "activity" => {
                let done = first["messages"].to_string().matches(r#""status":"done""#).count();
                assert_eq!(done, 3, "{first}");
            }
            "team" => assert_eq!(last_words(first), "My colleague says: 635 pages."),
            "approve" => {
                assert_eq!(first["interrupts"].as_array().map(Vec::len), Some(1), "{first}");
                assert_eq!(last_words(&runs[1]), "Approved: the letter is sent.");
                assert_eq!(runs[1]["interrupts"], json!([]));
            }
            "slow" => assert!(last_words(first).ends_with("58 59 60 ")),
            "help" => assert!(last_words(first).contains("- approve: ")),
            _ => {}
        }
        let end = runs.last().expect("runs");
        assert_eq!(last_words(end), "Hello! I am a demo without a model. Say help.", "{word} {end}");
    }
}

#[test]
fn the_client_talks_to_the_demo() {
    assert_as_meant(&converse(&json!({})), SSE);
}

#[test]
fn the_client_talks_to_the_demo_in_the_binary_form() {
    assert_as_meant(&converse(&json!({"accept": PROTO})), PROTO);
}

/// Without subagents and their tags, which it does not know.
#[test]
fn the_last_client_before_1_0_talks_to_the_demo() {
    assert_as_meant(&converse(&json!({"old": true})), SSE);
}
