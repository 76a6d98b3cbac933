//! Tool calls, piece by piece, and their results.

use super::event;
use crate::content::Content;
use crate::json::Text;
use crate::schema::tokens;

event! {
    /// A tool call begins, or is continued.
    pub struct ToolCallStart = "TOOL_CALL_START", attributed {
        /// Names the call in its thread.
        required tool_call_id: Text<'a> = "toolCallId";
        /// The tool.
        required tool_call_name: Text<'a> = "toolCallName";
        /// The message that calls.
        optional parent_message_id with_parent_message_id: Text<'a> = "parentMessageId";
    }
}

event! {
    /// A piece of a tool call's arguments.
    pub struct ToolCallArgs = "TOOL_CALL_ARGS", attributed {
        /// The call.
        required tool_call_id: Text<'a> = "toolCallId";
        /// The piece; may be empty.
        required delta: Text<'a> = "delta";
    }
}

event! {
    /// A tool call's arguments are complete.
    pub struct ToolCallEnd = "TOOL_CALL_END", attributed {
        /// The call.
        required tool_call_id: Text<'a> = "toolCallId";
    }
}

event! {
    /// Start, arguments and end in one, for producers that do not know where calls begin.
    pub struct ToolCallChunk = "TOOL_CALL_CHUNK", attributed {
        /// The call; absent means the one before.
        optional tool_call_id with_tool_call_id: Text<'a> = "toolCallId";
        /// The tool.
        optional tool_call_name with_tool_call_name: Text<'a> = "toolCallName";
        /// The message that calls.
        optional parent_message_id with_parent_message_id: Text<'a> = "parentMessageId";
        /// The piece.
        optional delta with_delta: Text<'a> = "delta";
    }
}

event! {
    /// What a tool returned. Makes a message of its own.
    pub struct ToolCallResult = "TOOL_CALL_RESULT", attributed {
        /// Names the new message in its thread.
        required message_id: Text<'a> = "messageId";
        /// The call.
        required tool_call_id: Text<'a> = "toolCallId";
        /// What was returned.
        required content: Content<'a> = "content";
        /// Always the tool.
        optional role with_role: ToolRole<'a> = "role";
    }
}

tokens! {
    /// Who speaks in the result of a tool.
    pub enum ToolRole {
        /// The tool.
        Tool = "tool",
    }
}
