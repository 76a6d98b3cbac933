//! What is refused, as the published clients report it.

use super::fixture::{Server, finished, request, said, sse_head, user};
use super::inside::Inside;
use super::node::{Kind, Node};
use super::python::Python;
use serde_json::json;
use threadline_log::RunNo;
use threadline_testkit::store::Gate;
use threadline_testkit::upstream::{Signal, Step, last_chunk};

/// Waits for the signal before its end.
fn waiting(go_on: &Signal) -> Vec<Step> {
    vec![sse_head(), Step::Wait(go_on.clone()), said(finished()), last_chunk()]
}

#[test]
pub(super) fn a_busy_thread_and_a_run_id_that_is_taken() {
    let mut node = Node::start();
    for kind in Kind::OVER_HTTP {
        let go_on = Signal::default();
        let server = Server::with_scripts([waiting(&go_on)]);
        node.open("a", kind, &server.url("/agui"), "t");
        node.hold("a", json!({"messages": [user("u", "hi")]}));
        node.begin("a", json!({"runId": "r"}));
        node.open("b", kind, &server.url("/agui"), "t");
        assert_eq!(node.run("b", json!({"runId": "other"})).refusal(), (409, "run_active"));
        // The same run with another body; and with the same one, as after a lost answer.
        assert_eq!(node.run("b", json!({"runId": "r"})).refusal(), (409, "run_id_reused"));
        node.hold("b", json!({"messages": [user("u", "hi")]}));
        node.begin("b", json!({"runId": "r"}));
        go_on.raise();
        let [first, again] = ["a", "b"].map(|client| node.end(client).well());
        assert_eq!(again.kept(), first.kept());
        assert_eq!(server.requests().len(), 1, "the agent was asked once");
    }
}

#[test]
pub(super) fn every_status_reaches_the_application() {
    let settings = format!("http.request_bytes_max = {}", 12 * 1024 * 1024);
    let server = Server::with(&settings, [vec![sse_head(), said(finished()), last_chunk()]]);
    let mut node = Node::start();
    let long = "x".repeat(5_000);
    let huge = json!([user("u", &"x".repeat(11 * 1024 * 1024))]);
    for kind in Kind::OVER_HTTP {
        let thread = format!("{kind:?}");
        let mut refused = |path: &str, thread: &str| {
            node.open("a", kind, &server.url(path), thread);
            let refused = node.run("a", json!({}));
            assert_eq!(refused.events.len(), 0);
            let (status, code) = refused.refusal();
            (status, code.to_owned())
        };
        for (path, thread, status, code) in [
            ("/agui", long.as_str(), 400, "invalid_input"),
            ("/agui/connect?after=x", "t", 400, "invalid_cursor"),
            ("/agui/connect?sideways=1", "t", 400, "invalid_parameter"),
            ("/nowhere", "t", 404, "not_found"),
            ("/agents/nobody", "t", 404, "agent_not_found"),
            ("/history?run=none", "t", 404, "run_not_found"),
            ("/capabilities", "t", 405, "method_not_allowed"),
            ("/cancel", "t", 404, "thread_not_found"),
        ] {
            assert_eq!(refused(path, thread), (status, code.to_owned()), "{kind:?}: {path}");
        }
        node.open("a", kind, &server.url("/agui"), &thread);
        node.hold("a", json!({"messages": huge}));
        node.run("a", json!({})).well();
        node.open("b", kind, &server.url("/agui"), &thread);
        assert_eq!(node.connect("b").refusal(), (422, "snapshot_too_large"), "{kind:?}");
        node.hold("a", json!({"state": {"more": "x".repeat(2 * 1024 * 1024)}}));
        assert_eq!(node.run("a", json!({})).refusal(), (413, "request_too_large"), "{kind:?}");
    }
}

#[test]
fn who_comes_while_the_server_stops_is_told() {
    let (server, mut node) = (Inside::start(), Node::start());
    server.wait_for(server.app.runs().shut_down());
    for kind in Kind::OVER_HTTP {
        node.open("a", kind, &server.url("/agui"), "t");
        assert_eq!(node.run("a", json!({})).refusal(), (503, "shutting_down"));
    }
}

/// What a stock client never sends.
#[test]
pub(super) fn a_plain_client_is_told_what_is_wrong() {
    let (server, mut python) = (Server::with_demo(), Python::start());
    let good = request("t", "r", &json!([]));
    let without = |member: &str| {
        let mut body = good.clone();
        body.as_object_mut().expect("an object").remove(member);
        body
    };
    let wrong_role = request("t", "r", &json!([{"id": "u", "role": "user", "content": 5}]));
    for (body, headers, status, code, pointer) in [
        (without("threadId"), json!({}), 400, "invalid_input", json!("/threadId")),
        (without("runId"), json!({}), 400, "invalid_input", json!("/runId")),
        (wrong_role, json!({}), 400, "invalid_input", json!("/messages/0/content")),
        (good.clone(), json!({"content-type": "text/plain"}), 415, "unsupported_media_type", json!(null)),
        (good.clone(), json!({"host": "elsewhere.example"}), 403, "host_not_allowed", json!(null)),
    ] {
        let (said, json) = python.post_json(&server.url("/agui"), &body, &headers);
        assert_eq!((said, &json["error"]["code"]), (status, &json!(code)), "{json}");
        assert_eq!(json["error"]["details"]["pointer"], pointer, "{json}");
    }
    // Nothing of that was kept, and a cursor of a thread that is no more leads nowhere.
    python.all(&server.url("/agui"), &good);
    let runs = python.get(&server.url("/v1/threads/t/runs"));
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1));
    let (status, json) =
        python.post_json(&server.url("/agui/connect"), &good, &json!({"last-event-id": "1234.0.0.1"}));
    assert_eq!((status, &json["error"]["code"]), (410, &json!("thread_replaced")));
}

#[test]
fn what_is_no_fault_of_the_client_reaches_it_as_well() {
    let server = Inside::start();
    let mut node = Node::start();
    for kind in Kind::OVER_HTTP {
        node.open("a", kind, &server.url("/agui"), "t");
        server.store.set(Gate::Broken);
        assert_eq!(node.run("a", json!({})).refusal(), (503, "store_unavailable"), "{kind:?}");
        server.store.set(Gate::Open);
        server.store.set_damaged(true);
        assert_eq!(node.run("a", json!({})).refusal(), (500, "damaged"), "{kind:?}");
        node.open("h", kind, &server.url("/history"), "t");
        let told = node.run("h", json!({}));
        assert_eq!(told.types(), ["RUN_STARTED", "RUN_ERROR"], "{kind:?}");
        assert_eq!(told.events[1]["code"], "history_unavailable", "{kind:?}");
        server.store.set_damaged(false);
        node.run("a", json!({})).well();
    }
}

#[test]
fn what_is_gone_is_told_to_who_comes_back() {
    let server = Inside::start();
    let (mut node, mut python) = (Node::start(), Python::start());
    let cursors = ["r1", "r2", "r3"].map(|run| {
        let frames = python.all(&server.url("/agui"), &request("t", run, &json!([])));
        (frames[0].id.clone().expect("a cursor"), frames.len() as u64)
    });
    let (key, engine) = (server.thread("t"), server.app.engine());
    server.wait_for(async {
        engine.store().compact_run(&key, RunNo(1), engine.now()).await.expect("a run that has ended");
        let first = engine.run(&key, RunNo(1)).await.expect("a run").offsets.start;
        engine.trim(&key, first).await.expect("a thread");
    });
    for kind in Kind::OVER_HTTP {
        for ((cursor, _), code) in cursors.iter().zip(["trimmed", "compacted"]) {
            node.open("a", kind, &server.url(&format!("/agui/connect?after={cursor}")), "t");
            assert_eq!(node.run("a", json!({})).refusal(), (410, code), "{kind:?}");
        }
    }
    let (cursor, frames) = &cursors[2];
    python.post(
        "c",
        &server.url("/agui/connect"),
        &request("t", "c", &json!([])),
        &json!({"last-event-id": cursor}),
    );
    assert_eq!(python.rest("c").len() as u64, frames - 1);
}

#[test]
pub(super) fn who_stops_must_say_what_and_who_is_slow_is_told() {
    let go_on = [Signal::default(), Signal::default()];
    let settings = "http.body_timeout = '500ms'";
    let done = vec![sse_head(), said(finished()), last_chunk()];
    let server = Server::with(settings, [done, waiting(&go_on[0]), waiting(&go_on[1])]);
    let mut python = Python::start();
    let stop = json!({"threadId": "t"});
    let refused = |python: &mut Python| {
        let (status, json) = python.post_json(&server.url("/cancel"), &stop, &json!({}));
        (status, json["error"]["code"].clone())
    };
    python.all(&server.url("/agui"), &request("t", "r1", &json!([])));
    assert_eq!(refused(&mut python), (409, json!("no_active_run")));
    for run in ["r2", "r3"] {
        let mut fork = request("t", run, &json!([]));
        fork["parentRunId"] = json!("r1");
        python.post(run, &server.url("/agui"), &fork, &json!({}));
    }
    assert_eq!(refused(&mut python), (409, json!("several_active_runs")));
    go_on.iter().for_each(Signal::raise);
    for run in ["r2", "r3"] {
        python.rest(run);
    }
    // It promises more than it sends.
    let long = json!({"content-length": "4096"});
    let (status, json) = python.post_json(&server.url("/cancel"), &stop, &long);
    assert_eq!((status, &json["error"]["code"]), (408, &json!("request_timeout")));
}
