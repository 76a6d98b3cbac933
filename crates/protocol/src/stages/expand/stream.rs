//! What is assembled from chunks.

use crate::event::{Event, EventType, ReasoningMessageEnd, TextMessageEnd, TextRole, ToolCallEnd};
use crate::json::Text;

/// Whose lane it is: a subagent's, or that of the agent itself. The empty id is a subagent's like any other.
pub(in crate::stages) type Owner<'a> = Option<Text<'a>>;

/// Something that is being assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::stages) struct Stream {
    pub(in crate::stages) id: Text<'static>,
    pub(in crate::stages) owner: Owner<'static>,
    pub(in crate::stages) opening: Opening,
}

/// What was said of it when it was opened, or was meant where nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::stages) enum Opening {
    Text { role: TextRole<'static>, name: Option<Text<'static>> },
    Call { name: Text<'static>, parent_message_id: Option<Text<'static>> },
    Reasoning,
}

/// What can be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stages) enum Kind {
    Text,
    Call,
    Reasoning,
}

impl Kind {
    pub(in crate::stages) const COUNT: usize = 3;

    pub(in crate::stages) const fn index(self) -> usize {
        self as usize
    }

    pub(in crate::stages) const fn chunk_type(self) -> EventType {
        match self {
            Self::Text => EventType::TextMessageChunk,
            Self::Call => EventType::ToolCallChunk,
            Self::Reasoning => EventType::ReasoningMessageChunk,
        }
    }

    pub(in crate::stages) const fn id_field(self) -> &'static str {
        match self {
            Self::Text | Self::Reasoning => "messageId",
            Self::Call => "toolCallId",
        }
    }
}

impl Stream {
    pub(in crate::stages) const fn kind(&self) -> Kind {
        match self.opening {
            Opening::Text { .. } => Kind::Text,
            Opening::Call { .. } => Kind::Call,
            Opening::Reasoning => Kind::Reasoning,
        }
    }

    /// The tool, if it is a call.
    pub(in crate::stages) const fn call_name(&self) -> Option<&Text<'static>> {
        match &self.opening {
            Opening::Call { name, .. } => Some(name),
            Opening::Text { .. } | Opening::Reasoning => None,
        }
    }

    /// The end carries nothing of the event that brings it about.
    pub(in crate::stages) fn into_end(self) -> Event<'static> {
        match self.kind() {
            Kind::Text => {
                let mut end = TextMessageEnd::new(self.id);
                end.subagent_run_id = self.owner;
                end.into()
            }
            Kind::Call => {
                let mut end = ToolCallEnd::new(self.id);
                end.subagent_run_id = self.owner;
                end.into()
            }
            Kind::Reasoning => {
                let mut end = ReasoningMessageEnd::new(self.id);
                end.subagent_run_id = self.owner;
                end.into()
            }
        }
    }
}
