//! What is refused, as the published clients report it.

use super::fixture::{Server, finished, request, said, sse_head, user};
use super::node::{Kind, Node};
use super::python::Python;
use serde_json::json;
use threadline_server::Settings;
use threadline_testkit::upstream::{Signal, Step, last_chunk};

/// Waits for the signal before its end.
fn waiting(go_on: &Signal) -> Vec<Step> {
    vec![sse_head(), Step::Wait(go_on.clone()), said(finished()), last_chunk()]
}

#[test]
fn a_busy_thread_and_a_run_id_that_is_taken() {
    let mut node = Node::start();
    for kind in Kind::ALL {
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
fn every_status_reaches_the_application() {
    let mut settings = Settings::default();
    settings.http.request_bytes_max = 12 * 1024 * 1024;
    let server = Server::with(settings, [vec![sse_head(), said(finished()), last_chunk()]]);
    let mut node = Node::start();
    let long = "x".repeat(5_000);
    let huge = json!([user("u", &"x".repeat(11 * 1024 * 1024))]);
    for kind in Kind::ALL {
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
    server.stop_runs();
    for kind in Kind::ALL {
        node.open("a", kind, &server.url("/agui"), "t");
        assert_eq!(node.run("a", json!({})).refusal(), (503, "shutting_down"));
    }
}

/// What a stock client never sends.
#[test]
fn a_plain_client_is_told_what_is_wrong() {
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
