//! What an agent says of itself, with nothing left unanswered.

use threadline_protocol::capabilities::{
    AgentCapabilities, ExecutionCapabilities, HumanInTheLoopCapabilities, IdentityCapabilities,
    MultiAgentCapabilities, MultimodalCapabilities, MultimodalInput, MultimodalOutput, OutputCapabilities,
    ReasoningCapabilities, StateCapabilities, SubagentInfo, ToolsCapabilities, TransportCapabilities,
};
use threadline_protocol::run::Tool;

/// What an agent says of itself: all ten groups, where everything but streaming is no until the agent says yes.
///
/// Everything that is not asked here can be set on what [`build`](Self::build) gives.
///
/// ```
/// use threadline_agent::Capabilities;
///
/// let says = Capabilities::new().named("Weather").with_state().with_reasoning().build();
/// assert!(says.to_json().contains(r#""interrupts":false"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    says: AgentCapabilities<'static>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self::new()
    }
}

/// Changes one group, which is always there.
macro_rules! say {
    ($self:ident.$group:ident, $( $with:ident($value:expr) ),+) => {{
        $self.says.$group = $self.says.$group.map(|group| group $( .$with($value) )+);
        $self
    }};
}

impl Capabilities {
    /// No to everything that an agent must do itself.
    #[must_use]
    pub fn new() -> Self {
        let input = MultimodalInput::new()
            .with_image(false)
            .with_audio(false)
            .with_video(false)
            .with_pdf(false)
            .with_file(false);
        let output = MultimodalOutput::new().with_image(false).with_audio(false);
        let text = vec!["text/plain".into()];
        let says = AgentCapabilities::new()
            .with_identity(IdentityCapabilities::new().with_kind("threadline-agent"))
            .with_transport(
                TransportCapabilities::new()
                    .with_streaming(true)
                    .with_websocket(false)
                    .with_http_binary(false)
                    .with_push_notifications(false)
                    .with_resumable(false),
            )
            .with_tools(
                ToolsCapabilities::new()
                    .with_supported(false)
                    .with_items(Vec::new())
                    .with_parallel_calls(false)
                    .with_client_provided(false),
            )
            .with_output(
                OutputCapabilities::new().with_structured_output(false).with_supported_mime_types(text),
            )
            .with_state(
                StateCapabilities::new()
                    .with_snapshots(false)
                    .with_deltas(false)
                    .with_memory(false)
                    .with_persistent_state(false),
            )
            .with_multi_agent(
                MultiAgentCapabilities::new()
                    .with_supported(false)
                    .with_delegation(false)
                    .with_handoffs(false)
                    .with_subagents(Vec::new()),
            )
            .with_reasoning(
                ReasoningCapabilities::new()
                    .with_supported(false)
                    .with_streaming(false)
                    .with_encrypted(false),
            )
            .with_multimodal(MultimodalCapabilities::new().with_input(input).with_output(output))
            .with_execution(ExecutionCapabilities::new().with_code_execution(false).with_sandboxed(false))
            .with_human_in_the_loop(
                HumanInTheLoopCapabilities::new()
                    .with_supported(false)
                    .with_approvals(false)
                    .with_interventions(false)
                    .with_feedback(false)
                    .with_interrupts(false)
                    .with_approve_with_edits(false),
            );
        Self { says }
    }

    /// The agent's name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        say!(self.identity, with_name(name.to_owned()))
    }

    /// What the agent is for.
    #[must_use]
    pub fn described(mut self, description: &str) -> Self {
        say!(self.identity, with_description(description.to_owned()))
    }

    /// The agent's version.
    #[must_use]
    pub fn with_version(mut self, version: &str) -> Self {
        say!(self.identity, with_version(version.to_owned()))
    }

    /// It calls tools of its own.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<Tool<'static>>) -> Self {
        say!(self.tools, with_supported(true), with_items(tools))
    }

    /// It calls tools of the client's.
    #[must_use]
    pub fn with_client_tools(mut self) -> Self {
        say!(self.tools, with_supported(true), with_client_provided(true))
    }

    /// It calls several tools at once.
    #[must_use]
    pub fn with_parallel_calls(mut self) -> Self {
        say!(self.tools, with_parallel_calls(true))
    }

    /// It sets the state, which is sent whole or as a change.
    #[must_use]
    pub fn with_state(mut self) -> Self {
        say!(self.state, with_snapshots(true), with_deltas(true))
    }

    /// It shows its thoughts.
    #[must_use]
    pub fn with_reasoning(mut self) -> Self {
        say!(self.reasoning, with_supported(true), with_streaming(true))
    }

    /// It delegates to subagents: name and description of each.
    #[must_use]
    pub fn with_subagents(mut self, subagents: &[(&str, &str)]) -> Self {
        let info = |&(name, description): &(&str, &str)| {
            SubagentInfo::new(name.to_owned()).with_description(description.to_owned())
        };
        let subagents: Vec<SubagentInfo<'static>> = subagents.iter().map(info).collect();
        say!(self.multi_agent, with_supported(true), with_delegation(true), with_subagents(subagents))
    }

    /// It asks people, and waits for their answers.
    #[must_use]
    pub fn with_interrupts(mut self) -> Self {
        say!(self.human_in_the_loop, with_supported(true), with_interrupts(true))
    }

    /// It asks people to approve.
    #[must_use]
    pub fn with_approvals(mut self) -> Self {
        say!(self.human_in_the_loop, with_supported(true), with_interrupts(true), with_approvals(true))
    }

    /// All of it, as AG-UI has it.
    #[must_use]
    pub fn build(self) -> AgentCapabilities<'static> {
        self.says
    }
}
