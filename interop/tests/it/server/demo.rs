//! Every word of the demo agent: run, read again, read again by who holds it already.

use super::fixture::{Server, user};
use super::node::{Kind, Node};
use super::python::{Python, snapshot};
use serde_json::{Value, json};

/// The words, with how the run ends and what the last message says.
const WORDS: [(&str, &str, &str); 12] = [
    ("hello", "RUN_FINISHED", "Hello! I am a demo without a model. Say help."),
    ("think", "RUN_FINISHED", "I have thought about it, and the answer is 42."),
    ("tool", "RUN_FINISHED", "You wrote 1 words."),
    ("ask", "RUN_FINISHED", "I ask your tool confirm."),
    ("state", "RUN_FINISHED", "Visits of this thread: 1."),
    ("activity", "RUN_FINISHED", "The plan is carried out."),
    ("steps", "RUN_FINISHED", "I answer."),
    ("team", "RUN_FINISHED", "My colleague says: 635 pages."),
    ("approve", "RUN_FINISHED", "I have written a letter. I will not send it before you say so."),
    ("fail", "RUN_ERROR", "I was about to say "),
    ("slow", "RUN_FINISHED", "57 58 59 60 "),
    ("help", "RUN_FINISHED", "- help: this list"),
];

#[test]
pub(super) fn every_word_is_there_again_after_a_reload() {
    let (server, mut node) = (Server::with_demo(), Node::start());
    for kind in Kind::ALL {
        for (word, end, says) in WORDS {
            let thread = format!("{word} {kind:?}");
            let open = |node: &mut Node, name: &str| node.open(name, kind, &server.url("/agui"), &thread);
            open(&mut node, "first");
            node.hold("first", json!({"messages": [user("u", word)]}));
            let run = node.run("first", json!({})).well();
            assert_eq!(run.types().last(), Some(&end), "{thread}");
            let last = run.messages.as_array().expect("messages").last().expect("an answer");
            assert!(crate::text(&last["content"]).ends_with(says), "{thread}: {last}");
            open(&mut node, "reloaded");
            let reloaded = node.connect("reloaded").well();
            assert_eq!(reloaded.kept(), run.kept(), "{thread}");
            assert_eq!(reloaded.types().last(), Some(&"RUN_FINISHED"), "{thread}");
            let held_already = node.connect("first").well();
            assert_eq!(held_already.kept(), run.kept(), "{thread}");
        }
    }
}

/// What one says after a failure, and after the same word, is a run as any other.
#[test]
pub(super) fn a_thread_goes_on_after_a_failure() {
    let (server, mut node) = (Server::with_demo(), Node::start());
    for kind in Kind::ALL {
        let thread = format!("{kind:?}");
        node.open("a", kind, &server.url("/agui"), &thread);
        let mut messages = json!([]);
        for (turn, word) in ["fail", "state", "fail", "state"].into_iter().enumerate() {
            messages.as_array_mut().expect("messages").push(user(&format!("u{turn}"), word));
            node.hold("a", json!({"messages": messages}));
            messages = node.run("a", json!({})).well().messages;
        }
        node.open("b", kind, &server.url("/agui"), &thread);
        let reloaded = node.connect("b").well();
        assert_eq!(reloaded.messages, messages);
        assert_eq!(messages.as_array().map(Vec::len), Some(8));
        assert_eq!(reloaded.state, json!({"visits": 2, "status": "done"}));
    }
}

#[test]
pub(super) fn a_plain_client_reads_every_word_with_its_models() {
    let (server, mut python) = (Server::with_demo(), Python::start());
    for (word, end, says) in WORDS {
        let body = super::fixture::request(word, "r", &json!([user("u", word)]));
        let frames = python.all(&server.url("/agui"), &body);
        assert_eq!(frames.last().map(super::python::Frame::kind), Some(end));
        let frames =
            python.all(&server.url("/agui/connect"), &super::fixture::request(word, "c", &json!([])));
        let last = snapshot(&frames).as_array().expect("messages").last().expect("an answer");
        assert!(crate::text(&last["content"]).ends_with(says), "{word}: {last}");
    }
}

/// A tool of the client's: the agent waits for what the client says in the next run.
#[test]
pub(super) fn a_client_answers_a_call_after_a_reload() {
    let (server, mut node) = (Server::with_demo(), Node::start());
    for kind in Kind::ALL {
        let thread = format!("{kind:?}");
        node.open("a", kind, &server.url("/agui"), &thread);
        node.hold("a", json!({"messages": [user("u", "ask")]}));
        let tools = json!([{"name": "confirm", "description": "asks", "parameters": {}}]);
        node.run("a", json!({"tools": tools})).well();
        node.open("b", kind, &server.url("/agui"), &thread);
        let Value::Array(mut messages) = node.connect("b").well().messages else { panic!("no messages") };
        let call = messages.iter().find_map(|message| message.pointer("/toolCalls/0/id")).expect("a call");
        let result = json!({"id": "result", "role": "tool", "toolCallId": call, "content": "yes"});
        messages.push(result);
        node.hold("b", json!({"messages": messages}));
        let answered = node.run("b", json!({"tools": tools})).well();
        let said = answered.messages.as_array().and_then(|messages| messages.last()).expect("an answer");
        assert_eq!(said["content"], "Your tool answered: yes");
        assert_eq!(node.connect("a").well().messages, answered.messages);
    }
}
