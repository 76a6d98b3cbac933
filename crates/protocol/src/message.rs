//! Messages, by role.

use crate::content::Content;
use crate::json::{JsonObject, Text};
use crate::metadata::Metadata;
use crate::schema::{object, tokens, union};

union! {
    /// A message of a thread.
    pub enum Message, tag "role" {
        /// From the developer of the application.
        Developer(DeveloperMessage) = "developer",
        /// From the system.
        System(SystemMessage) = "system",
        /// From the agent.
        Assistant(AssistantMessage) = "assistant",
        /// From the user.
        User(UserMessage) = "user",
        /// The result of a tool.
        Tool(ToolMessage) = "tool",
        /// Something that goes on, shown to the user and never sent to the agent.
        Activity(ActivityMessage) = "activity",
        /// What the agent thought.
        Reasoning(ReasoningMessage) = "reasoning",
    }
}

impl<'a> Message<'a> {
    /// What names the message in its thread, if its role is known.
    #[must_use]
    pub const fn id(&self) -> Option<&Text<'a>> {
        match self {
            Self::Developer(message) => Some(&message.id),
            Self::System(message) => Some(&message.id),
            Self::Assistant(message) => Some(&message.id),
            Self::User(message) => Some(&message.id),
            Self::Tool(message) => Some(&message.id),
            Self::Activity(message) => Some(&message.id),
            Self::Reasoning(message) => Some(&message.id),
            Self::Unknown(_) => None,
        }
    }

    /// Where it says whose it is, if its role is known.
    pub(crate) const fn tag_mut(&mut self) -> Option<&mut Option<Text<'a>>> {
        match self {
            Self::Developer(message) => Some(&mut message.subagent_run_id),
            Self::System(message) => Some(&mut message.subagent_run_id),
            Self::Assistant(message) => Some(&mut message.subagent_run_id),
            Self::User(message) => Some(&mut message.subagent_run_id),
            Self::Tool(message) => Some(&mut message.subagent_run_id),
            Self::Activity(message) => Some(&mut message.subagent_run_id),
            Self::Reasoning(message) => Some(&mut message.subagent_run_id),
            Self::Unknown(_) => None,
        }
    }
}

object! {
    /// A message from the developer of the application.
    pub struct DeveloperMessage, tag "role" = "developer" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// What it says.
        required content: Text<'a> = "content";
        /// Who says it.
        optional name with_name: Text<'a> = "name";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// A message from the system.
    pub struct SystemMessage, tag "role" = "system" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// What it says.
        required content: Text<'a> = "content";
        /// Who says it.
        optional name with_name: Text<'a> = "name";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// A message from the agent.
    pub struct AssistantMessage, tag "role" = "assistant" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// What it says.
        optional content with_content: Text<'a> = "content";
        /// The tools it calls.
        optional tool_calls with_tool_calls: Vec<ToolCall<'a>> = "toolCalls";
        /// Who says it.
        optional name with_name: Text<'a> = "name";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// A message from the user.
    pub struct UserMessage, tag "role" = "user" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// What it says.
        required content: Content<'a> = "content";
        /// Who says it.
        optional name with_name: Text<'a> = "name";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// The result of a tool call.
    pub struct ToolMessage, tag "role" = "tool" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// The call it answers.
        required tool_call_id: Text<'a> = "toolCallId";
        /// What the tool returned.
        required content: Content<'a> = "content";
        /// What went wrong, beside the content.
        optional error with_error: Text<'a> = "error";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// Something that goes on. Shown to the user, never sent to the agent.
    pub struct ActivityMessage, tag "role" = "activity" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// Says what the content is. Any word.
        required activity_type: Text<'a> = "activityType";
        /// What there is to show.
        required content: JsonObject<'a> = "content";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// What the agent thought.
    pub struct ReasoningMessage, tag "role" = "reasoning" {
        /// Names the message in its thread.
        required id: Text<'a> = "id";
        /// The thought.
        required content: Text<'a> = "content";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the message.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent it belongs to; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

object! {
    /// A call of a tool. It belongs to whom its message belongs to.
    pub struct ToolCall {
        /// Names the call in its thread.
        required id: Text<'a> = "id";
        /// Always a function.
        fixed kind: ToolCallKind<'a> = "type" or ToolCallKind::Function;
        /// What is called.
        required function: FunctionCall<'a> = "function";
        /// Opaque to everyone but the provider.
        optional encrypted_value with_encrypted_value: Text<'a> = "encryptedValue";
        /// Anything about the call.
        optional metadata with_metadata: Metadata<'a> = "metadata";
    }
}

tokens! {
    /// What a tool call calls.
    pub enum ToolCallKind {
        /// A function.
        Function = "function",
    }
}

object! {
    /// A function and what it is called with.
    pub struct FunctionCall {
        /// The function.
        required name: Text<'a> = "name";
        /// Opaque text, JSON by convention.
        required arguments: Text<'a> = "arguments";
    }
}
