//! Questions that a reload shows again, and that are answered once.

use super::fixture::{Server, user};
use super::node::{Held, Kind, Node};
use serde_json::{Value, json};

fn last(held: &Held) -> &Value {
    let messages = held.messages.as_array().expect("messages");
    &messages.last().expect("a message")["content"]
}

#[test]
pub(super) fn a_question_survives_a_reload_and_is_answered_once() {
    let (server, mut node) = (Server::with_demo(), Node::start());
    for kind in Kind::ALL {
        let thread = format!("{kind:?}");
        let open = |node: &mut Node, name: &str| node.open(name, kind, &server.url("/agui"), &thread);
        open(&mut node, "asked");
        node.hold("asked", json!({"messages": [user("u", "approve")]}));
        let asked = node.run("asked", json!({})).well();
        assert_eq!(asked.interrupts.as_array().map(Vec::len), Some(1), "{kind:?}");

        // Who does not know of the question cannot go past it.
        open(&mut node, "ignorant");
        node.hold("ignorant", json!({"messages": [user("v", "hello")]}));
        assert_eq!(node.run("ignorant", json!({})).refusal(), (409, "interrupts_open"));

        open(&mut node, "reloaded");
        let reloaded = node.connect("reloaded").well();
        assert_eq!(reloaded.kept(), asked.kept());
        let resume = json!([{
            "interruptId": reloaded.interrupts[0]["id"], "status": "resolved", "payload": {"approved": true},
        }]);
        let answered = node.run("reloaded", json!({"resume": resume})).well();
        assert_eq!(last(&answered), "Approved: the letter is sent.");
        assert_eq!(answered.interrupts, json!([]));

        let second = node.run("asked", json!({"resume": resume}));
        assert_eq!(second.refusal(), (409, "interrupt_answered"), "{kind:?}");
        // It learns what has happened meanwhile, and goes on.
        assert_eq!(node.connect("asked").well().kept(), answered.kept());
        let mut messages = answered.messages.clone();
        messages.as_array_mut().expect("messages").push(user("w", "hello"));
        node.hold("asked", json!({"messages": messages}));
        assert_eq!(
            last(&node.run("asked", json!({})).well()),
            "Hello! I am a demo without a model. Say help."
        );
    }
}

#[test]
pub(super) fn a_question_may_be_declined() {
    let (server, mut node) = (Server::with_demo(), Node::start());
    for kind in Kind::ALL {
        node.open("a", kind, &server.url("/agui"), &format!("{kind:?}"));
        node.hold("a", json!({"messages": [user("u", "approve")]}));
        let asked = node.run("a", json!({})).well();
        let resume = json!([{"interruptId": asked.interrupts[0]["id"], "status": "cancelled"}]);
        let declined = node.run("a", json!({"resume": resume})).well();
        assert_eq!(last(&declined), "Nobody decided: the letter stays here.");
    }
}
