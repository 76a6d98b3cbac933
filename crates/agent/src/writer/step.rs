//! Steps of a run.

use super::RunWriter;
use super::guard::Guard;
use crate::error::WriteError;
use crate::ledger::Kind;
use threadline_protocol::event::{StepFinished, StepStarted};

/// A step that goes on. It is finished when it is dropped.
#[derive(Debug)]
pub struct Step {
    guard: Guard,
}

impl Step {
    pub(super) async fn start(writer: &RunWriter, name: &str) -> Result<Self, WriteError> {
        let mut start = StepStarted::new(name.to_owned());
        start.subagent_run_id = writer.lane();
        let name = start.step_name.clone();
        writer.write(|turn| turn.emit(start)).await?;
        Ok(Self { guard: Guard::new(writer.clone(), Kind::Step, name) })
    }

    /// Finishes the step.
    ///
    /// # Errors
    /// If the run is cancelled.
    pub async fn finish(mut self) -> Result<(), WriteError> {
        let mut end = StepFinished::new(self.guard.id.clone());
        end.subagent_run_id = self.guard.writer.lane();
        self.guard.end(end).await
    }
}
