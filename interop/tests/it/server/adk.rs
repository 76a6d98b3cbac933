//! Google's ADK behind our server: what its middleware really sends, as the published clients see it through us.

use super::fixture::{Server, user};
use super::node::{Kind, Node};
use serde_json::json;
use threadline_interop::adk::Adk;

/// The agents, with how the run ends and what the last message says.
const AGENTS: [(&str, &str, &str); 5] = [
    ("plain", "RUN_FINISHED", "Refunds take five days."),
    ("tool", "RUN_FINISHED", "Order A-1001 is processing; it settles in 4 days."),
    ("reasoning", "RUN_FINISHED", "Order A-1001 is processing; it settles in 4 days."),
    // Its message is left open, and closed for it before the error.
    ("error", "RUN_ERROR", "I started the lookup, "),
    ("refused", "RUN_ERROR", "Where is order A-1001?"),
];

#[test]
pub(super) fn what_an_adk_agent_says_is_there_again_after_a_reload() {
    let (adk, mut node) = (Adk::start(), Node::start());
    let server = Server::with_agents(AGENTS.map(|(agent, ..)| (agent, adk.url(agent))));
    for (agent, end, says) in AGENTS {
        for kind in Kind::ALL {
            let (url, thread) = (server.url(&format!("/agents/{agent}")), format!("{agent} {kind:?}"));
            node.open("first", kind, &url, &thread);
            node.hold("first", json!({"messages": [user("u", "Where is order A-1001?")]}));
            let run = node.run("first", json!({})).well();
            assert_eq!(run.types().last(), Some(&end), "{thread}");
            let messages = run.messages.as_array().expect("messages");
            assert!(messages.iter().any(|message| message["content"] == says), "{thread}: {messages:?}");
            node.open("reloaded", kind, &url, &thread);
            assert_eq!(node.connect("reloaded").well().kept(), run.kept(), "{thread}");
        }
    }
}

/// The second run sends what the client has: the middleware keeps sessions of its own, and must not be confused by it.
#[test]
pub(super) fn a_tool_of_the_clients_is_answered_in_a_second_run() {
    let (adk, mut node) = (Adk::start(), Node::start());
    let server = Server::with_agents([("client", adk.url("client/snapshot"))]);
    let tools = json!([{
        "name": "confirm_refund", "description": "Asks the user.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    }]);
    node.open("a", Kind::Current, &server.url("/agents/client"), "t");
    node.hold("a", json!({"messages": [user("u", "Refund A-1001")]}));
    let mut messages = node.run("a", json!({"tools": tools})).well().messages;
    let call = messages[1]["toolCalls"][0]["id"].clone();
    assert_eq!(messages[1]["toolCalls"][0]["function"]["name"], "confirm_refund");
    let result =
        json!({"id": "result", "role": "tool", "toolCallId": call, "content": "{\"confirmed\":true}"});
    messages.as_array_mut().expect("messages").push(result);
    node.hold("a", json!({"messages": messages}));
    let run = node.run("a", json!({"tools": tools})).well();
    let last = run.messages.as_array().expect("messages").last().expect("an answer");
    assert_eq!(last["content"], "Thank you, it is on its way.");
    node.open("b", Kind::Current, &server.url("/agents/client"), "t");
    assert_eq!(node.connect("b").well().messages, run.messages);
}
