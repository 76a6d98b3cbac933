//! Which field of the typed view is which field of the binary form, and what both are called in JSON.
//!
//! Encoding and decoding are both made from these tables: each is a macro that hands its rows to the macro it is
//! given. Rows are in the order of the JSON writer. A list that is a `list` is written even if it is empty. What is
//! shaped differently in the two forms is not here but written by hand, beside `encode_events` and `decode_events`.

/// The events, without the fields that every event may carry.
macro_rules! events {
    ($each:ident) => {
        $each! {
            TextMessageStart = TextMessageStartEvent {
                message_id: "messageId", role: "role", name: "name", subagent_run_id: "subagentRunId",
            }
            TextMessageContent = TextMessageContentEvent {
                message_id: "messageId", delta: "delta", subagent_run_id: "subagentRunId",
            }
            TextMessageEnd = TextMessageEndEvent { message_id: "messageId", subagent_run_id: "subagentRunId", }
            TextMessageChunk = TextMessageChunkEvent {
                message_id: "messageId", role: "role", delta: "delta", name: "name",
                subagent_run_id: "subagentRunId",
            }
            ToolCallStart = ToolCallStartEvent {
                tool_call_id: "toolCallId", tool_call_name: "toolCallName", parent_message_id: "parentMessageId",
                subagent_run_id: "subagentRunId",
            }
            ToolCallArgs = ToolCallArgsEvent {
                tool_call_id: "toolCallId", delta: "delta", subagent_run_id: "subagentRunId",
            }
            ToolCallEnd = ToolCallEndEvent { tool_call_id: "toolCallId", subagent_run_id: "subagentRunId", }
            ToolCallChunk = ToolCallChunkEvent {
                tool_call_id: "toolCallId", tool_call_name: "toolCallName", parent_message_id: "parentMessageId",
                delta: "delta", subagent_run_id: "subagentRunId",
            }
            StateSnapshot = StateSnapshotEvent { snapshot: "snapshot", subagent_run_id: "subagentRunId", }
            StateDelta = StateDeltaEvent { delta: list "delta", subagent_run_id: "subagentRunId", }
            MessagesSnapshot = MessagesSnapshotEvent { messages: list "messages", }
            ActivitySnapshot = ActivitySnapshotEvent {
                message_id: "messageId", activity_type: "activityType", content: "content", replace: "replace",
                subagent_run_id: "subagentRunId",
            }
            ActivityDelta = ActivityDeltaEvent {
                message_id: "messageId", activity_type: "activityType", patch: list "patch",
                subagent_run_id: "subagentRunId",
            }
            Raw = RawEvent { event: "event", source: "source", subagent_run_id: "subagentRunId", }
            Custom = CustomEvent { name: "name", value: "value", subagent_run_id: "subagentRunId", }
            RunStarted = RunStartedEvent {
                thread_id: "threadId", run_id: "runId", protocol_version: "protocolVersion",
                parent_run_id: "parentRunId", input: "input",
            }
            RunError = RunErrorEvent { message: "message", code: "code", usage: "usage", }
            StepStarted = StepStartedEvent { step_name: "stepName", subagent_run_id: "subagentRunId", }
            StepFinished = StepFinishedEvent { step_name: "stepName", subagent_run_id: "subagentRunId", }
            ReasoningStart = ReasoningStartEvent { message_id: "messageId", subagent_run_id: "subagentRunId", }
            ReasoningMessageStart = ReasoningMessageStartEvent {
                message_id: "messageId", role: "role", subagent_run_id: "subagentRunId",
            }
            ReasoningMessageContent = ReasoningMessageContentEvent {
                message_id: "messageId", delta: "delta", subagent_run_id: "subagentRunId",
            }
            ReasoningMessageEnd = ReasoningMessageEndEvent {
                message_id: "messageId", subagent_run_id: "subagentRunId",
            }
            ReasoningMessageChunk = ReasoningMessageChunkEvent {
                message_id: "messageId", delta: "delta", subagent_run_id: "subagentRunId",
            }
            ReasoningEnd = ReasoningEndEvent { message_id: "messageId", subagent_run_id: "subagentRunId", }
            ReasoningEncryptedValue = ReasoningEncryptedValueEvent {
                subtype: "subtype", entity_id: "entityId", encrypted_value: "encryptedValue",
                subagent_run_id: "subagentRunId",
            }
            SubagentStarted = SubagentStartedEvent {
                subagent_run_id: "subagentRunId", name: "name", description: "description",
                parent_subagent_run_id: "parentSubagentRunId", parent_tool_call_id: "parentToolCallId",
                parent_message_id: "parentMessageId",
            }
            SubagentError = SubagentErrorEvent {
                subagent_run_id: "subagentRunId", message: "message", code: "code",
            }
        }
    };
}

/// The objects inside of events. Members of a union carry their discriminator.
macro_rules! objects {
    ($each:ident) => {
        $each! {
            crate::run::RunAgentInput = RunAgentInput {
                thread_id: "threadId", run_id: "runId", protocol_version: "protocolVersion",
                parent_run_id: "parentRunId", state: "state", messages: list "messages", tools: list "tools",
                context: list "context", forwarded_props: "forwardedProps", resume: "resume",
            }
            crate::run::Tool = Tool {
                name: "name", description: "description", parameters: "parameters", metadata: "metadata",
            }
            crate::run::ContextEntry = Context { description: "description", value: "value", }
            crate::run::ResumeEntry = ResumeEntry {
                interrupt_id: "interruptId", status: "status", payload: "payload", metadata: "metadata",
            }
            crate::run::Interrupt = Interrupt {
                id: "id", reason: "reason", message: "message", tool_call_id: "toolCallId",
                response_schema: "responseSchema", expires_at: "expiresAt", metadata: "metadata",
                subagent_run_id: "subagentRunId",
            }
            crate::run::TokenUsage = Usage {
                provider: "provider", model: "model", input_tokens: "inputTokens", output_tokens: "outputTokens",
                total_tokens: "totalTokens", reasoning_tokens: "reasoningTokens",
                cached_input_tokens: "cachedInputTokens", cache_write_input_tokens: "cacheWriteInputTokens",
            }
            crate::message::FunctionCall = tool_call::Function { name: "name", arguments: "arguments", }
            crate::content::TextPart = TextInputPart "text" { text: "text", id: "id", metadata: "metadata", }
            crate::content::ImagePart = ImageInputPart "image" { source: "source", id: "id", metadata: "metadata", }
            crate::content::AudioPart = AudioInputPart "audio" { source: "source", id: "id", metadata: "metadata", }
            crate::content::VideoPart = VideoInputPart "video" { source: "source", id: "id", metadata: "metadata", }
            crate::content::DocumentPart = DocumentInputPart "document" {
                source: "source", id: "id", metadata: "metadata",
            }
            crate::content::DataSource = DataSource "data" { value: "value", mime_type: "mimeType", }
            crate::content::UrlSource = UrlSource "url" { value: "value", mime_type: "mimeType", }
            crate::content::FileSource = FileSource "file" {
                value: "value", provider: "provider", mime_type: "mimeType",
            }
        }
    };
}

pub(super) use {events, objects};
