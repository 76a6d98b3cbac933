//! Runs that clients see before they are stored, with the published clients.

use super::fixture::{Server, finished, request, said, sse_head, user};
use super::node::{Kind, Node};
use super::python::{Python, snapshot};
use serde_json::json;
use threadline_testkit::upstream::{Signal, Step, last_chunk};

/// An agent that stops in the middle of a message, of a call, and of a chunk without an id, until it is told to go on.
fn script(go_on: &Signal) -> Vec<Step> {
    let before = [
        json!({"type":"STATE_SNAPSHOT","snapshot":{"n":1}}),
        json!({"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"helper"}),
        json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}),
        json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"half "}),
        json!({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}),
        json!({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"x\""}),
        json!({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":":1}"}),
    ];
    let after = [
        json!({"type":"TOOL_CALL_END","toolCallId":"c"}),
        json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"and "}),
        json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"half"}),
        json!({"type":"TEXT_MESSAGE_END","messageId":"a"}),
        json!({"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}),
        json!({"type":"TEXT_MESSAGE_CHUNK","delta":"nameless"}),
        json!({"type":"SUBAGENT_FINISHED","subagentRunId":"s"}),
        finished(),
    ];
    let mut script = vec![sse_head()];
    script.extend(before.iter().map(said));
    script.push(Step::Wait(go_on.clone()));
    script.extend(after.iter().map(said));
    script.push(last_chunk());
    script
}

#[test]
fn who_runs_who_joins_and_who_reloads_hold_the_same() {
    let mut node = Node::start();
    for kind in Kind::ALL {
        let go_on = Signal::default();
        let server = Server::with("runs.mode = 'buffered'", [script(&go_on)]);
        node.open("a", kind, &server.url("/agui"), "t");
        node.hold("a", json!({"messages": [user("u", "hi")]}));
        node.begin("a", json!({"runId": "r"}));
        node.until("a", "TOOL_CALL_ARGS");
        node.open("b", kind, &server.url("/agui"), "t");
        node.attach("b");
        go_on.raise();
        let [first, joined] = ["a", "b"].map(|client| node.end(client).well());
        assert_eq!(first.messages[1]["content"], "half and half", "{kind:?}");
        assert_eq!(first.state, json!({"n": 2}), "{kind:?}");
        assert_eq!(joined.kept(), first.kept(), "{kind:?}");
        // What is stored, in fewer records, is the same; also the ids that the agent did not give.
        node.open("c", kind, &server.url("/agui"), "t");
        assert_eq!(node.connect("c").well().kept(), first.kept(), "{kind:?}");
        // And who holds it already holds nothing twice.
        assert_eq!(node.connect("a").well().kept(), first.kept(), "{kind:?}");
        let mut python = Python::start();
        let told = python.all(&server.url("/history"), &request("t", "h", &json!([])));
        assert_eq!(snapshot(&told).as_array().map(Vec::len), first.messages.as_array().map(Vec::len));
    }
}
