//! The writer of a run.

use super::{Activity, Reasoning, Step, Subagent, TextMessage, ToolCallWriter, tool_call};
use crate::error::WriteError;
use crate::ledger::Kind;
use crate::outlet::{Lane, Outlet, Turn};
use crate::state::{to_document, to_json};
use serde::Serialize;
use std::sync::Arc;
use threadline_protocol::content::Content;
use threadline_protocol::event::{
    Custom, MessagesSnapshot, Raw, SubagentStarted, TextMessageStart, ToolCallStart,
};
use threadline_protocol::run::TokenUsage;
use threadline_protocol::{Message, Text};

/// What an agent writes with.
///
/// Everything waits while too many events wait for the reader, and gives [`WriteError::Cancelled`] once the run is
/// cancelled or nobody reads it. A future that is dropped has written all or nothing.
///
/// Clones write to the same run, in any task, until the run ends.
#[derive(Clone, Debug)]
pub struct RunWriter {
    outlet: Arc<Outlet>,
    lane: Lane,
}

impl RunWriter {
    pub(crate) const fn new(outlet: Arc<Outlet>) -> Self {
        Self { outlet, lane: None }
    }

    /// The same for a subagent.
    pub(super) fn of_subagent(&self, subagent: Text<'static>) -> Self {
        Self { outlet: Arc::clone(&self.outlet), lane: Some(subagent) }
    }

    /// The subagent that writes.
    pub(super) fn lane(&self) -> Lane {
        self.lane.clone()
    }

    pub(super) async fn write<T>(
        &self,
        write: impl FnOnce(&mut Turn<'_>) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        self.outlet.write(&self.lane, write).await
    }

    pub(super) fn abandon(&self, kind: Kind, id: &Text<'static>) {
        self.outlet.abandon(kind, id, &self.lane);
    }

    /// Starts a text message of the agent's.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn text(&self) -> Result<TextMessage, WriteError> {
        TextMessage::start(self, TextMessageStart::new).await
    }

    /// Starts a text message with an id, a role, a name or metadata of its own. An id that the thread knows continues that
    /// message.
    ///
    /// # Errors
    /// If the run is cancelled, or the id is that of a message that is being written or another's.
    pub async fn text_with(&self, start: TextMessageStart<'static>) -> Result<TextMessage, WriteError> {
        TextMessage::start(self, |_| start).await
    }

    /// Writes a whole text message.
    ///
    /// # Errors
    /// If the run is cancelled or the text is too large.
    pub async fn say(&self, text: &str) -> Result<(), WriteError> {
        let mut message = self.text().await?;
        message.push(text).await?;
        message.end().await
    }

    /// Starts a tool call.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn tool_call(&self, tool: &str) -> Result<ToolCallWriter, WriteError> {
        let tool = tool.to_owned();
        ToolCallWriter::start(self, |id| ToolCallStart::new(id, tool)).await
    }

    /// Starts a tool call with an id, a parent message or metadata of its own.
    ///
    /// # Errors
    /// If the run is cancelled, or the id is that of a call that is being written or another's.
    pub async fn tool_call_with(&self, start: ToolCallStart<'static>) -> Result<ToolCallWriter, WriteError> {
        ToolCallWriter::start(self, |_| start).await
    }

    /// Writes the result of a call that an earlier run made. The calls of this run have
    /// [`PendingCall::result`](super::PendingCall::result).
    ///
    /// # Errors
    /// If the run is cancelled, the result is too large, or the call is being written or has a result.
    pub async fn tool_result(
        &self,
        call: &str,
        content: impl Into<Content<'static>> + Send,
    ) -> Result<(), WriteError> {
        tool_call::result(self, call.to_owned().into(), content.into()).await
    }

    /// Starts a thought.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn reasoning(&self) -> Result<Reasoning, WriteError> {
        Reasoning::start(self).await
    }

    /// Shows an activity: what there is to show is a JSON object, the type says what it is.
    ///
    /// # Errors
    /// If the run is cancelled, or the content is no JSON object or too large.
    pub async fn activity(
        &self,
        activity_type: &str,
        content: &impl Serialize,
    ) -> Result<Activity, WriteError> {
        Activity::start(self, activity_type, content).await
    }

    /// Starts a step.
    ///
    /// # Errors
    /// If the run is cancelled, or a step of that name goes on.
    pub async fn step(&self, name: &str) -> Result<Step, WriteError> {
        Step::start(self, name).await
    }

    /// Starts a subagent, below this one.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn subagent(&self, name: &str) -> Result<Subagent, WriteError> {
        let name = name.to_owned();
        Subagent::start(self, |id| SubagentStarted::new(id, name)).await
    }

    /// Starts a subagent with an id, a description, a tool call or a message that called it. The parent is this one.
    ///
    /// # Errors
    /// If the run is cancelled, or the run had a subagent of that id.
    pub async fn subagent_with(&self, start: SubagentStarted<'static>) -> Result<Subagent, WriteError> {
        Subagent::start(self, |_| start).await
    }

    /// Gives the client a new state: whole while it is small, else as the change
    /// ([`RunOptions::with_state_snapshot_bytes_max`](crate::RunOptions::with_state_snapshot_bytes_max)).
    ///
    /// # Errors
    /// If the run is cancelled, or the state has no JSON, too much of it, or nests too deep.
    pub async fn set_state(&self, state: &impl Serialize) -> Result<(), WriteError> {
        let state = to_document(state)?;
        self.write(|turn| turn.set_state(state, self.lane())).await
    }

    /// Gives the client all messages of the thread anew.
    ///
    /// # Errors
    /// If the run is cancelled, messages or calls are being written, or it is too large.
    pub async fn set_messages(&self, messages: Vec<Message<'static>>) -> Result<(), WriteError> {
        self.write(|turn| match turn.is_writing() {
            true => Err(WriteError::MessagesOpen),
            false => turn.emit(MessagesSnapshot::new(messages)),
        })
        .await
    }

    /// Writes an extension of the protocol: a name with dots, such as `acme.budget`, and any value.
    ///
    /// # Errors
    /// If the run is cancelled, the name has no dots, or the value has no JSON or too much of it.
    pub async fn custom(&self, name: &str, value: &impl Serialize) -> Result<(), WriteError> {
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-')
        };
        if !name.contains('.') || !name.split('.').all(is_word) {
            return Err(WriteError::Name(name.to_owned()));
        }
        let mut custom = Custom::new(name.to_owned(), to_json(value)?);
        custom.subagent_run_id = self.lane();
        self.write(|turn| turn.emit(custom)).await
    }

    /// Passes on an event of another system, such as a model's provider.
    ///
    /// # Errors
    /// If the run is cancelled, or the event has no JSON or too much of it.
    pub async fn raw(&self, source: &str, event: &impl Serialize) -> Result<(), WriteError> {
        let mut raw = Raw::new(to_json(event)?).with_source(source.to_owned());
        raw.subagent_run_id = self.lane();
        self.write(|turn| turn.emit(raw)).await
    }

    /// A new id, unique in the thread: for an interrupt, or for something that needs to be known before it is written.
    #[must_use]
    pub fn new_id(&self) -> String {
        self.outlet.mint().to_str().into_owned()
    }

    /// Adds to what the run's end says that models were given and gave, summed up by provider and model.
    pub fn add_usage(&self, usage: TokenUsage<'static>) {
        self.outlet.add_usage(usage);
    }

    /// Whether the run is cancelled, or nobody reads it any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.outlet.is_cancelled()
    }

    /// Waits until the run is cancelled: for a `select!` beside something slow.
    pub async fn cancelled(&self) {
        self.outlet.cancelled().await;
    }
}
