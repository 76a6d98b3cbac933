//! What is asked of an agent in one run.

use crate::ambient::{Ambient, new_id};
use threadline_protocol::Text;
use threadline_protocol::content::Content;
use threadline_protocol::json::{JsonNonNull, JsonObject};
use threadline_protocol::message::{Message, ToolMessage, UserMessage};
use threadline_protocol::run::{ContextEntry, ResumeEntry, ResumeStatus, RunAgentInput, Tool};
use threadline_protocol::stages::fold::Fold;

/// The version that we speak.
const PROTOCOL_VERSION: &str = "1.0";

/// One turn of a thread: what is new since the last one. The rest of the request is what the thread holds.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    said: Vec<Said>,
    resume: Vec<ResumeEntry<'static>>,
    run_id: Option<String>,
    parent_run_id: Option<String>,
    state: Option<JsonNonNull<'static>>,
    tools: Vec<Tool<'static>>,
    context: Vec<ContextEntry<'static>>,
    forwarded_props: Option<JsonNonNull<'static>>,
}

/// Something that a client says; its id comes when it is sent.
#[derive(Clone, Debug)]
enum Said {
    User(Content<'static>),
    Result { call: Text<'static>, content: Content<'static>, error: Option<Text<'static>> },
    Message(Message<'static>),
}

impl Turn {
    /// Nothing new: the agent goes on from what the thread holds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The user says something.
    #[must_use]
    pub fn say(content: impl Into<Content<'static>>) -> Self {
        Self { said: vec![Said::User(content.into())], ..Self::default() }
    }

    /// A tool of the client's has answered.
    #[must_use]
    pub fn with_result(
        mut self,
        call: impl Into<Text<'static>>,
        content: impl Into<Content<'static>>,
    ) -> Self {
        self.said.push(Said::Result { call: call.into(), content: content.into(), error: None });
        self
    }

    /// A tool of the client's has failed.
    #[must_use]
    pub fn with_failure(mut self, call: impl Into<Text<'static>>, error: impl Into<Text<'static>>) -> Self {
        let error = error.into();
        self.said.push(Said::Result { call: call.into(), content: error.clone().into(), error: Some(error) });
        self
    }

    /// Any message, with an id of the caller's.
    #[must_use]
    pub fn with_message(mut self, message: Message<'static>) -> Self {
        self.said.push(Said::Message(message));
        self
    }

    /// The answer to an interrupt.
    #[must_use]
    pub fn with_answer(mut self, interrupt: impl Into<Text<'static>>, payload: JsonNonNull<'static>) -> Self {
        self.resume.push(ResumeEntry::new(interrupt, ResumeStatus::Resolved).with_payload(payload));
        self
    }

    /// An interrupt is given up.
    #[must_use]
    pub fn without_answer(mut self, interrupt: impl Into<Text<'static>>) -> Self {
        self.resume.push(ResumeEntry::new(interrupt, ResumeStatus::Cancelled));
        self
    }

    /// The id of the run, which is made up otherwise.
    #[must_use]
    pub fn with_run_id(mut self, run_id: impl Into<String>) -> Self {
        self.run_id = Some(run_id.into());
        self
    }

    /// The run that this one continues. On a Threadline server, one that is not the last makes it a fork.
    #[must_use]
    pub fn with_parent(mut self, run_id: impl Into<String>) -> Self {
        self.parent_run_id = Some(run_id.into());
        self
    }

    /// Another state than the thread holds.
    #[must_use]
    pub fn with_state(mut self, state: JsonNonNull<'static>) -> Self {
        self.state = Some(state);
        self
    }

    /// The tools that the client offers.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<Tool<'static>>) -> Self {
        self.tools = tools;
        self
    }

    /// What the agent should know.
    #[must_use]
    pub fn with_context(mut self, context: Vec<ContextEntry<'static>>) -> Self {
        self.context = context;
        self
    }

    /// Anything for the agent.
    #[must_use]
    pub fn with_forwarded_props(mut self, props: JsonNonNull<'static>) -> Self {
        self.forwarded_props = Some(props);
        self
    }

    pub(crate) fn resume(&self) -> &[ResumeEntry<'static>] {
        &self.resume
    }

    /// Puts what is new into what the thread holds, and makes the request of both.
    pub(crate) fn into_input(
        self,
        thread: &str,
        held: &mut Fold,
        ambient: &dyn Ambient,
    ) -> RunAgentInput<'static> {
        for said in self.said {
            held.hold(match said {
                Said::User(content) => UserMessage::new(new_id(ambient), content).into(),
                Said::Result { call, content, error } => {
                    let mut message = ToolMessage::new(new_id(ambient), call, content);
                    message.error = error;
                    message.into()
                }
                Said::Message(message) => message,
            });
        }
        // Activities are the client's to show, and no agent's to read.
        let is_for_agents = |message: &&Message<'static>| !matches!(message, Message::Activity(_));
        let messages: Vec<_> = held.messages().filter(is_for_agents).cloned().collect();
        let run_id = self.run_id.unwrap_or_else(|| new_id(ambient));
        // Agents of 0.x refuse a request without these, even if they are empty.
        let nothing = || JsonNonNull::from(JsonObject::EMPTY);
        let mut input = RunAgentInput::new(thread.to_owned(), run_id, messages)
            .with_protocol_version(PROTOCOL_VERSION)
            .with_tools(self.tools)
            .with_context(self.context)
            .with_forwarded_props(self.forwarded_props.unwrap_or_else(nothing));
        input.state =
            self.state.or_else(|| JsonNonNull::try_from(held.state()).ok()).or_else(|| Some(nothing()));
        input.parent_run_id = self.parent_run_id.map(Into::into);
        if !self.resume.is_empty() {
            input.resume = Some(self.resume);
        }
        input
    }
}
