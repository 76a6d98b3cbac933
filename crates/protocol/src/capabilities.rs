//! What an agent says of itself. Every group and every field may be left out, which says nothing.

use crate::json::{Count, JsonObject, Text};
use crate::run::Tool;
use crate::schema::object;

object! {
    /// What an agent says of itself.
    pub struct AgentCapabilities {
        /// Who it is.
        optional identity with_identity: IdentityCapabilities<'a> = "identity";
        /// How it can be reached.
        optional transport with_transport: TransportCapabilities<'a> = "transport";
        /// The tools it has and takes.
        optional tools with_tools: ToolsCapabilities<'a> = "tools";
        /// What it answers with.
        optional output with_output: OutputCapabilities<'a> = "output";
        /// How it keeps state.
        optional state with_state: StateCapabilities<'a> = "state";
        /// How it works with other agents.
        optional multi_agent with_multi_agent: MultiAgentCapabilities<'a> = "multiAgent";
        /// How it shows its thoughts.
        optional reasoning with_reasoning: ReasoningCapabilities<'a> = "reasoning";
        /// What it sees and shows besides text.
        optional multimodal with_multimodal: MultimodalCapabilities<'a> = "multimodal";
        /// How it runs code.
        optional execution with_execution: ExecutionCapabilities<'a> = "execution";
        /// How people take part.
        optional human_in_the_loop with_human_in_the_loop: HumanInTheLoopCapabilities<'a> = "humanInTheLoop";
        /// Anything else.
        optional custom with_custom: JsonObject<'a> = "custom";
    }
}

object! {
    /// Who an agent is.
    pub struct IdentityCapabilities {
        /// Its name.
        optional name with_name: Text<'a> = "name";
        /// The framework behind it.
        optional kind with_kind: Text<'a> = "type";
        /// What it is for.
        optional description with_description: Text<'a> = "description";
        /// Its version.
        optional version with_version: Text<'a> = "version";
        /// Who provides it.
        optional provider with_provider: Text<'a> = "provider";
        /// Where it is described.
        optional documentation_url with_documentation_url: Text<'a> = "documentationUrl";
        /// Anything about it.
        optional metadata with_metadata: JsonObject<'a> = "metadata";
    }
}

object! {
    /// How an agent can be reached.
    pub struct TransportCapabilities {
        /// Events arrive while the run goes on.
        optional streaming with_streaming: bool = "streaming";
        /// Over a WebSocket.
        optional websocket with_websocket: bool = "websocket";
        /// As protobuf over HTTP.
        optional http_binary with_http_binary: bool = "httpBinary";
        /// It can notify without being asked.
        optional push_notifications with_push_notifications: bool = "pushNotifications";
        /// A broken stream can be continued.
        optional resumable with_resumable: bool = "resumable";
    }
}

object! {
    /// The tools an agent has and takes.
    pub struct ToolsCapabilities {
        /// It calls tools.
        optional supported with_supported: bool = "supported";
        /// The tools it has.
        optional items with_items: Vec<Tool<'a>> = "items";
        /// It calls several at once.
        optional parallel_calls with_parallel_calls: bool = "parallelCalls";
        /// It takes tools of the client's.
        optional client_provided with_client_provided: bool = "clientProvided";
    }
}

object! {
    /// What an agent answers with.
    pub struct OutputCapabilities {
        /// It can follow a schema.
        optional structured_output with_structured_output: bool = "structuredOutput";
        /// The media types it produces.
        optional supported_mime_types with_supported_mime_types: Vec<Text<'a>> = "supportedMimeTypes";
    }
}

object! {
    /// How an agent keeps state.
    pub struct StateCapabilities {
        /// It sends snapshots.
        optional snapshots with_snapshots: bool = "snapshots";
        /// It sends deltas.
        optional deltas with_deltas: bool = "deltas";
        /// It remembers across threads.
        optional memory with_memory: bool = "memory";
        /// Its state outlives the run.
        optional persistent_state with_persistent_state: bool = "persistentState";
    }
}

object! {
    /// How an agent works with others.
    pub struct MultiAgentCapabilities {
        /// It does.
        optional supported with_supported: bool = "supported";
        /// It delegates.
        optional delegation with_delegation: bool = "delegation";
        /// It hands over.
        optional handoffs with_handoffs: bool = "handoffs";
        /// Whom it calls.
        optional subagents with_subagents: Vec<SubagentInfo<'a>> = "subagents";
    }
}

object! {
    /// A subagent that an agent may call.
    pub struct SubagentInfo {
        /// Its name.
        required name: Text<'a> = "name";
        /// What it is for.
        optional description with_description: Text<'a> = "description";
    }
}

object! {
    /// How an agent shows its thoughts.
    pub struct ReasoningCapabilities {
        /// It does.
        optional supported with_supported: bool = "supported";
        /// While it thinks.
        optional streaming with_streaming: bool = "streaming";
        /// Encrypted.
        optional encrypted with_encrypted: bool = "encrypted";
    }
}

object! {
    /// What an agent sees and shows besides text.
    pub struct MultimodalCapabilities {
        /// What it sees.
        optional input with_input: MultimodalInput<'a> = "input";
        /// What it shows.
        optional output with_output: MultimodalOutput<'a> = "output";
    }
}

object! {
    /// What an agent takes besides text.
    pub struct MultimodalInput {
        /// Images.
        optional image with_image: bool = "image";
        /// Sound.
        optional audio with_audio: bool = "audio";
        /// Videos.
        optional video with_video: bool = "video";
        /// PDF documents.
        optional pdf with_pdf: bool = "pdf";
        /// Any file.
        optional file with_file: bool = "file";
    }
}

object! {
    /// What an agent gives besides text.
    pub struct MultimodalOutput {
        /// Images.
        optional image with_image: bool = "image";
        /// Sound.
        optional audio with_audio: bool = "audio";
    }
}

object! {
    /// How an agent runs code.
    pub struct ExecutionCapabilities {
        /// It does.
        optional code_execution with_code_execution: bool = "codeExecution";
        /// In a sandbox.
        optional sandboxed with_sandboxed: bool = "sandboxed";
        /// How often it may go round.
        optional max_iterations with_max_iterations: Count = "maxIterations";
        /// How long it may take, in milliseconds.
        optional max_execution_time with_max_execution_time: Count = "maxExecutionTime";
    }
}

object! {
    /// How people take part.
    pub struct HumanInTheLoopCapabilities {
        /// They do.
        optional supported with_supported: bool = "supported";
        /// They approve.
        optional approvals with_approvals: bool = "approvals";
        /// They step in.
        optional interventions with_interventions: bool = "interventions";
        /// They judge.
        optional feedback with_feedback: bool = "feedback";
        /// They answer interrupts.
        optional interrupts with_interrupts: bool = "interrupts";
        /// They approve with changes.
        optional approve_with_edits with_approve_with_edits: bool = "approveWithEdits";
    }
}
