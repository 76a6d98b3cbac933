//! An agent that says what a test wants, when it wants.

use async_trait::async_trait;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use threadline_server::agents::{AgentRequest, Backend};
use threadline_server::runs::source::{Failure, Given, Source};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::unconstrained;

#[derive(Clone, Debug, Default)]
pub(crate) struct Puppet(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<UnboundedReceiver<Result<Given, Failure>>>,
    requests: Vec<AgentRequest>,
}

/// One run of a puppet. It goes on until it is dropped.
#[derive(Debug)]
pub(crate) struct Strings(UnboundedSender<Result<Given, Failure>>);

impl Puppet {
    /// The next run that the agent is asked for.
    pub(crate) fn next_run(&self) -> Strings {
        let (sender, receiver) = unbounded_channel();
        self.0.lock().unwrap().waiting.push_back(receiver);
        Strings(sender)
    }

    /// What the agent was asked, so far.
    pub(crate) fn requests(&self) -> Vec<AgentRequest> {
        self.0.lock().unwrap().requests.clone()
    }
}

impl Strings {
    pub(crate) fn say(&self, event: &Value) {
        self.say_text(&event.to_string());
    }

    pub(crate) fn say_text(&self, text: &str) {
        // A run that was cancelled hears nothing.
        let _ = self.0.send(Ok(Given::Json(text.to_owned().into())));
    }

    pub(crate) fn fail(self, code: &str, message: &str) {
        let _ = self.0.send(Err(Failure { code: code.to_owned(), message: message.to_owned() }));
    }

    /// Waits until nobody listens any more.
    pub(crate) async fn let_go(&self) {
        self.0.closed().await;
    }
}

#[async_trait]
impl Backend for Puppet {
    fn source(&self, request: AgentRequest) -> Box<dyn Source> {
        let mut inner = self.0.lock().unwrap();
        inner.requests.push(request);
        let receiver = inner.waiting.pop_front().expect("a run that the test knows of");
        Box::new(Line(receiver))
    }

    async fn capabilities(&self) -> Map<String, Value> {
        let Value::Object(said) = serde_json::json!({ "identity": { "name": "puppet" } }) else {
            unreachable!()
        };
        said
    }
}

#[derive(Debug)]
struct Line(UnboundedReceiver<Result<Given, Failure>>);

#[async_trait]
impl Source for Line {
    async fn next(&mut self) -> Option<Result<Given, Failure>> {
        // As with an agent behind a URL, whatever has come is there at once.
        unconstrained(self.0.recv()).await
    }
}
