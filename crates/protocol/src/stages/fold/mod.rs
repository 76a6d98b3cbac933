//! The fold stage: events to messages, state and what is pending.
//!
//! What the reference client's reducer does, event by event. An event that cannot be applied is skipped and said so; what
//! follows is applied all the same.

mod checkpoint;
mod entry;
mod messages;
mod runs;
mod snapshot;
#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, FOLD_VERSION, OtherVersion};
pub use runs::{RunStatus, RunSummary};

use crate::content::Content;
use crate::event::{
    ActivitySnapshot, EncryptedSubtype, Event, ReasoningEncryptedValue, RunFinished, RunStarted,
    TextMessageStart, TextRole, ToolCallResult, ToolCallStart,
};
use crate::json::{Json, Text};
use crate::limits::PatchLimits;
use crate::message::{
    ActivityMessage, AssistantMessage, DeveloperMessage, FunctionCall, Message, ReasoningMessage,
    SystemMessage, ToolCall, ToolMessage, UserMessage,
};
use crate::metadata::Metadata;
use crate::patch::{Document, PatchError};
use crate::run::{Interrupt, RunAgentInput, RunOutcome, TokenUsage};
use messages::Messages;
use std::collections::HashMap;
use thiserror::Error;

/// Messages, state and what is pending, after the events so far.
///
/// Applying a delta costs the delta, not the message or the conversation.
#[derive(Clone, Debug)]
pub struct Fold {
    messages: Messages,
    state: State,
    interrupts: Vec<Interrupt<'static>>,
    runs: Vec<RunSummary<'static>>,
    calls: Calls,
    /// Counts the events that were applied.
    revision: u64,
    state_changed_at: u64,
    /// The messages that are gone, and when they went.
    removed: Vec<(u64, Text<'static>)>,
}

/// The state: as text until the first change of it.
#[derive(Clone, Debug)]
enum State {
    Text(Json<'static>),
    Document(Document),
}

/// The tool calls of the current run.
#[derive(Clone, Debug, Default)]
struct Calls {
    /// In the order they were started.
    started: Vec<Text<'static>>,
    known: HashMap<Text<'static>, Call>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Call {
    started: bool,
    answered: bool,
}

/// Why an event was not applied.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Warning {
    /// It belongs to a message that is not there.
    #[error("no message with this id. message={0}")]
    NoMessage(String),
    /// It belongs to a tool call that is not there.
    #[error("no tool call with this id. call={0}")]
    NoCall(String),
    /// It is text for an activity.
    #[error("the message is an activity, and takes no text. message={0}")]
    IsActivity(String),
    /// It is a change of an activity for something else.
    #[error("the message is no activity. message={0}")]
    IsNoActivity(String),
    /// A call's parent is no message of the agent's, so that the call got a message of its own. It was applied.
    #[error("the parent is no assistant message, the call gets its own. message={0}")]
    ParentIsNoAssistant(String),
    /// A call was started again under another name. It was applied.
    #[error("the call has another name now. call={call}, before={before}")]
    CallRenamed {
        /// The call.
        call: String,
        /// Its name before.
        before: String,
    },
    /// A change of state or of an activity does not fit.
    #[error("the patch cannot be applied: {0}")]
    Patch(PatchError),
    /// A change would make an activity's content something else than an object.
    #[error("the patch would leave no object. message={0}")]
    NoObject(String),
    /// The state or an activity nests too deep to be changed by patches.
    #[error("nested too deep to be patched")]
    TooDeep,
    /// Chunks must be expanded before.
    #[error("chunks must be expanded before")]
    Chunk,
}

/// What changed between two revisions of a [`Fold`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<'f> {
    /// Messages that are new or different, in order.
    pub messages: Vec<&'f Message<'static>>,
    /// Ids of messages that are gone.
    pub removed: Vec<&'f Text<'static>>,
    /// Whether the state is different.
    pub state: bool,
}

impl Default for Fold {
    fn default() -> Self {
        Self::new()
    }
}

impl Fold {
    /// Nothing yet: no messages, and `{}` for a state.
    #[must_use]
    pub fn new() -> Self {
        Self {
            messages: Messages::default(),
            state: State::Text(Json::EMPTY_OBJECT),
            interrupts: Vec::new(),
            runs: Vec::new(),
            calls: Calls::default(),
            revision: 0,
            state_changed_at: 0,
            removed: Vec::new(),
        }
    }

    /// What a client holds when it sends this request.
    #[must_use]
    pub fn from_input(input: &RunAgentInput<'_>) -> Self {
        let mut fold = Self::new();
        for message in &input.messages {
            fold.messages.push(message.clone().into_owned(), 0);
        }
        if let Some(state) = &input.state {
            fold.state = State::Text(state.as_json().clone().into_owned());
        }
        fold
    }

    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> impl ExactSizeIterator<Item = &Message<'static>> {
        self.messages.iter()
    }

    /// The first message with this id.
    #[must_use]
    pub fn message(&self, id: &Text<'_>) -> Option<&Message<'static>> {
        self.messages.get(id)
    }

    /// The first tool call with this id.
    #[must_use]
    pub fn tool_call(&self, id: &Text<'_>) -> Option<&ToolCall<'static>> {
        self.messages.call(id)
    }

    /// The message that holds the first tool call with this id.
    #[must_use]
    pub fn message_of_call(&self, id: &Text<'_>) -> Option<&Message<'static>> {
        self.messages.of_call(id)
    }

    /// Adds a message that no event told of: what a client says itself. One whose id is there already is left out, as it is
    /// where a request repeats it.
    pub fn hold(&mut self, message: Message<'static>) {
        if message.id().is_some_and(|id| !self.messages.contains(id)) {
            self.revision += 1;
            self.messages.push(message, self.revision);
        }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Json<'static> {
        match &self.state {
            State::Text(json) => json.clone(),
            State::Document(document) => document.to_json(),
        }
    }

    /// The questions that wait for answers.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt<'static>] {
        &self.interrupts
    }

    /// How the runs went, in order.
    #[must_use]
    pub fn runs(&self) -> &[RunSummary<'static>] {
        &self.runs
    }

    /// The calls of the current or last run that have no result: as its outcome says, or as the events do.
    #[must_use]
    pub fn pending_tool_calls(&self) -> Vec<Text<'static>> {
        match self.runs.last() {
            Some(run) if run.status != RunStatus::Running => run.pending_tool_calls.clone(),
            _ => self.calls.pending(),
        }
    }

    /// What models were given and gave in all runs, by provider and model.
    #[must_use]
    pub fn usage(&self) -> Vec<TokenUsage<'static>> {
        TokenUsage::totals(self.runs.iter().flat_map(|run| &run.usage))
    }

    /// How many events were applied: a mark for [`changes_since`](Self::changes_since).
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// What changed after a revision.
    #[must_use]
    pub fn changes_since(&self, revision: u64) -> Changes<'_> {
        let gone = self.removed.iter().filter(|(at, id)| *at > revision && !self.messages.contains(id));
        Changes {
            messages: self.messages.changed_since(revision).collect(),
            removed: gone.map(|(_, id)| id).collect(),
            state: self.state_changed_at > revision,
        }
    }

    /// Whether no message came, went or changed its kind after a revision, but for new ones at the end.
    pub(in crate::stages) const fn has_only_grown_since(&self, revision: u64) -> bool {
        self.messages.has_only_grown_since(revision)
    }

    /// Applies the next event.
    ///
    /// # Errors
    /// If it could not be applied, or not as it was meant. The fold is good either way.
    pub fn apply(&mut self, event: &Event<'_>) -> Result<(), Warning> {
        self.revision += 1;
        match event {
            Event::TextMessageStart(event) => self.start_text(event),
            Event::TextMessageContent(event) => {
                self.append_text(&event.message_id, Some(&event.delta), event.metadata.as_ref())
            }
            Event::TextMessageEnd(event) => {
                self.append_text(&event.message_id, None, event.metadata.as_ref())
            }
            Event::ReasoningMessageStart(event) => {
                self.start_message(&event.message_id, event.metadata.as_ref(), |id| {
                    let mut message = ReasoningMessage::new(id, "");
                    message.subagent_run_id = event.subagent_run_id.clone().map(Text::into_owned);
                    message.into()
                })
            }
            Event::ReasoningMessageContent(event) => {
                self.append_text(&event.message_id, Some(&event.delta), event.metadata.as_ref())
            }
            Event::ReasoningMessageEnd(event) => {
                self.append_text(&event.message_id, None, event.metadata.as_ref())
            }
            Event::ReasoningEncryptedValue(event) => {
                self.encrypt(event);
                Ok(())
            }
            Event::ToolCallStart(event) => self.start_call(event),
            Event::ToolCallArgs(event) => {
                self.append_arguments(&event.tool_call_id, Some(&event.delta), event.metadata.as_ref())
            }
            Event::ToolCallEnd(event) => {
                self.append_arguments(&event.tool_call_id, None, event.metadata.as_ref())
            }
            Event::ToolCallResult(event) => {
                self.add_result(event);
                Ok(())
            }
            Event::StateSnapshot(event) => {
                self.state = State::Text(event.snapshot.clone().into_owned());
                self.state_changed_at = self.revision;
                Ok(())
            }
            Event::StateDelta(event) => {
                let document = self.state.document().ok_or(Warning::TooDeep)?;
                document.apply(&event.delta, &PatchLimits::default()).map_err(Warning::Patch)?;
                self.state_changed_at = self.revision;
                Ok(())
            }
            Event::MessagesSnapshot(event) => {
                self.take_snapshot(event);
                Ok(())
            }
            Event::ActivitySnapshot(event) => {
                self.take_activity(event);
                Ok(())
            }
            Event::ActivityDelta(event) => self.messages.patch(event, self.revision),
            Event::RunStarted(event) => {
                self.start_run(event);
                Ok(())
            }
            Event::RunFinished(event) => {
                self.finish_run(event);
                Ok(())
            }
            Event::RunError(event) => {
                self.current_run().fail(event);
                Ok(())
            }
            Event::TextMessageChunk(_) | Event::ToolCallChunk(_) | Event::ReasoningMessageChunk(_) => {
                Err(Warning::Chunk)
            }
            Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningEnd(_)
            | Event::SubagentStarted(_)
            | Event::SubagentFinished(_)
            | Event::SubagentError(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::Unknown(_) => Ok(()),
        }
    }

    fn start_text(&mut self, event: &TextMessageStart<'_>) -> Result<(), Warning> {
        self.start_message(&event.message_id, event.metadata.as_ref(), |id| {
            let name = event.name.clone().map(Text::into_owned);
            let owner = event.subagent_run_id.clone().map(Text::into_owned);
            macro_rules! message {
                ($message:expr) => {{
                    let mut message = $message;
                    message.name = name;
                    message.subagent_run_id = owner;
                    message.into()
                }};
            }
            match event.role {
                Some(TextRole::Developer) => message!(DeveloperMessage::new(id, "")),
                Some(TextRole::System) => message!(SystemMessage::new(id, "")),
                Some(TextRole::User) => message!(UserMessage::new(id, "")),
                Some(TextRole::Assistant | TextRole::Unknown(_)) | None => {
                    message!(AssistantMessage::new(id).with_content(""))
                }
            }
        })
    }

    /// Adds a message, or continues the one that is there, whatever its role.
    fn start_message(
        &mut self,
        id: &Text<'_>,
        metadata: Option<&Metadata<'_>>,
        make: impl FnOnce(Text<'static>) -> Message<'static>,
    ) -> Result<(), Warning> {
        match self.messages.get(id) {
            Some(Message::Activity(_)) => return Err(Warning::IsActivity(id.to_string())),
            Some(_) if metadata.is_none() => return Ok(()),
            Some(_) => {}
            None => self.messages.push(make(id.clone().into_owned()), self.revision),
        }
        if let Some(message) = self.messages.get_mut(id, self.revision) {
            merge(metadata_of(message), metadata);
        }
        Ok(())
    }

    fn append_text(
        &mut self,
        id: &Text<'_>,
        delta: Option<&Text<'_>>,
        metadata: Option<&Metadata<'_>>,
    ) -> Result<(), Warning> {
        let message = self.messages.said_mut(id, self.revision)?;
        if let Some(delta) = delta {
            append(message, delta);
        }
        merge(metadata_of(message), metadata);
        Ok(())
    }

    fn start_call(&mut self, event: &ToolCallStart<'_>) -> Result<(), Warning> {
        self.calls.start(&event.tool_call_id);
        if let Some(call) = self.messages.call_mut(&event.tool_call_id, self.revision) {
            merge(Some(&mut call.metadata), event.metadata.as_ref());
            if call.function.name == event.tool_call_name {
                return Ok(());
            }
            let before =
                std::mem::replace(&mut call.function.name, event.tool_call_name.clone().into_owned());
            return Err(Warning::CallRenamed {
                call: event.tool_call_id.to_string(),
                before: before.to_string(),
            });
        }
        let function = FunctionCall::new(event.tool_call_name.clone().into_owned(), "");
        let mut call = ToolCall::new(event.tool_call_id.clone().into_owned(), function);
        call.metadata = event.metadata.clone().map(Metadata::into_owned);
        // The reference takes an empty id for none.
        let parent = event.parent_message_id.as_ref().filter(|id| !id.is_empty());
        let existing = parent.and_then(|parent| self.messages.get(parent));
        if let (Some(parent), Some(Message::Assistant(_))) = (parent, existing) {
            self.messages.push_call(parent, call, self.revision);
            return Ok(());
        }
        let collides = existing.is_some();
        let id = parent.filter(|_| !collides).unwrap_or(&event.tool_call_id).clone().into_owned();
        let is_new = !self.messages.contains(&id);
        let mut message = AssistantMessage::new(id).with_tool_calls(vec![call]);
        message.subagent_run_id = event.subagent_run_id.clone().map(Text::into_owned).filter(|_| is_new);
        self.messages.push(message.into(), self.revision);
        match parent {
            Some(parent) if collides => Err(Warning::ParentIsNoAssistant(parent.to_string())),
            _ => Ok(()),
        }
    }

    fn append_arguments(
        &mut self,
        id: &Text<'_>,
        delta: Option<&Text<'_>>,
        metadata: Option<&Metadata<'_>>,
    ) -> Result<(), Warning> {
        let call =
            self.messages.call_mut(id, self.revision).ok_or_else(|| Warning::NoCall(id.to_string()))?;
        if let Some(delta) = delta {
            call.function.arguments.push(delta);
        }
        merge(Some(&mut call.metadata), metadata);
        Ok(())
    }

    fn add_result(&mut self, event: &ToolCallResult<'_>) {
        self.calls.answer(&event.tool_call_id);
        let ToolCallResult { message_id, tool_call_id, content, subagent_run_id, metadata, .. } =
            event.clone().into_owned();
        let mut message = ToolMessage::new(message_id, tool_call_id, content);
        message.subagent_run_id = subagent_run_id;
        message.metadata = metadata;
        self.messages.push_result(&event.tool_call_id, message.into(), self.revision);
    }

    fn take_activity(&mut self, event: &ActivitySnapshot<'_>) {
        let replaces = event.replace != Some(false);
        let earlier = match self.messages.get(&event.message_id) {
            Some(_) if !replaces => {
                if let Some(Message::Activity(activity)) =
                    self.messages.get_mut(&event.message_id, self.revision)
                {
                    merge(Some(&mut activity.metadata), event.metadata.as_ref());
                }
                return;
            }
            Some(Message::Activity(activity)) => activity.metadata.clone(),
            _ => None,
        };
        let ActivitySnapshot { message_id, activity_type, content, subagent_run_id, .. } =
            event.clone().into_owned();
        let mut activity = ActivityMessage::new(message_id, activity_type, content);
        activity.subagent_run_id = subagent_run_id;
        activity.metadata = Metadata::merge(earlier.as_ref(), event.metadata.as_ref());
        self.messages.replace(activity.into(), self.revision);
    }

    fn encrypt(&mut self, event: &ReasoningEncryptedValue<'_>) {
        let value = Some(event.encrypted_value.clone().into_owned());
        match event.subtype {
            EncryptedSubtype::ToolCall => {
                if let Some(call) = self.messages.call_mut(&event.entity_id, self.revision) {
                    call.encrypted_value = value;
                }
            }
            EncryptedSubtype::Message => match self.messages.get_mut(&event.entity_id, self.revision) {
                Some(Message::Developer(message)) => message.encrypted_value = value,
                Some(Message::System(message)) => message.encrypted_value = value,
                Some(Message::Assistant(message)) => message.encrypted_value = value,
                Some(Message::User(message)) => message.encrypted_value = value,
                Some(Message::Tool(message)) => message.encrypted_value = value,
                Some(Message::Reasoning(message)) => message.encrypted_value = value,
                Some(Message::Activity(_) | Message::Unknown(_)) | None => {}
            },
            EncryptedSubtype::Unknown(_) => {}
        }
    }

    fn start_run(&mut self, event: &RunStarted<'_>) {
        self.runs.push(RunSummary::started(event));
        self.calls = Calls::default();
        for message in event.input.iter().flat_map(|input| &input.messages) {
            if message.id().is_some_and(|id| !self.messages.contains(id)) {
                self.messages.push(message.clone().into_owned(), self.revision);
            }
        }
    }

    fn finish_run(&mut self, event: &RunFinished<'_>) {
        self.interrupts.clear();
        let mut pending = Vec::new();
        match &event.outcome {
            Some(RunOutcome::Interrupt(outcome)) => {
                let interrupts = outcome.interrupts.as_slice().iter();
                self.interrupts.extend(interrupts.map(|interrupt| interrupt.clone().into_owned()));
            }
            Some(RunOutcome::Cancelled(_)) => {}
            Some(RunOutcome::Success(outcome)) => {
                pending
                    .extend(outcome.pending_tool_call_ids.iter().flatten().map(|id| id.clone().into_owned()));
                if pending.is_empty() {
                    pending = self.calls.pending();
                }
            }
            Some(RunOutcome::Unknown(_)) | None => pending = self.calls.pending(),
        }
        self.current_run().finish(event, pending);
    }

    /// The run that goes on, or the last one; one without a name if there was none.
    fn current_run(&mut self) -> &mut RunSummary<'static> {
        if self.runs.is_empty() {
            self.runs.push(RunSummary::new(RunStatus::Running, Vec::new(), Vec::new()));
        }
        self.runs.last_mut().expect("there is one now")
    }
}

impl State {
    /// The state as something to be changed, unless it nests too deep.
    fn document(&mut self) -> Option<&mut Document> {
        if let Self::Text(json) = self {
            *self = Self::Document(Document::parse(json).ok()?);
        }
        match self {
            Self::Document(document) => Some(document),
            Self::Text(_) => None,
        }
    }
}

impl Calls {
    fn start(&mut self, id: &Text<'_>) {
        let id = id.clone().into_owned();
        let call = self.known.entry(id.clone()).or_default();
        if !std::mem::replace(&mut call.started, true) {
            self.started.push(id);
        }
    }

    fn answer(&mut self, id: &Text<'_>) {
        self.known.entry(id.clone().into_owned()).or_default().answered = true;
    }

    fn pending(&self) -> Vec<Text<'static>> {
        self.started.iter().filter(|id| !self.known[id.wtf8()].answered).cloned().collect()
    }
}

/// Appends to the text of a message. Parts make way for text, as they do with the reference.
fn append(message: &mut Message<'static>, delta: &Text<'_>) {
    let content = match message {
        Message::Developer(message) => &mut message.content,
        Message::System(message) => &mut message.content,
        Message::Reasoning(message) => &mut message.content,
        Message::Assistant(message) => message.content.get_or_insert_default(),
        Message::User(message) => return append_content(&mut message.content, delta),
        Message::Tool(message) => return append_content(&mut message.content, delta),
        Message::Activity(_) | Message::Unknown(_) => return,
    };
    content.push(delta);
}

fn append_content(content: &mut Content<'static>, delta: &Text<'_>) {
    match content {
        Content::Text(text) => text.push(delta),
        Content::Parts(_) => *content = Content::Text(delta.clone().into_owned()),
    }
}

fn metadata_of<'m>(message: &'m mut Message<'static>) -> Option<&'m mut Option<Metadata<'static>>> {
    match message {
        Message::Developer(message) => Some(&mut message.metadata),
        Message::System(message) => Some(&mut message.metadata),
        Message::Assistant(message) => Some(&mut message.metadata),
        Message::User(message) => Some(&mut message.metadata),
        Message::Tool(message) => Some(&mut message.metadata),
        Message::Activity(message) => Some(&mut message.metadata),
        Message::Reasoning(message) => Some(&mut message.metadata),
        Message::Unknown(_) => None,
    }
}

fn merge(target: Option<&mut Option<Metadata<'static>>>, later: Option<&Metadata<'_>>) {
    if let (Some(target), Some(later)) = (target, later) {
        *target = Metadata::merge(target.as_ref(), Some(later));
    }
}
