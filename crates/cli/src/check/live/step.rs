//! What is asked of an endpoint, step by step, and how much at most.

/// Something to find out. They are taken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// What a browser is told that opens the URL.
    Visit,
    /// What the agent says of itself.
    Capabilities,
    /// Whether pages may call.
    Preflight,
    /// A run of the plainest kind.
    Text,
    /// A run for a client that reads protobuf.
    Protobuf,
    /// Input that is no JSON.
    NotJson,
    /// Input without what is required.
    Incomplete,
    /// Input with a member of the wrong kind.
    WrongValue,
    /// Input with members that AG-UI does not have.
    UnknownMembers,
    /// A history with every role that is sent.
    Roles,
    /// The same with one role each, if that was refused.
    EachRole,
    /// A tool of the client's.
    Tools,
    /// Its result, if it was called.
    ToolResult,
    /// A message with parts.
    Multimodal,
    /// A client of 0.x.
    Legacy,
    /// An answer to a question that was never asked.
    Resume,
    /// Words that bring forth a family of events, where the agent has it.
    Families,
    /// What the caller wants to be said.
    Say,
    /// Answers to what the agent asked.
    Answer,
    /// A WebSocket, if there are no runs over HTTP.
    Socket,
}

/// What a step sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sends {
    /// Requests that start nothing.
    Requests,
    /// Requests that start runs if all is well.
    Runs,
    /// Requests that start runs only if something is wrong.
    Refusals,
    /// WebSockets.
    Sockets,
}

impl Step {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 20] = [
        Self::Visit,
        Self::Capabilities,
        Self::Preflight,
        Self::Text,
        Self::Protobuf,
        Self::NotJson,
        Self::Incomplete,
        Self::WrongValue,
        Self::UnknownMembers,
        Self::Roles,
        Self::EachRole,
        Self::Tools,
        Self::ToolResult,
        Self::Multimodal,
        Self::Legacy,
        Self::Resume,
        Self::Families,
        Self::Say,
        Self::Answer,
        Self::Socket,
    ];

    /// The name, for people and for programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Visit => "visit",
            Self::Capabilities => "capabilities",
            Self::Preflight => "preflight",
            Self::Text => "text",
            Self::Protobuf => "protobuf",
            Self::NotJson => "not-json",
            Self::Incomplete => "incomplete",
            Self::WrongValue => "wrong-value",
            Self::UnknownMembers => "unknown-members",
            Self::Roles => "roles",
            Self::EachRole => "each-role",
            Self::Tools => "tools",
            Self::ToolResult => "tool-result",
            Self::Multimodal => "multimodal",
            Self::Legacy => "legacy",
            Self::Resume => "resume",
            Self::Families => "families",
            Self::Say => "say",
            Self::Answer => "answer",
            Self::Socket => "socket",
        }
    }

    /// What it is for.
    pub(crate) const fn purpose(self) -> &'static str {
        match self {
            Self::Visit => "what a browser sees at the URL",
            Self::Capabilities => "what the agent says of itself",
            Self::Preflight => "whether pages of other origins may call",
            Self::Text => "a plain run",
            Self::Protobuf => "a run for a client that prefers protobuf",
            Self::NotJson => "input that is no JSON, which must be refused",
            Self::Incomplete => "input without ids and messages, which must be refused",
            Self::WrongValue => "input whose messages are a number, which must be refused",
            Self::UnknownMembers => "a run whose input has members that AG-UI does not know",
            Self::Roles => "a run whose history has every role",
            Self::EachRole => "if that is refused, a run for each role",
            Self::Tools => "a run that offers a tool",
            Self::ToolResult => "if the tool is called, a run with its result",
            Self::Multimodal => "a run whose message has text, an image and a document",
            Self::Legacy => "a run for a client of AG-UI 0.x",
            Self::Resume => "a run that answers a question nobody asked",
            Self::Families => {
                "runs that ask for reasoning, state, an activity, steps, a subagent and an approval"
            }
            Self::Say => "runs that say what --say says",
            Self::Answer => "if a run ends with a question, a run that declines to answer",
            Self::Socket => "if there are no runs over HTTP, a WebSocket with up to 3 messages",
        }
    }

    /// What kind of thing it sends.
    pub(crate) const fn sends(self) -> Sends {
        match self {
            Self::Visit | Self::Capabilities | Self::Preflight => Sends::Requests,
            Self::NotJson | Self::Incomplete | Self::WrongValue => Sends::Refusals,
            Self::Socket => Sends::Sockets,
            _ => Sends::Runs,
        }
    }

    /// Whether it is taken only if something else was observed.
    pub(crate) const fn is_conditional(self) -> bool {
        matches!(self, Self::EachRole | Self::ToolResult | Self::Answer | Self::Socket)
    }
}
