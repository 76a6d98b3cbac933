//! What the agent thinks.

use super::RunWriter;
use super::guard::Guard;
use crate::error::WriteError;
use crate::ledger::Kind;
use std::borrow::Cow;
use threadline_protocol::event::{
    EncryptedSubtype, ReasoningEncryptedValue, ReasoningEnd, ReasoningMessageContent, ReasoningMessageEnd,
    ReasoningMessageStart, ReasoningStart,
};

/// A thought that is being written. It ends when it is dropped.
#[derive(Debug)]
pub struct Reasoning {
    /// Dropped before the span that it is in.
    thought: Guard,
    span: Guard,
}

impl Reasoning {
    pub(super) async fn start(writer: &RunWriter) -> Result<Self, WriteError> {
        let (span, thought) = writer
            .write(|turn| {
                let id = turn.mint();
                let mut start = ReasoningStart::new(id.clone());
                start.subagent_run_id = writer.lane();
                turn.emit(start)?;
                // From here on the span is ended, whatever happens.
                let span = Guard::new(writer.clone(), Kind::Span, id.clone());
                let mut start = ReasoningMessageStart::new(id.clone());
                start.subagent_run_id = writer.lane();
                Ok((span, turn.emit(start).map(|()| Guard::new(writer.clone(), Kind::Thought, id))))
            })
            .await?;
        Ok(Self { thought: thought?, span })
    }

    /// What names the thought in its thread.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        self.thought.id.to_str()
    }

    /// Writes a piece. An empty one is left out.
    ///
    /// # Errors
    /// If the run is cancelled or the piece is too large.
    pub async fn push(&mut self, piece: &str) -> Result<(), WriteError> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut content = ReasoningMessageContent::new(self.thought.id.clone(), piece.to_owned());
        content.subagent_run_id = self.thought.writer.lane();
        self.thought.write(content).await
    }

    /// Attaches what only the model's provider can read.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn encrypted_value(&mut self, value: &str) -> Result<(), WriteError> {
        let id = self.thought.id.clone();
        let mut event = ReasoningEncryptedValue::new(EncryptedSubtype::Message, id, value.to_owned());
        event.subagent_run_id = self.thought.writer.lane();
        self.thought.write(event).await
    }

    /// Ends the thought.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn end(mut self) -> Result<(), WriteError> {
        let lane = self.span.writer.lane();
        let mut end = ReasoningMessageEnd::new(self.thought.id.clone());
        end.subagent_run_id.clone_from(&lane);
        self.thought.end(end).await?;
        let mut end = ReasoningEnd::new(self.span.id.clone());
        end.subagent_run_id = lane;
        self.span.end(end).await
    }
}
