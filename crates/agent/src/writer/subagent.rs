//! Subagents inside a run.

use super::RunWriter;
use super::guard::Guard;
use crate::error::WriteError;
use crate::ledger::Kind;
use crate::state::to_json;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Deref;
use threadline_protocol::Text;
use threadline_protocol::event::{SubagentError, SubagentFinished, SubagentStarted};
use threadline_protocol::json::JsonNonNull;
use threadline_protocol::run::{Interrupt, SubagentOutcome, SubagentSuspended};

/// A subagent: a [`RunWriter`] whose events are the subagent's. Whatever it has open ends with it.
///
/// One that is dropped has finished, or failed if the run fails.
#[derive(Debug)]
pub struct Subagent {
    guard: Guard,
    writer: RunWriter,
}

impl Deref for Subagent {
    type Target = RunWriter;

    fn deref(&self) -> &RunWriter {
        &self.writer
    }
}

impl Subagent {
    pub(super) async fn start(
        parent: &RunWriter,
        start: impl FnOnce(Text<'static>) -> SubagentStarted<'static> + Send,
    ) -> Result<Self, WriteError> {
        let id = parent
            .write(|turn| {
                let mut start = start(turn.mint());
                start.parent_subagent_run_id = parent.lane();
                let id = start.subagent_run_id.clone();
                turn.emit(start).map(|()| id)
            })
            .await?;
        let writer = parent.of_subagent(id.clone());
        Ok(Self { guard: Guard::new(parent.clone(), Kind::Subagent, id), writer })
    }

    /// What names this invocation in its run.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        self.guard.id.to_str()
    }

    /// The subagent is done.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn finish(self) -> Result<(), WriteError> {
        let end = SubagentFinished::new(self.guard.id.clone());
        self.end(end).await
    }

    /// The subagent is done and has a result. One that is `null` is none.
    ///
    /// # Errors
    /// If the run is cancelled, or the result has no JSON or too much of it.
    pub async fn finish_with(self, result: &impl Serialize) -> Result<(), WriteError> {
        let mut end = SubagentFinished::new(self.guard.id.clone());
        end.result = JsonNonNull::try_from(to_json(result)?).ok();
        self.end(end).await
    }

    /// The subagent has failed; the run goes on.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn fail(self, message: &str) -> Result<(), WriteError> {
        let end = SubagentError::new(self.guard.id.clone(), message.to_owned());
        self.end(end).await
    }

    /// The subagent waits for answers. What it asks is to be given to [`Finish`](crate::Finish), as the subagent's.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn suspend(
        self,
        interrupts: Vec<Interrupt<'static>>,
    ) -> Result<Vec<Interrupt<'static>>, WriteError> {
        let ids: Vec<Text<'static>> = interrupts.iter().map(|interrupt| interrupt.id.clone()).collect();
        let subagent = self.guard.id.clone();
        let outcome = SubagentOutcome::from(SubagentSuspended::new().with_interrupt_ids(ids));
        self.end(SubagentFinished::new(subagent.clone()).with_outcome(outcome)).await?;
        let tagged = |interrupt: Interrupt<'static>| interrupt.with_subagent_run_id(subagent.clone());
        Ok(interrupts.into_iter().map(tagged).collect())
    }

    async fn end(
        mut self,
        end: impl Into<threadline_protocol::Event<'static>> + Send,
    ) -> Result<(), WriteError> {
        let id = self.guard.id.clone();
        let end = end.into();
        self.writer
            .write(|turn| {
                turn.close_within(&id);
                turn.emit(end)
            })
            .await?;
        self.guard.set_ended();
        Ok(())
    }
}
