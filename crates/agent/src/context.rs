//! What an agent is asked.

use serde::de::DeserializeOwned;
use std::borrow::Cow;
use threadline_protocol::content::{Content, ContentPart};
use threadline_protocol::json::{JsonNonNull, NotJson};
use threadline_protocol::message::{ToolMessage, UserMessage};
use threadline_protocol::run::{ResumeEntry, ResumeStatus, Tool};
use threadline_protocol::{Message, RunAgentInput, Text};

/// What an agent is asked: the request, and ways to look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunContext {
    input: RunAgentInput<'static>,
}

/// The answer to an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// It was answered; what with is up to what was asked.
    Resolved(Option<&'a JsonNonNull<'static>>),
    /// It was given up.
    Cancelled,
}

impl Answer<'_> {
    /// What was answered, as a type of the caller's; none if there is nothing, or the question was given up.
    ///
    /// # Errors
    /// If it is something else.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<Option<T>, NotJson> {
        match self {
            Self::Resolved(Some(payload)) => payload.as_json().deserialize().map(Some),
            Self::Resolved(None) | Self::Cancelled => Ok(None),
        }
    }
}

impl RunContext {
    /// From the request.
    #[must_use]
    pub const fn new(input: RunAgentInput<'static>) -> Self {
        Self { input }
    }

    /// The request itself.
    #[must_use]
    pub const fn input(&self) -> &RunAgentInput<'static> {
        &self.input
    }

    /// The thread.
    #[must_use]
    pub fn thread_id(&self) -> Cow<'_, str> {
        self.input.thread_id.to_str()
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> Cow<'_, str> {
        self.input.run_id.to_str()
    }

    /// The whole history, as the client knows it.
    #[must_use]
    pub fn messages(&self) -> &[Message<'static>] {
        &self.input.messages
    }

    /// What the user said last.
    #[must_use]
    pub fn user_message(&self) -> Option<&UserMessage<'static>> {
        self.messages().iter().rev().find_map(|message| match message {
            Message::User(message) => Some(&**message),
            _ => None,
        })
    }

    /// The text of what the user said last. Pictures and other parts are left out.
    #[must_use]
    pub fn user_text(&self) -> Cow<'_, str> {
        self.user_message().map_or_else(Cow::default, |message| text_of(&message.content))
    }

    /// The tools that the client offers.
    #[must_use]
    pub fn tools(&self) -> &[Tool<'static>] {
        self.input.tools.as_deref().unwrap_or_default()
    }

    /// The results of the client's tools that this run is about: those after everything the agent said.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolMessage<'static>> {
        let messages = self.messages();
        let is_said = |message: &Message<'_>| matches!(message, Message::Assistant(_) | Message::User(_));
        let start = messages.iter().rposition(is_said).map_or(0, |at| at + 1);
        messages.iter().skip(start).filter_map(|message| match message {
            Message::Tool(message) => Some(&**message),
            _ => None,
        })
    }

    /// The state that the run begins with, as a type of the caller's. A client that has none begins with `{}`.
    ///
    /// # Errors
    /// If it is something else.
    pub fn state<T: DeserializeOwned>(&self) -> Result<T, NotJson> {
        self.input.state_or_empty().deserialize()
    }

    /// All answers to interrupts.
    #[must_use]
    pub fn answers(&self) -> &[ResumeEntry<'static>] {
        self.input.resume.as_deref().unwrap_or_default()
    }

    /// The answer to an interrupt, if there is one.
    #[must_use]
    pub fn answer(&self, interrupt: &str) -> Option<Answer<'_>> {
        let entry = self.answers().iter().find(|entry| entry.interrupt_id == interrupt)?;
        Some(match entry.status {
            ResumeStatus::Resolved => Answer::Resolved(entry.payload.as_ref()),
            // A word that nobody knows does not say that the question was answered.
            _ => Answer::Cancelled,
        })
    }

    /// Anything the client has for the agent, as a type of the caller's.
    ///
    /// # Errors
    /// If it is something else.
    pub fn forwarded_props<T: DeserializeOwned>(&self) -> Result<Option<T>, NotJson> {
        self.input.forwarded_props.as_ref().map(|props| props.as_json().deserialize()).transpose()
    }
}

/// The text of a message's content: its text parts, one after the other.
#[must_use]
pub fn text_of<'a>(content: &'a Content<'static>) -> Cow<'a, str> {
    match content {
        Content::Text(text) => text.to_str(),
        Content::Parts(parts) => {
            let mut all = Text::from(String::new());
            for part in parts {
                if let ContentPart::Text(part) = part {
                    all.push(&part.text);
                }
            }
            Cow::Owned(all.to_str().into_owned())
        }
    }
}
