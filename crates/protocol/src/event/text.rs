//! Text messages, piece by piece.

use super::event;
use crate::json::Text;
use crate::schema::tokens;

tokens! {
    /// Who speaks in a streamed text message.
    pub enum TextRole {
        /// The developer of the application.
        Developer = "developer",
        /// The system.
        System = "system",
        /// The agent.
        Assistant = "assistant",
        /// The user.
        User = "user",
    }
}

event! {
    /// A text message begins, or is continued.
    pub struct TextMessageStart = "TEXT_MESSAGE_START", attributed {
        /// Names the message in its thread.
        required message_id: Text<'a> = "messageId";
        /// Who speaks; absent means the agent.
        optional role with_role: TextRole<'a> = "role";
        /// The speaker's name.
        optional name with_name: Text<'a> = "name";
    }
}

event! {
    /// A piece of a text message.
    pub struct TextMessageContent = "TEXT_MESSAGE_CONTENT", attributed {
        /// The message.
        required message_id: Text<'a> = "messageId";
        /// The piece; may be empty.
        required delta: Text<'a> = "delta";
    }
}

event! {
    /// A text message is complete.
    pub struct TextMessageEnd = "TEXT_MESSAGE_END", attributed {
        /// The message.
        required message_id: Text<'a> = "messageId";
    }
}

event! {
    /// Start, content and end in one, for producers that do not know where messages begin.
    pub struct TextMessageChunk = "TEXT_MESSAGE_CHUNK", attributed {
        /// The message; absent means the one before.
        optional message_id with_message_id: Text<'a> = "messageId";
        /// Who speaks.
        optional role with_role: TextRole<'a> = "role";
        /// The piece.
        optional delta with_delta: Text<'a> = "delta";
        /// The speaker's name.
        optional name with_name: Text<'a> = "name";
    }
}
