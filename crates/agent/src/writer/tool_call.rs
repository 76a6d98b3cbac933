//! Tool calls and their results.

use super::RunWriter;
use super::guard::Guard;
use crate::error::WriteError;
use crate::ledger::Kind;
use crate::state::to_json;
use serde::Serialize;
use std::borrow::Cow;
use threadline_protocol::Text;
use threadline_protocol::content::Content;
use threadline_protocol::event::{
    EncryptedSubtype, ReasoningEncryptedValue, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart,
};

/// A tool call whose arguments are being written.
///
/// One that is dropped before its [`end`](Self::end) is abandoned: it ends, and is answered by a result that says so, since
/// nobody must take half of the arguments for all of them.
#[derive(Debug)]
pub struct ToolCallWriter {
    guard: Guard,
}

impl ToolCallWriter {
    pub(super) async fn start(
        writer: &RunWriter,
        start: impl FnOnce(Text<'static>) -> ToolCallStart<'static> + Send,
    ) -> Result<Self, WriteError> {
        let id = writer
            .write(|turn| {
                let mut start = start(turn.mint());
                start.subagent_run_id = writer.lane();
                let id = start.tool_call_id.clone();
                turn.emit(start).map(|()| id)
            })
            .await?;
        Ok(Self { guard: Guard::new(writer.clone(), Kind::Call, id) })
    }

    /// What names the call in its thread.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        self.guard.id.to_str()
    }

    /// Writes a piece of the arguments, which are JSON when they are complete. An empty one is left out.
    ///
    /// # Errors
    /// If the run is cancelled or the piece is too large.
    pub async fn push(&mut self, piece: &str) -> Result<(), WriteError> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut args = ToolCallArgs::new(self.guard.id.clone(), piece.to_owned());
        args.subagent_run_id = self.guard.writer.lane();
        self.guard.write(args).await
    }

    /// Writes all arguments at once.
    ///
    /// # Errors
    /// If the run is cancelled, or the arguments have no JSON or too much of it.
    pub async fn arguments(&mut self, arguments: &impl Serialize) -> Result<(), WriteError> {
        let arguments = to_json(arguments)?;
        self.push(arguments.as_str()).await
    }

    /// Attaches what only the model's provider can read.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn encrypted_value(&mut self, value: &str) -> Result<(), WriteError> {
        let id = self.guard.id.clone();
        let mut event = ReasoningEncryptedValue::new(EncryptedSubtype::ToolCall, id, value.to_owned());
        event.subagent_run_id = self.guard.writer.lane();
        self.guard.write(event).await
    }

    /// The arguments are complete. The tool may be called, here or by the client.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn end(mut self) -> Result<PendingCall, WriteError> {
        let mut end = ToolCallEnd::new(self.guard.id.clone());
        end.subagent_run_id = self.guard.writer.lane();
        self.guard.end(end).await?;
        Ok(PendingCall { writer: self.guard.writer.clone(), id: self.guard.id.clone() })
    }
}

/// A tool call that waits for its result: given here by [`result`](Self::result), or, if this is dropped, by the client.
#[derive(Debug)]
pub struct PendingCall {
    writer: RunWriter,
    id: Text<'static>,
}

impl PendingCall {
    /// What names the call in its thread.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        self.id.to_str()
    }

    /// Writes what the tool returned: text, or parts.
    ///
    /// # Errors
    /// If the run is cancelled or the result is too large.
    pub async fn result(self, content: impl Into<Content<'static>> + Send) -> Result<(), WriteError> {
        result(&self.writer, self.id, content.into()).await
    }
}

/// Writes the result of a call.
pub(super) async fn result(
    writer: &RunWriter,
    call: Text<'static>,
    content: Content<'static>,
) -> Result<(), WriteError> {
    writer
        .write(|turn| {
            let mut result = ToolCallResult::new(turn.mint(), call, content);
            result.subagent_run_id = writer.lane();
            turn.emit(result)
        })
        .await
}
