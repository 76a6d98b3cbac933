//! Subagents inside a run.

use super::event;
use crate::json::{JsonNonNull, Text};
use crate::run::SubagentOutcome;

event! {
    /// A subagent begins.
    pub struct SubagentStarted = "SUBAGENT_STARTED" {
        /// Names this invocation in its run.
        required subagent_run_id: Text<'a> = "subagentRunId";
        /// The subagent.
        required name: Text<'a> = "name";
        /// What it is for.
        optional description with_description: Text<'a> = "description";
        /// The subagent that called it.
        optional parent_subagent_run_id with_parent_subagent_run_id: Text<'a> = "parentSubagentRunId";
        /// The tool call that called it.
        optional parent_tool_call_id with_parent_tool_call_id: Text<'a> = "parentToolCallId";
        /// The message that called it.
        optional parent_message_id with_parent_message_id: Text<'a> = "parentMessageId";
    }
}

event! {
    /// A subagent is done or waits.
    pub struct SubagentFinished = "SUBAGENT_FINISHED" {
        /// The invocation.
        required subagent_run_id: Text<'a> = "subagentRunId";
        /// What it returned.
        optional result with_result: JsonNonNull<'a> = "result";
        /// How it ended; absent means success.
        optional outcome with_outcome: SubagentOutcome<'a> = "outcome";
    }
}

event! {
    /// A subagent failed. The run goes on.
    pub struct SubagentError = "SUBAGENT_ERROR" {
        /// The invocation.
        required subagent_run_id: Text<'a> = "subagentRunId";
        /// What went wrong.
        required message: Text<'a> = "message";
        /// The same for programs. Any word.
        optional code with_code: Text<'a> = "code";
    }
}
