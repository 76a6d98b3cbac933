//! What is assembled from chunks.

use crate::event::{Event, EventType, ReasoningMessageEnd, TextMessageEnd, TextRole, ToolCallEnd};
use crate::json::Text;

/// Whose lane it is: a subagent's, or that of the agent itself. The empty id is a subagent's like any other.
pub(super) type Owner<'a> = Option<Text<'a>>;

/// Something that is being assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) id: Text<'static>,
    pub(super) owner: Owner<'static>,
    pub(super) opening: Opening,
}

/// What was said of it when it was opened, or was meant where nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Text { role: TextRole<'static>, name: Option<Text<'static>> },
    Call { name: Text<'static>, parent_message_id: Option<Text<'static>> },
    Reasoning,
}

/// What can be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Call,
    Reasoning,
}

impl Kind {
    pub(super) const COUNT: usize = 3;

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) const fn chunk_type(self) -> EventType {
        match self {
            Self::Text => EventType::TextMessageChunk,
            Self::Call => EventType::ToolCallChunk,
            Self::Reasoning => EventType::ReasoningMessageChunk,
        }
    }

    pub(super) const fn id_field(self) -> &'static str {
        match self {
            Self::Text | Self::Reasoning => "messageId",
            Self::Call => "toolCallId",
        }
    }
}

impl Stream {
    pub(super) const fn kind(&self) -> Kind {
        match self.opening {
            Opening::Text { .. } => Kind::Text,
            Opening::Call { .. } => Kind::Call,
            Opening::Reasoning => Kind::Reasoning,
        }
    }

    /// The end carries nothing of the event that brings it about.
    pub(super) fn into_end(self) -> Event<'static> {
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
