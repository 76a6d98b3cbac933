//! The start of something whose start is missing.

use crate::event::{
    Event, ReasoningEnd, ReasoningMessageContent, ReasoningMessageEnd, ReasoningMessageStart, ReasoningStart,
    TextMessageContent, TextMessageEnd, TextMessageStart, ToolCallArgs, ToolCallEnd, ToolCallStart,
};

/// The start that an event presupposes, of the same thing and the same owner. A call has no name yet.
pub(crate) fn missing_start<'a>(event: &Event<'a>) -> Option<Event<'a>> {
    Some(match event {
        Event::TextMessageContent(TextMessageContent { message_id: id, subagent_run_id: tag, .. })
        | Event::TextMessageEnd(TextMessageEnd { message_id: id, subagent_run_id: tag, .. }) => {
            let mut start = TextMessageStart::new(id.clone());
            start.subagent_run_id.clone_from(tag);
            start.into()
        }
        Event::ToolCallArgs(ToolCallArgs { tool_call_id: id, subagent_run_id: tag, .. })
        | Event::ToolCallEnd(ToolCallEnd { tool_call_id: id, subagent_run_id: tag, .. }) => {
            let mut start = ToolCallStart::new(id.clone(), "");
            start.subagent_run_id.clone_from(tag);
            start.into()
        }
        Event::ReasoningMessageContent(ReasoningMessageContent {
            message_id: id,
            subagent_run_id: tag,
            ..
        })
        | Event::ReasoningMessageEnd(ReasoningMessageEnd { message_id: id, subagent_run_id: tag, .. }) => {
            let mut start = ReasoningMessageStart::new(id.clone());
            start.subagent_run_id.clone_from(tag);
            start.into()
        }
        Event::ReasoningEnd(ReasoningEnd { message_id: id, subagent_run_id: tag, .. }) => {
            let mut start = ReasoningStart::new(id.clone());
            start.subagent_run_id.clone_from(tag);
            start.into()
        }
        _ => return None,
    })
}
