//! How the runs of a stream went.

use crate::event::{RunError, RunFinished, RunStarted};
use crate::json::Text;
use crate::run::{RunOutcome, TokenUsage};
use crate::schema::{object, tokens};

object! {
    /// How a run went.
    pub struct RunSummary {
        /// The thread. Absent if the stream never said.
        optional thread_id with_thread_id: Text<'a> = "threadId";
        /// The run. Absent if the stream never said.
        optional run_id with_run_id: Text<'a> = "runId";
        /// The run that it descends from.
        optional parent_run_id with_parent_run_id: Text<'a> = "parentRunId";
        /// The version that its producer spoke; absent means before 1.0.
        optional protocol_version with_protocol_version: Text<'a> = "protocolVersion";
        /// How it ended, if it did.
        required status: RunStatus<'a> = "status";
        /// What went wrong, if it failed.
        optional message with_message: Text<'a> = "message";
        /// The same for programs.
        optional code with_code: Text<'a> = "code";
        /// Calls without a result, if it succeeded.
        required pending_tool_calls: Vec<Text<'a>> = "pendingToolCalls";
        /// What models were given and gave.
        required usage: Vec<TokenUsage<'a>> = "usage";
    }
}

tokens! {
    /// How a run ended, if it did.
    pub enum RunStatus {
        /// It goes on.
        Running = "running",
        /// It is done.
        Success = "success",
        /// It waits for answers.
        Interrupted = "interrupted",
        /// It was stopped on purpose.
        Cancelled = "cancelled",
        /// It failed.
        Failed = "failed",
    }
}

impl RunSummary<'static> {
    pub(super) fn started(event: &RunStarted<'_>) -> Self {
        let mut run = Self::new(RunStatus::Running, Vec::new(), Vec::new());
        run.thread_id = Some(event.thread_id.clone().into_owned());
        run.run_id = Some(event.run_id.clone().into_owned());
        run.parent_run_id = event.parent_run_id.clone().map(Text::into_owned);
        run.protocol_version = event.protocol_version.clone().map(Text::into_owned);
        run
    }

    pub(super) fn finish(&mut self, event: &RunFinished<'_>, pending: Vec<Text<'static>>) {
        self.status = match &event.outcome {
            Some(RunOutcome::Interrupt(_)) => RunStatus::Interrupted,
            Some(RunOutcome::Cancelled(_)) => RunStatus::Cancelled,
            // What is unknown reads as success, as what is absent does.
            Some(RunOutcome::Success(_) | RunOutcome::Unknown(_)) | None => RunStatus::Success,
        };
        self.pending_tool_calls = pending;
        self.add_usage(event.usage.as_deref());
    }

    pub(super) fn fail(&mut self, event: &RunError<'_>) {
        self.status = RunStatus::Failed;
        self.message = Some(event.message.clone().into_owned());
        self.code = event.code.clone().map(Text::into_owned);
        self.pending_tool_calls.clear();
        self.add_usage(event.usage.as_deref());
    }

    fn add_usage(&mut self, usage: Option<&[TokenUsage<'_>]>) {
        self.usage.extend(usage.into_iter().flatten().map(|usage| usage.clone().into_owned()));
    }
}
