//! How the runs of a stream went.

use crate::event::{RunError, RunFinished, RunStarted};
use crate::json::{Count, Text};
use crate::run::{RunOutcome, TokenUsage};
use crate::schema::{object, tokens};
use std::collections::HashMap;

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

/// Sums up what models were given and gave, by provider and model, in the order they first appear. A count that no
/// entry has stays absent.
pub(super) fn total_usage<'r>(
    runs: impl Iterator<Item = &'r RunSummary<'static>>,
) -> Vec<TokenUsage<'static>> {
    let mut totals: Vec<TokenUsage<'static>> = Vec::new();
    let mut places = HashMap::new();
    for usage in runs.flat_map(|run| &run.usage) {
        let key = (usage.provider.clone(), usage.model.clone());
        let at = *places.entry(key).or_insert_with(|| {
            let mut total = TokenUsage::new();
            total.provider = usage.provider.clone();
            total.model = usage.model.clone();
            totals.push(total);
            totals.len() - 1
        });
        let total = &mut totals[at];
        add(&mut total.input_tokens, usage.input_tokens);
        add(&mut total.output_tokens, usage.output_tokens);
        add(&mut total.total_tokens, usage.total_tokens);
        add(&mut total.reasoning_tokens, usage.reasoning_tokens);
        add(&mut total.cached_input_tokens, usage.cached_input_tokens);
        add(&mut total.cache_write_input_tokens, usage.cache_write_input_tokens);
    }
    totals
}

/// Adds a count, at most to the largest that the protocol can carry.
fn add(total: &mut Option<Count>, count: Option<Count>) {
    if let Some(count) = count {
        *total = Some(total.map_or(count, |total| total.saturating_add(count)));
    }
}
