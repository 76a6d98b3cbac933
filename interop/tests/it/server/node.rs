//! Agents of `@ag-ui/client`, in a process of their own.

use serde_json::{Value, json};
use threadline_interop::peer::{Peer, Session};

/// Which client, and what it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 1.0.0, with SSE.
    Current,
    /// 1.0.0, with protobuf.
    Protobuf,
    /// 1.0.0, with a WebSocket.
    Socket,
    /// 0.0.59, which CopilotKit pins.
    Old,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Current, Self::Protobuf, Self::Socket, Self::Old];
    /// For routes that sockets do not have, and what becomes of requests before they are one.
    pub(crate) const OVER_HTTP: [Self; 3] = [Self::Current, Self::Protobuf, Self::Old];
}

/// Any number of agents, by name.
pub(crate) struct Node(Session);

/// What an application holds when its agent has read a run to the end.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) messages: Value,
    pub(crate) state: Value,
    pub(crate) interrupts: Value,
    /// What was read.
    pub(crate) events: Vec<Value>,
    /// What the agent failed with, or null.
    pub(crate) error: Value,
}

impl Node {
    pub(crate) fn start() -> Self {
        Self(Peer::NodeClients.start())
    }

    /// A new agent object, as after a reload: it holds nothing.
    pub(crate) fn open(&mut self, client: &str, kind: Kind, url: &str, thread: &str) {
        let library = match kind {
            Kind::Current | Kind::Protobuf => "1.0.0",
            Kind::Socket => "1.0.0 over a socket",
            Kind::Old => "0.0.59",
        };
        let options = json!({
            "library": library, "url": url, "threadId": thread, "protobuf": kind == Kind::Protobuf,
        });
        self.ask("open", client, options);
    }

    /// Sets what the agent holds, as an application does for its user.
    pub(crate) fn hold(&mut self, client: &str, what: Value) {
        self.ask("hold", client, what);
    }

    /// Begins a run, and comes back when something was heard of it.
    pub(crate) fn begin(&mut self, client: &str, parameters: Value) {
        self.ask("run", client, parameters);
    }

    /// A run from its start to its end.
    pub(crate) fn run(&mut self, client: &str, parameters: Value) -> Held {
        self.begin(client, parameters);
        self.end(client)
    }

    /// Attaches, and comes back when something was heard.
    pub(crate) fn attach(&mut self, client: &str) {
        self.ask("connect", client, json!({}));
    }

    /// Attaches, and reads to the end.
    pub(crate) fn connect(&mut self, client: &str) -> Held {
        self.attach(client);
        self.end(client)
    }

    /// Waits until the agent has seen an event of this type.
    pub(crate) fn until(&mut self, client: &str, kind: &str) {
        let answer = self.ask("until", client, json!({"type": kind}));
        assert_eq!(answer["seen"], true, "no {kind}: {:?}", self.end(client).types());
    }

    /// Waits until the agent has read to the end.
    pub(crate) fn end(&mut self, client: &str) -> Held {
        let mut held = self.ask("end", client, json!({}));
        let Value::Array(events) = held["events"].take() else { panic!("{held}") };
        Held {
            messages: held["messages"].take(),
            state: held["state"].take(),
            interrupts: held["interrupts"].take(),
            events,
            error: held["error"].take(),
        }
    }

    /// Breaks the agent's connection off.
    pub(crate) fn abort(&mut self, client: &str) {
        self.ask("abort", client, json!({}));
    }

    fn ask(&mut self, op: &str, client: &str, mut question: Value) -> Value {
        question["op"] = op.into();
        question["client"] = client.into();
        let answer = self.0.ask(&[question]).remove(0);
        assert_eq!(answer["ok"], true, "{op} of {client}: {answer}");
        let warnings = answer["warnings"].as_array().expect("warnings");
        // What a valid stream is warned of whoever tells it: calls without a message, and ends of what a snapshot has taken away.
        let of_valid_streams = ["falling back to toolCallId", "No message found with ID"];
        let is_the_agents = |warning: &&Value| {
            warning.as_str().is_some_and(|text| of_valid_streams.iter().any(|words| text.contains(words)))
        };
        let ours: Vec<&Value> = warnings.iter().filter(|warning| !is_the_agents(warning)).collect();
        assert!(ours.is_empty(), "{op} of {client}: {ours:?}");
        answer
    }
}

impl Held {
    /// What is left when the events are forgotten.
    pub(crate) fn kept(&self) -> [&Value; 3] {
        [&self.messages, &self.state, &self.interrupts]
    }

    /// The same, of an agent that nothing went wrong with.
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.error, Value::Null, "{:?}", self.types());
        self
    }

    /// The types of what was read.
    pub(crate) fn types(&self) -> Vec<&str> {
        self.events.iter().map(|event| crate::text(&event["type"])).collect()
    }

    /// A refusal as the agent reports it: status and code.
    pub(crate) fn refusal(&self) -> (u64, &str) {
        let error = &self.error;
        let status =
            error["status"].as_u64().unwrap_or_else(|| panic!("no refusal: {:?}, {error}", self.types()));
        (status, crate::text(&error["payload"]["error"]["code"]))
    }
}
