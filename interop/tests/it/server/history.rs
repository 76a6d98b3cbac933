//! The history route, read by the published clients as if it were a run.

use super::fixture::{Server, finished, request, said, sse_head, user};
use super::node::{Kind, Node};
use super::python::{Python, snapshot};
use serde_json::{Value, json};
use threadline_testkit::upstream::{Signal, Step, last_chunk};

fn half(words: &str) -> Step {
    said(json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": words}))
}

/// A run that stops in the middle of a message until it is told to go on.
fn two_halves(go_on: &Signal) -> Vec<Step> {
    let wait = Step::Wait(go_on.clone());
    let end = json!({"type": "RUN_FINISHED", "threadId": "-", "runId": "-", "result": {"x": 1}});
    vec![sse_head(), half("one "), wait, half("two"), said(end), last_chunk()]
}

#[test]
pub(super) fn history_is_three_events_and_may_follow() {
    let (mut node, mut python) = (Node::start(), Python::start());
    for kind in Kind::OVER_HTTP {
        let go_on = Signal::default();
        let server = Server::with_scripts([two_halves(&go_on)]);
        node.open("first", kind, &server.url("/agui"), "t");
        node.hold("first", json!({"messages": [user("u", "hi")]}));
        node.begin("first", json!({"runId": "r"}));
        node.until("first", "TEXT_MESSAGE_CONTENT");

        node.open("now", kind, &server.url("/history"), "t");
        let now = node.run("now", json!({"runId": "h"})).well();
        assert_eq!(now.types(), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"], "{kind:?}");
        assert_eq!(now.messages[1]["content"], "one ");

        node.open("follows", kind, &server.url("/history?follow=true"), "t");
        node.begin("follows", json!({"runId": "h"}));
        go_on.raise();
        let first = node.end("first").well();
        let followed = node.end("follows").well();
        assert_eq!(followed.messages, first.messages);
        assert_eq!(followed.messages[1]["content"], "one two");
        let end = followed.events.last().expect("an end");
        assert_eq!((&end["runId"], &end["result"]), (&json!("h"), &json!({"x": 1})), "{kind:?}");
        assert_eq!(end["metadata"]["threadline"]["runId"], "r", "{kind:?}");

        // What was only asked for is not in the thread.
        let runs = python.get(&server.url("/v1/threads/t/runs"));
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
pub(super) fn history_shows_runs_as_messages() {
    let (server, mut node, mut python) = (Server::with_demo(), Node::start(), Python::start());
    for kind in Kind::OVER_HTTP {
        let thread = format!("{kind:?}");
        node.open("a", kind, &server.url("/agui"), &thread);
        for word in ["tool", "fail"] {
            node.hold("a", json!({"messages": [user(word, word)]}));
            node.run("a", json!({"runId": word})).well();
        }
        node.open("b", kind, &server.url("/history?lifecycle=true&state=true&run=tool"), &thread);
        let shown = node.run("b", json!({})).well();
        assert_eq!(shown.types(), ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
        let shown: Vec<&Value> = shown
            .messages
            .as_array()
            .expect("messages")
            .iter()
            .filter(|message| message["role"] == "activity")
            .collect();
        let types: Vec<&Value> = shown.iter().map(|message| &message["activityType"]).collect();
        assert_eq!(types, ["RUN_STARTED", "RUN_FINISHED"], "{kind:?}");
        assert_eq!(shown[1]["content"]["result"], json!({"words": 1}));
        let frames = python.all(&server.url("/history?lifecycle=true"), &request(&thread, "h", &json!([])));
        let messages = snapshot(&frames).as_array().expect("messages");
        let end = messages.last().expect("an end");
        assert_eq!(
            (&end["activityType"], &end["content"]["code"]),
            (&json!("RUN_ERROR"), &json!("demo_failed"))
        );
    }
}

#[test]
pub(super) fn following_ends_and_the_run_goes_on() {
    let mut node = Node::start();
    for kind in Kind::OVER_HTTP {
        let go_on = Signal::default();
        let settings = "history = { follow = true, follow_max_duration = '50ms' }";
        let server = Server::with(settings, [two_halves(&go_on)]);
        node.open("first", kind, &server.url("/agui"), "t");
        node.begin("first", json!({}));
        node.until("first", "TEXT_MESSAGE_CONTENT");
        node.open("follows", kind, &server.url("/history"), "t");
        let followed = node.run("follows", json!({})).well();
        let end = followed.events.last().expect("an end");
        assert_eq!((&end["type"], &end["code"]), (&json!("RUN_ERROR"), &json!("follow_timeout")));
        assert_eq!(followed.messages[0]["content"], "one ");
        go_on.raise();
        let first = node.end("first").well();
        assert_eq!(first.messages[0]["content"], "one two");
        assert_eq!(first.types().last(), Some(&"RUN_FINISHED"));
    }
}

#[test]
pub(super) fn a_thread_that_is_not_there_has_an_empty_history() {
    let (server, mut node) = (Server::with_scripts([vec![said(finished())]]), Node::start());
    for kind in Kind::OVER_HTTP {
        for path in ["/history", "/history?follow=true&lifecycle=true"] {
            node.open("a", kind, &server.url(path), "nowhere");
            let empty = node.run("a", json!({})).well();
            assert_eq!(empty.types(), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
            assert_eq!(empty.messages, json!([]));
        }
    }
    assert_eq!(server.requests(), [], "nothing was started");
}
