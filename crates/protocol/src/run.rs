//! What a run is asked, and how it ends.

use crate::json::{Count, Json, JsonNonNull, JsonObject, Reader, Text};
use crate::message::Message;
use crate::metadata::Metadata;
use crate::schema::{Context, Field, Flow, ReadError, Removals, object, tokens, union};
use std::collections::HashMap;
use thiserror::Error;

object! {
    /// The request of a run.
    pub struct RunAgentInput {
        /// The thread to run on.
        required thread_id: Text<'a> = "threadId";
        /// The new run.
        required run_id: Text<'a> = "runId";
        /// The version that the client speaks; absent means before 1.0.
        optional protocol_version with_protocol_version: Text<'a> = "protocolVersion";
        /// The run that this one descends from.
        optional parent_run_id with_parent_run_id: Text<'a> = "parentRunId";
        /// The state to begin with. `null` means absent, and absent means `{}`.
        nullable state with_state: JsonNonNull<'a> = "state";
        /// The whole history, as the client knows it.
        required messages: Vec<Message<'a>> = "messages";
        /// The tools that the client offers; absent means none.
        optional tools with_tools: Vec<Tool<'a>> = "tools";
        /// What the agent should know; absent means nothing.
        optional context with_context: Vec<ContextEntry<'a>> = "context";
        /// Anything for the agent.
        optional forwarded_props with_forwarded_props: JsonNonNull<'a> = "forwardedProps";
        /// Answers to interrupts.
        optional resume with_resume: Vec<ResumeEntry<'a>> = "resume";
    }
}

impl RunAgentInput<'_> {
    /// The state to begin with, which is `{}` if none is given.
    #[must_use]
    pub fn state_or_empty(&self) -> Json<'_> {
        self.state.as_ref().map_or(Json::EMPTY_OBJECT, |state| state.as_json().clone())
    }
}

object! {
    /// A tool that the client offers.
    pub struct Tool {
        /// The name it is called by.
        required name: Text<'a> = "name";
        /// What it does.
        required description: Text<'a> = "description";
        /// The schema of its arguments; carried as it is.
        optional parameters with_parameters: JsonNonNull<'a> = "parameters";
        /// Anything about the tool.
        optional metadata with_metadata: Metadata<'a> = "metadata";
    }
}

object! {
    /// Something the agent should know. `Context` in the protocol.
    pub struct ContextEntry {
        /// What it is.
        required description: Text<'a> = "description";
        /// The thing itself.
        required value: Text<'a> = "value";
    }
}

object! {
    /// The answer to an interrupt.
    pub struct ResumeEntry {
        /// The interrupt.
        required interrupt_id: Text<'a> = "interruptId";
        /// Whether it was answered.
        required status: ResumeStatus<'a> = "status";
        /// The answer.
        optional payload with_payload: JsonNonNull<'a> = "payload";
        /// Anything about the answer.
        optional metadata with_metadata: Metadata<'a> = "metadata";
    }
}

tokens! {
    /// Whether an interrupt was answered.
    pub enum ResumeStatus {
        /// It was.
        Resolved = "resolved",
        /// It was given up.
        Cancelled = "cancelled",
    }
}

union! {
    /// How a run that did not fail ended.
    pub enum RunOutcome, tag "type" {
        /// It is done.
        Success(RunSuccess) = "success",
        /// It waits for answers.
        Interrupt(RunInterrupt) = "interrupt",
        /// It was stopped on purpose.
        Cancelled(RunCancelled) = "cancelled",
    }
}

object! {
    /// The run is done.
    pub struct RunSuccess, tag "type" = "success" {
        /// The calls of this run without a result, in call order. Absent does not mean none.
        optional pending_tool_call_ids with_pending_tool_call_ids: Vec<Text<'a>> = "pendingToolCallIds";
    }
}

object! {
    /// The run waits for answers.
    pub struct RunInterrupt, tag "type" = "interrupt" {
        /// The questions.
        required interrupts: Interrupts<'a> = "interrupts";
    }
}

object! {
    /// The run was stopped on purpose.
    pub struct RunCancelled, tag "type" = "cancelled" {}
}

object! {
    /// A question that a run waits for.
    pub struct Interrupt {
        /// Names the interrupt in its run.
        required id: Text<'a> = "id";
        /// Why; `tool_call`, `input_required`, `confirmation`, or any other word.
        required reason: Text<'a> = "reason";
        /// The question.
        optional message with_message: Text<'a> = "message";
        /// The call that it is about.
        optional tool_call_id with_tool_call_id: Text<'a> = "toolCallId";
        /// The schema of the answer.
        optional response_schema with_response_schema: JsonObject<'a> = "responseSchema";
        /// Until when; ISO 8601 by convention.
        optional expires_at with_expires_at: Text<'a> = "expiresAt";
        /// Anything about the interrupt.
        optional metadata with_metadata: Metadata<'a> = "metadata";
        /// The subagent that asks; absent means the agent itself.
        optional subagent_run_id with_subagent_run_id: Text<'a> = "subagentRunId";
    }
}

/// At least one interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupts<'a>(Vec<Interrupt<'a>>);

/// An interrupt outcome without interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an interrupt outcome needs at least one interrupt")]
pub struct NoInterrupts;

impl<'a> Interrupts<'a> {
    /// All of them.
    #[must_use]
    pub fn as_slice(&self) -> &[Interrupt<'a>] {
        &self.0
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Interrupt<'a>> {
        self.0.iter_mut()
    }
}

impl<'a> From<Interrupt<'a>> for Interrupts<'a> {
    fn from(interrupt: Interrupt<'a>) -> Self {
        Self(vec![interrupt])
    }
}

impl<'a> TryFrom<Vec<Interrupt<'a>>> for Interrupts<'a> {
    type Error = NoInterrupts;

    fn try_from(interrupts: Vec<Interrupt<'a>>) -> Result<Self, NoInterrupts> {
        if interrupts.is_empty() { Err(NoInterrupts) } else { Ok(Self(interrupts)) }
    }
}

impl<'a> Field<'a> for Interrupts<'a> {
    type Owned = Interrupts<'static>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        reader.kind()?;
        let offset = reader.offset();
        let interrupts = Vec::read(reader, context)?;
        Self::try_from(interrupts)
            .map_err(|NoInterrupts| ReadError::mismatch("at least one interrupt", "none", offset))
    }

    fn write(&self, out: &mut String) {
        self.0.write(out);
    }

    fn strip(&mut self, removals: &mut Removals) -> Flow {
        self.0.strip(removals)
    }

    fn into_owned(self) -> Self::Owned {
        Interrupts(Field::into_owned(self.0))
    }
}

union! {
    /// How a subagent that did not fail ended.
    pub enum SubagentOutcome, tag "type" {
        /// It is done.
        Success(SubagentSuccess) = "success",
        /// It waits for answers.
        Suspended(SubagentSuspended) = "suspended",
    }
}

object! {
    /// The subagent is done.
    pub struct SubagentSuccess, tag "type" = "success" {}
}

object! {
    /// The subagent waits for answers.
    pub struct SubagentSuspended, tag "type" = "suspended" {
        /// The questions, which the run's outcome holds.
        optional interrupt_ids with_interrupt_ids: Vec<Text<'a>> = "interruptIds";
    }
}

object! {
    /// What a model was given and gave. Absent is not zero. Input and output are totals: cached and cache-write
    /// tokens are among the input, reasoning tokens among the output.
    pub struct TokenUsage {
        /// Who runs the model.
        optional provider with_provider: Text<'a> = "provider";
        /// The model.
        optional model with_model: Text<'a> = "model";
        /// All tokens given.
        optional input_tokens with_input_tokens: Count = "inputTokens";
        /// All tokens got.
        optional output_tokens with_output_tokens: Count = "outputTokens";
        /// Input and output.
        optional total_tokens with_total_tokens: Count = "totalTokens";
        /// Of the output, what was thought.
        optional reasoning_tokens with_reasoning_tokens: Count = "reasoningTokens";
        /// Of the input, what came from a cache.
        optional cached_input_tokens with_cached_input_tokens: Count = "cachedInputTokens";
        /// Of the input, what was put into a cache.
        optional cache_write_input_tokens with_cache_write_input_tokens: Count = "cacheWriteInputTokens";
    }
}

impl TokenUsage<'_> {
    /// Sums up what models were given and gave, by provider and model, in the order they first appear. A count that no
    /// entry has stays absent.
    #[must_use]
    pub fn totals<'u, 'a: 'u>(
        usages: impl IntoIterator<Item = &'u TokenUsage<'a>>,
    ) -> Vec<TokenUsage<'static>> {
        let mut totals: Vec<TokenUsage<'static>> = Vec::new();
        let mut places = HashMap::new();
        for usage in usages {
            let key = (usage.provider.clone(), usage.model.clone());
            let at = *places.entry(key).or_insert_with(|| {
                let mut total = TokenUsage::new();
                total.provider = usage.provider.clone().map(Text::into_owned);
                total.model = usage.model.clone().map(Text::into_owned);
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
}

/// Adds a count, at most to the largest that the protocol can carry.
fn add(total: &mut Option<Count>, count: Option<Count>) {
    if let Some(count) = count {
        *total = Some(total.map_or(count, |total| total.saturating_add(count)));
    }
}
