//! Runs and their steps.

use super::event;
use crate::json::{JsonNonNull, Text};
use crate::run::{RunAgentInput, RunOutcome, TokenUsage};

event! {
    /// A run begins.
    pub struct RunStarted = "RUN_STARTED" {
        /// The thread.
        required thread_id: Text<'a> = "threadId";
        /// The run.
        required run_id: Text<'a> = "runId";
        /// The version that the producer speaks; absent means before 1.0.
        optional protocol_version with_protocol_version: Text<'a> = "protocolVersion";
        /// The run that this one descends from.
        optional parent_run_id with_parent_run_id: Text<'a> = "parentRunId";
        /// The request.
        optional input with_input: Box<RunAgentInput<'a>> = "input";
    }
}

impl RunStarted<'_> {
    /// The start without the messages of its request, for a stream that has them elsewhere.
    pub(crate) fn without_messages(mut self) -> Self {
        if let Some(input) = &mut self.input {
            input.messages.clear();
        }
        self
    }
}

event! {
    /// A run ended well, was interrupted or was cancelled.
    pub struct RunFinished = "RUN_FINISHED" {
        /// The thread.
        required thread_id: Text<'a> = "threadId";
        /// The run.
        required run_id: Text<'a> = "runId";
        /// What the run returned.
        optional result with_result: JsonNonNull<'a> = "result";
        /// How it ended; absent means success.
        optional outcome with_outcome: RunOutcome<'a> = "outcome";
        /// What models were given and gave.
        optional usage with_usage: Vec<TokenUsage<'a>> = "usage";
    }
}

event! {
    /// A run failed. It does not say which: the one that is going on.
    pub struct RunError = "RUN_ERROR" {
        /// What went wrong.
        required message: Text<'a> = "message";
        /// The same for programs. Any word.
        optional code with_code: Text<'a> = "code";
        /// What models were given and gave.
        optional usage with_usage: Vec<TokenUsage<'a>> = "usage";
    }
}

event! {
    /// A step of a run begins.
    pub struct StepStarted = "STEP_STARTED", attributed {
        /// The step.
        required step_name: Text<'a> = "stepName";
    }
}

event! {
    /// A step of a run is done.
    pub struct StepFinished = "STEP_FINISHED", attributed {
        /// The step.
        required step_name: Text<'a> = "stepName";
    }
}
