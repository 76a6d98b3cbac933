//! Clients that go away, come back, or want an end.

use super::fixture::{Server, finished, played, request, said, sse_head, step_by_step, user};
use super::node::{Kind, Node};
use super::python::{Frame, Python};
use serde_json::{Value, json};
use threadline_testkit::upstream::{Signal, Step, last_chunk};

fn text_run() -> Vec<String> {
    let events = [
        json!({"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "one "}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "two"}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "a"}),
        // Neither started nor ended: the server does both, so that some records are several frames.
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "b", "delta": "three"}),
        finished(),
    ];
    events.iter().map(Value::to_string).collect()
}

/// Goes away after every frame, and comes back with its cursor: during the run, and when it is over.
#[test]
pub(super) fn a_plain_client_comes_back_without_gap_or_double() {
    let mut python = Python::start();
    let (events, next) = (text_run(), Signal::default());
    let server = Server::with_scripts([step_by_step(&events, &next)]);
    let url = server.url("/agui");
    let connect = server.url("/agui/connect");
    let body = request("t", "r", &json!([user("u", "hi")]));
    let again = request("t", "c", &json!([]));
    // One stays, as the measure of the others.
    python.post("stays", &url, &body, &json!({}));
    let mut seen = python.read("stays", 1);
    python.post("goes", &connect, &again, &json!({"last-event-id": seen[0].id}));
    for place in 0..events.len() {
        next.raise();
        server.wait_for_records("t", place as u64 + 2);
        if place + 1 == events.len() {
            break;
        }
        let frame = python.read("goes", 1);
        python.close("goes");
        let cursor = frame[0].id.clone().expect("every frame of a live run has one");
        python.post("goes", &connect, &again, &json!({"last-event-id": cursor}));
        seen.extend(frame);
    }
    seen.extend(python.rest("goes"));
    let mut whole = vec![seen[0].clone()];
    whole.extend(python.rest("stays"));
    assert_eq!(seen, whole);
    assert!(whole.len() > events.len() + 1, "some records are several frames");
    for (place, frame) in whole.iter().enumerate() {
        let cursor = frame.id.as_ref().expect("every frame of a live run has one");
        let rest = python.all(&format!("{connect}?after={cursor}"), &again);
        assert_eq!(rest, whole[place + 1..], "after {place}");
    }
}

/// To break off is not to stop: the agent goes on, and another agent object sees it.
#[test]
pub(super) fn a_run_outlives_the_client_that_broke_off() {
    let mut node = Node::start();
    for kind in Kind::ALL {
        let (events, next) = (text_run(), Signal::default());
        let server = Server::with_scripts([step_by_step(&events, &next)]);
        node.open("first", kind, &server.url("/agui"), "t");
        node.begin("first", json!({}));
        for place in 0..2 {
            next.raise();
            server.wait_for_records("t", place + 2);
        }
        node.until("first", "TEXT_MESSAGE_CONTENT");
        node.abort("first");
        let broken_off = node.end("first");
        assert_eq!(broken_off.messages[0]["content"], "one ", "{kind:?}");
        node.open("second", kind, &server.url("/agui"), "t");
        node.attach("second");
        for place in 2..events.len() as u64 {
            next.raise();
            server.wait_for_records("t", place + 2);
        }
        let second = node.end("second").well();
        assert_eq!(second.messages[0]["content"], "one two", "{kind:?}");
        assert_eq!(second.types().last(), Some(&"RUN_FINISHED"));
        // The one that broke off catches up, and what it holds of the message is not doubled.
        assert_eq!(node.connect("first").well().messages, second.messages, "{kind:?}");
    }
}

#[test]
pub(super) fn a_run_is_stopped_for_everybody() {
    let (mut node, mut python) = (Node::start(), Python::start());
    for kind in Kind::ALL {
        let gone = Signal::default();
        let script = vec![
            sse_head(),
            said(json!({"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"})),
            said(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "half"})),
            said(json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"})),
            Step::UntilGone,
            Step::Raise(gone.clone()),
        ];
        let again =
            played(&[json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "more"}), finished()]);
        let server = Server::with_scripts([script, again]);
        for name in ["first", "second", "reloaded"] {
            node.open(name, kind, &server.url("/agui"), "t");
        }
        node.begin("first", json!({}));
        node.until("first", "TOOL_CALL_START");
        node.attach("second");
        let (status, stopped) =
            python.post_json(&server.url("/cancel"), &json!({"threadId": "t"}), &json!({}));
        assert_eq!((status, &stopped["status"]), (200, &json!("cancelled")), "{stopped}");
        server.wait_for(gone.wait());
        let first = node.end("first").well();
        let second = node.end("second").well();
        assert_eq!(first.types().last(), Some(&"RUN_FINISHED"));
        assert_eq!(first.messages[0]["content"], "half");
        assert_eq!(
            first.messages[2]["role"], "tool",
            "a call that nobody answers is answered: {}",
            first.messages
        );
        assert_eq!(second.kept(), first.kept(), "{kind:?}");
        assert_eq!(node.connect("reloaded").well().kept(), first.kept(), "{kind:?}");
        let told = if kind == Kind::Old { Value::Null } else { json!("cancelled") };
        assert_eq!(first.events.last().map(|end| &end["outcome"]["type"]), Some(&told));
        let more = node.run("first", json!({})).well();
        assert_eq!(more.messages[3]["content"], "more", "the thread goes on");
        let (status, late) = python.post_json(&server.url("/cancel"), &json!({"threadId": "t"}), &json!({}));
        assert_eq!((status, &late["error"]["code"]), (409, &json!("no_active_run")));
    }
}

/// An agent that stops in the middle is a run that failed, and is told as one.
#[test]
pub(super) fn a_run_that_is_cut_off_has_failed() {
    let mut node = Node::start();
    for kind in Kind::ALL {
        let half = said(json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": "half"}));
        let server = Server::with_scripts([
            vec![sse_head(), half.clone(), last_chunk()],
            vec![sse_head(), half, Step::Reset],
            vec![Step::Reset],
        ]);
        for (thread, code) in
            [("truncated", "truncated"), ("reset", "upstream_broken"), ("silent", "upstream_broken")]
        {
            node.open("a", kind, &server.url("/agui"), thread);
            let failed = node.run("a", json!({})).well();
            let end = failed.events.last().expect("an end");
            assert_eq!((&end["type"], &end["code"]), (&json!("RUN_ERROR"), &json!(code)), "{kind:?}: {end}");
            node.open("b", kind, &server.url("/agui"), thread);
            assert_eq!(node.connect("b").well().kept(), failed.kept());
        }
    }
}

/// Of what a client is told on arrival, the last frame is a place to come back to.
#[test]
pub(super) fn who_attached_comes_back_with_a_cursor_too() {
    let mut python = Python::start();
    let (events, next) = (text_run(), Signal::default());
    let server = Server::with_scripts([step_by_step(&events, &next)]);
    let connect = server.url("/agui/connect");
    python.post("first", &server.url("/agui"), &request("t", "r", &json!([])), &json!({}));
    for place in 0..2 {
        next.raise();
        server.wait_for_records("t", place + 2);
    }
    python.post("joined", &connect, &request("t", "c", &json!([])), &json!({}));
    let prelude = python.read("joined", 4);
    let ids: Vec<bool> = prelude.iter().map(|frame| frame.id.is_some()).collect();
    assert_eq!(ids, [false, false, false, true]);
    let cursor = prelude[3].id.clone();
    python.post("back", &connect, &request("t", "c", &json!([])), &json!({"last-event-id": cursor}));
    for place in 2..events.len() as u64 {
        next.raise();
        server.wait_for_records("t", place + 2);
    }
    let whole: Vec<Frame> = python.rest("first");
    assert_eq!(python.rest("back"), whole[3..]);
    assert_eq!(python.rest("joined"), whole[3..]);
}
