//! Text messages.

use super::guard::Guard;
use super::{RunWriter, ToolCallWriter};
use crate::error::WriteError;
use crate::ledger::Kind;
use std::borrow::Cow;
use threadline_protocol::event::{TextMessageContent, TextMessageEnd, TextMessageStart, ToolCallStart};

/// A text message that is being written. It ends when it is dropped.
#[derive(Debug)]
pub struct TextMessage {
    guard: Guard,
}

impl TextMessage {
    pub(super) async fn start(
        writer: &RunWriter,
        start: impl FnOnce(threadline_protocol::Text<'static>) -> TextMessageStart<'static> + Send,
    ) -> Result<Self, WriteError> {
        let id = writer
            .write(|turn| {
                let mut start = start(turn.mint());
                start.subagent_run_id = writer.lane();
                let id = start.message_id.clone();
                turn.emit(start).map(|()| id)
            })
            .await?;
        Ok(Self { guard: Guard::new(writer.clone(), Kind::Text, id) })
    }

    /// What names the message in its thread.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        self.guard.id.to_str()
    }

    /// Writes a piece. An empty one is left out.
    ///
    /// # Errors
    /// If the run is cancelled or the piece is too large.
    pub async fn push(&mut self, piece: &str) -> Result<(), WriteError> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut content = TextMessageContent::new(self.guard.id.clone(), piece.to_owned());
        content.subagent_run_id = self.guard.writer.lane();
        self.guard.write(content).await
    }

    /// Calls a tool from this message.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn tool_call(&self, tool: &str) -> Result<ToolCallWriter, WriteError> {
        let (tool, message) = (tool.to_owned(), self.guard.id.clone());
        ToolCallWriter::start(&self.guard.writer, |id| {
            ToolCallStart::new(id, tool).with_parent_message_id(message)
        })
        .await
    }

    /// Ends the message.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn end(mut self) -> Result<(), WriteError> {
        let mut end = TextMessageEnd::new(self.guard.id.clone());
        end.subagent_run_id = self.guard.writer.lane();
        self.guard.end(end).await
    }
}
