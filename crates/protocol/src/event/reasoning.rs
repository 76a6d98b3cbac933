//! What an agent thinks, piece by piece.

use super::event;
use crate::json::Text;
use crate::schema::tokens;

event! {
    /// A span of reasoning begins. Spans and reasoning messages have separate ids, which may coincide.
    pub struct ReasoningStart = "REASONING_START", attributed {
        /// Names the span.
        required message_id: Text<'a> = "messageId";
    }
}

event! {
    /// A reasoning message begins, or is continued.
    pub struct ReasoningMessageStart = "REASONING_MESSAGE_START", attributed {
        /// Names the message in its thread.
        required message_id: Text<'a> = "messageId";
        /// Always reasoning.
        fixed role: ReasoningRole<'a> = "role" or ReasoningRole::Reasoning;
    }
}

tokens! {
    /// Who speaks in a reasoning message.
    pub enum ReasoningRole {
        /// The agent, to itself.
        Reasoning = "reasoning",
    }
}

event! {
    /// A piece of a reasoning message.
    pub struct ReasoningMessageContent = "REASONING_MESSAGE_CONTENT", attributed {
        /// The message.
        required message_id: Text<'a> = "messageId";
        /// The piece; may be empty.
        required delta: Text<'a> = "delta";
    }
}

event! {
    /// A reasoning message is complete.
    pub struct ReasoningMessageEnd = "REASONING_MESSAGE_END", attributed {
        /// The message.
        required message_id: Text<'a> = "messageId";
    }
}

event! {
    /// Start, content and end in one, for producers that do not know where messages begin.
    pub struct ReasoningMessageChunk = "REASONING_MESSAGE_CHUNK", attributed {
        /// The message; absent means the one before.
        optional message_id with_message_id: Text<'a> = "messageId";
        /// The piece.
        optional delta with_delta: Text<'a> = "delta";
    }
}

event! {
    /// A span of reasoning is complete.
    pub struct ReasoningEnd = "REASONING_END", attributed {
        /// The span.
        required message_id: Text<'a> = "messageId";
    }
}

event! {
    /// A value that only the provider can read, for a message or a call.
    pub struct ReasoningEncryptedValue = "REASONING_ENCRYPTED_VALUE", attributed {
        /// What it is for.
        required subtype: EncryptedSubtype<'a> = "subtype";
        /// Which one.
        required entity_id: Text<'a> = "entityId";
        /// The value; to be returned as it is.
        required encrypted_value: Text<'a> = "encryptedValue";
    }
}

tokens! {
    /// What an encrypted value is for.
    pub enum EncryptedSubtype {
        /// A tool call.
        ToolCall = "tool-call",
        /// A message.
        Message = "message",
    }
}
