//! What the demo does at each of its words.

use crate::{assert_strict, events_of, folded, input, json};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use threadline_agent::Agent;
use threadline_agent::demo::Demo;
use threadline_agent::protocol::json::JsonNonNull;
use threadline_agent::protocol::message::{ToolMessage, UserMessage};
use threadline_agent::protocol::run::{ResumeEntry, ResumeStatus, Tool};
use threadline_agent::protocol::stages::fold::Fold;
use threadline_agent::protocol::{Json, Message, RunAgentInput};

const WORDS: [&str; 12] = [
    "hello", "think", "tool", "ask", "state", "activity", "steps", "team", "approve", "fail", "slow", "help",
];

fn saying(text: &str) -> RunAgentInput<'static> {
    let mut input = input();
    input.messages.push(Message::from(UserMessage::new("u", text.to_owned())));
    input
}

async fn told(input: RunAgentInput<'static>) -> Fold {
    folded(&input.clone(), &events_of(Demo::new(), input).await)
}

/// What the assistant said last.
fn last_words(fold: &Fold) -> String {
    let messages: Vec<&Message<'static>> = fold.messages().collect();
    messages
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::Assistant(message) => message.content.as_ref().map(|text| text.to_string()),
            _ => None,
        })
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn every_family_is_shown_and_every_run_is_the_same() {
    let mut families = BTreeSet::new();
    for word in WORDS {
        let once: Vec<String> = events_of(Demo::new(), saying(word)).await.iter().map(json).collect();
        let again: Vec<String> = events_of(Demo::new(), saying(word)).await.iter().map(json).collect();
        assert_eq!(once, again, "{word}");
        for line in &once {
            let event: Value = serde_json::from_str(line).unwrap();
            let name = event["type"].as_str().unwrap();
            families.insert(name.split('_').next().unwrap().to_owned());
        }
    }
    let all = ["ACTIVITY", "CUSTOM", "RAW", "REASONING", "RUN", "STATE", "STEP", "SUBAGENT", "TEXT", "TOOL"];
    assert_eq!(families, all.map(str::to_owned).into());
}

#[tokio::test]
async fn help_names_every_word() {
    for text in ["help", "what?", ""] {
        let words = last_words(&told(saying(text)).await);
        assert!(WORDS.iter().all(|word| words.contains(&format!("\n- {word}: "))), "{words}");
    }
}

#[tokio::test]
async fn a_tool_of_the_clients_is_asked_and_its_result_repeated() {
    let mut input = saying("ask");
    input.tools = Some(vec![Tool::new("show_map", "Shows a map.")]);
    let fold = told(input.clone()).await;
    let [call] = &fold.pending_tool_calls()[..] else { panic!("one call is pending") };
    assert_eq!(fold.tool_call(call).unwrap().function.name, "show_map");

    // As a client goes on.
    input.run_id = "r2".into();
    input.messages = fold.messages().cloned().collect();
    input.messages.push(Message::from(ToolMessage::new("result", call.clone(), "yes")));
    assert_eq!(last_words(&told(input).await), "Your tool answered: yes");
    // Without tools, a default one.
    let fold = told(saying("ask")).await;
    assert_eq!(fold.tool_call(&fold.pending_tool_calls()[0]).unwrap().function.name, "confirm");
}

#[tokio::test]
async fn an_approval_waits_for_its_answer() {
    let asked = told(saying("approve")).await;
    let [interrupt] = asked.interrupts() else { panic!("one interrupt is open") };
    for (status, payload, says) in [
        (ResumeStatus::Resolved, json!({"approved": true}), "Approved: the letter is sent."),
        (ResumeStatus::Resolved, json!(true), "Approved: the letter is sent."),
        (ResumeStatus::Resolved, json!({"approved": false}), "Denied: the letter stays here."),
        (ResumeStatus::Resolved, json!(null), "Denied: the letter stays here."),
        (ResumeStatus::Cancelled, json!(null), "Nobody decided: the letter stays here."),
    ] {
        let mut input = saying("approve");
        input.run_id = "r2".into();
        input.messages = asked.messages().cloned().collect();
        let mut entry = ResumeEntry::new(interrupt.id.clone(), status);
        entry.payload = JsonNonNull::try_from(Json::from(payload)).ok();
        input.resume = Some(vec![entry]);
        let fold = told(input).await;
        assert_eq!(last_words(&fold), says);
        assert!(fold.interrupts().is_empty());
    }
}

#[tokio::test]
async fn state_counts_and_keeps_what_else_is_there() {
    for (state, after) in [
        (None, json!({"visits": 1, "status": "done"})),
        (Some(json!({"visits": 4, "mine": [1]})), json!({"visits": 5, "mine": [1], "status": "done"})),
        (Some(json!([1])), json!({"visits": 1, "status": "done"})),
    ] {
        let mut input = saying("state");
        input.state = state.map(|state| Json::from(state).try_into().unwrap());
        assert_eq!(told(input).await.state().deserialize::<Value>().unwrap(), after);
    }
}

#[tokio::test]
async fn a_failure_keeps_what_was_said() {
    let events = events_of(Demo::new(), saying("fail")).await;
    let last = json(events.last().unwrap());
    assert_eq!(
        last,
        r#"{"type":"RUN_ERROR","message":"the demo fails when it is asked to","code":"demo_failed"}"#
    );
    assert_eq!(last_words(&folded(&saying("fail"), &events)), "I was about to say ");
}

#[tokio::test(start_paused = true)]
async fn slow_takes_its_time() {
    let started = tokio::time::Instant::now();
    let events = events_of(Demo::new(), saying("slow")).await;
    assert_eq!(started.elapsed(), Duration::from_secs(6));
    assert_eq!(events.len(), 60 + 4);
    events_of(Demo::new().with_interval(Duration::ZERO), saying("slow")).await;
    assert!(started.elapsed() < Duration::from_secs(7));
    assert_strict(&events);
}

#[test]
fn the_demo_leaves_no_question_unanswered() {
    let says: Value = serde_json::from_str(&Demo::new().capabilities().to_json()).unwrap();
    let fields = [
        ("identity", 4),
        ("transport", 5),
        ("tools", 4),
        ("output", 2),
        ("state", 4),
        ("multiAgent", 4),
        ("reasoning", 3),
        ("multimodal", 2),
        ("execution", 2),
        ("humanInTheLoop", 6),
    ];
    assert_eq!(says.as_object().unwrap().len(), fields.len());
    for (group, count) in fields {
        assert_eq!(says[group].as_object().unwrap().len(), count, "{group}");
    }
    assert_eq!(says["reasoning"], json!({"supported": true, "streaming": true, "encrypted": false}));
    assert_eq!(says["transport"]["resumable"], json!(false));
}
