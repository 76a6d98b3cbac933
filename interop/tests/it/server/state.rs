//! State that an agent only ever changes by deltas.

use super::fixture::{Server, finished, said, sse_head};
use super::node::{Kind, Node};
use serde_json::json;
use threadline_testkit::upstream::{Signal, Step, last_chunk};

#[test]
pub(super) fn deltas_alone_are_enough() {
    let mut node = Node::start();
    for kind in Kind::ALL {
        let go_on = Signal::default();
        let delta =
            |value| json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n/-", "value": value}]});
        let script = vec![
            sse_head(),
            said(delta(2)),
            Step::Wait(go_on.clone()),
            said(delta(3)),
            said(finished()),
            last_chunk(),
        ];
        let server = Server::with_scripts([script]);
        for name in ["first", "joined", "reloaded"] {
            node.open(name, kind, &server.url("/agui"), "t");
        }
        node.hold("first", json!({"state": {"n": [1]}}));
        node.begin("first", json!({}));
        node.until("first", "STATE_DELTA");
        node.attach("joined");
        go_on.raise();
        for name in ["first", "joined"] {
            assert_eq!(node.end(name).well().state, json!({"n": [1, 2, 3]}), "{name}");
        }
        assert_eq!(node.connect("reloaded").well().state, json!({"n": [1, 2, 3]}));
    }
}
