//! Edit and regenerate as applications do them: they set the messages, and run.

use super::fixture::{Server, finished, played, request, user};
use super::node::{Kind, Node};
use super::python::{Python, snapshot};
use crate::text;
use serde_json::{Value, json};

fn says(id: &str, words: &str) -> Vec<threadline_testkit::upstream::Step> {
    played(&[json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": words}), finished()])
}

fn assistant(id: &str, words: &str) -> Value {
    json!({"id": id, "role": "assistant", "content": words})
}

/// The messages of a list that `ids` names.
fn only(messages: &Value, ids: &[&str]) -> Vec<Value> {
    let messages = messages.as_array().expect("messages").iter();
    messages.filter(|message| ids.contains(&text(&message["id"]))).cloned().collect()
}

#[test]
pub(super) fn edit_and_regenerate_are_branches_and_both_are_kept() {
    let (mut node, mut python) = (Node::start(), Python::start());
    for kind in Kind::ALL {
        let scripts = [("a1", "one"), ("a2", "two"), ("a2b", "another two"), ("a3", "edited"), ("a4", "on")];
        let server = Server::with_scripts(scripts.map(|(id, words)| says(id, words)));
        node.open("a", kind, &server.url("/agui"), "t");
        let mut turn = |messages: Value, run: &str| {
            node.hold("a", json!({"messages": messages}));
            node.run("a", json!({"runId": run})).well().messages
        };
        let first = turn(json!([user("u1", "hi")]), "r1");
        let second = turn(json!([user("u1", "hi"), assistant("a1", "one"), user("u2", "and?")]), "r2");
        assert_eq!(second[3], assistant("a2", "two"));
        // Regenerate: the answer goes, and the same is asked again.
        let again = turn(only(&second, &["u1", "a1", "u2"]).into(), "r3");
        assert_eq!(again[3], assistant("a2b", "another two"));
        // Edit: the question goes, too, and another takes its place.
        let mut edited = only(&again, &["u1", "a1"]);
        edited.push(user("u3", "or?"));
        let edited = turn(edited.into(), "r4");
        // And on from there.
        let mut on = edited.as_array().expect("messages").clone();
        on.push(user("u4", "go on"));
        let on = turn(on.into(), "r5");

        let runs = python.get(&server.url("/v1/threads/t/runs"));
        let parents: Vec<(&str, &Value)> = runs["runs"]
            .as_array()
            .expect("runs")
            .iter()
            .map(|run| (text(&run["runId"]), &run["parentRunId"]))
            .collect();
        let [none, r1, r4] = [Value::Null, json!("r1"), json!("r4")];
        assert_eq!(parents, [("r1", &none), ("r2", &r1), ("r3", &r1), ("r4", &r1), ("r5", &r4)], "{kind:?}");
        for (run, messages) in [("r1", &first), ("r2", &second), ("r3", &again), ("r4", &edited), ("r5", &on)]
        {
            for path in ["/history", "/agui/connect"] {
                let url = server.url(&format!("{path}?run={run}"));
                let frames = python.all(&url, &request("t", "h", &json!([])));
                assert_eq!(snapshot(&frames), messages, "{path} of {run}");
            }
        }
        // A reload shows the branch that was begun last.
        node.open("b", kind, &server.url("/agui"), "t");
        assert_eq!(node.connect("b").well().messages, on);
        // The agent was given what the client sent.
        let asked = server.requests();
        let asked: Value = serde_json::from_slice(&asked[3].body).expect("JSON");
        assert_eq!(asked["messages"], json!([user("u1", "hi"), assistant("a1", "one"), user("u3", "or?")]));
    }
}
