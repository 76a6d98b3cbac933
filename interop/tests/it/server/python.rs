//! A plain HTTP client, in a process of its own. It reads every event with the models of `ag-ui-protocol`.

use serde_json::{Value, json};
use threadline_interop::peer::{Peer, Session};

/// Any number of streams, by name.
pub(crate) struct Python(Session);

/// One frame of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: Value,
}

impl Frame {
    pub(crate) fn kind(&self) -> &str {
        crate::text(&self.event["type"])
    }
}

impl Python {
    pub(crate) fn start() -> Self {
        Self(Peer::PythonClients.start())
    }

    /// Posts a RunAgentInput, and leaves the answer open.
    pub(crate) fn post(&mut self, client: &str, url: &str, body: &Value, headers: &Value) {
        let question = json!({"op": "post", "client": client, "url": url, "body": body, "headers": headers});
        let answer = self.ask(question);
        assert_eq!(
            (&answer["status"], &answer["type"]),
            (&json!(200), &json!("text/event-stream")),
            "{answer}"
        );
    }

    /// Posts any JSON, and gives what comes back that is JSON.
    pub(crate) fn post_json(&mut self, url: &str, body: &Value, headers: &Value) -> (u64, Value) {
        let question =
            json!({"op": "post", "client": "", "url": url, "body": body, "headers": headers, "model": false});
        status_and_json(self.ask(question))
    }

    /// Gets JSON.
    pub(crate) fn get(&mut self, url: &str) -> Value {
        let (status, json) = status_and_json(self.ask(json!({"op": "get", "url": url})));
        assert_eq!(status, 200, "{json}");
        json
    }

    /// The next frames of a stream: so many.
    pub(crate) fn read(&mut self, client: &str, count: usize) -> Vec<Frame> {
        let frames = self.frames(json!({"op": "read", "client": client, "count": count})).0;
        assert_eq!(frames.len(), count, "{frames:#?}");
        frames
    }

    /// All the rest of a stream.
    pub(crate) fn rest(&mut self, client: &str) -> Vec<Frame> {
        let (frames, ended) = self.frames(json!({"op": "read", "client": client}));
        assert!(ended);
        frames
    }

    /// A stream from its start to its end.
    pub(crate) fn all(&mut self, url: &str, body: &Value) -> Vec<Frame> {
        self.post("", url, body, &json!({}));
        self.rest("")
    }

    /// Goes away in the middle.
    pub(crate) fn close(&mut self, client: &str) {
        self.ask(json!({"op": "close", "client": client}));
    }

    fn frames(&mut self, question: Value) -> (Vec<Frame>, bool) {
        let answer = self.ask(question);
        let frames = answer["frames"].as_array().expect("frames").iter().map(|frame| Frame {
            id: frame["id"].as_str().map(str::to_owned),
            event: crate::parse(crate::text(&frame["json"])),
        });
        (frames.collect(), answer["ended"] == true)
    }

    fn ask(&mut self, question: Value) -> Value {
        let answer = self.0.ask(&[question]).remove(0);
        assert_eq!(answer["ok"], true, "{answer}");
        answer
    }
}

fn status_and_json(mut answer: Value) -> (u64, Value) {
    (answer["status"].as_u64().expect("a status"), answer["json"].take())
}

/// The messages that a stream with a snapshot holds.
pub(crate) fn snapshot(frames: &[Frame]) -> &Value {
    let snapshot = frames.iter().find(|frame| frame.kind() == "MESSAGES_SNAPSHOT");
    &snapshot.expect("a snapshot").event["messages"]
}
