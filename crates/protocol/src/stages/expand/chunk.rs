//! Chunks of all kinds as one type, and the events that are made of them.

use super::error::{ExpandError, ExpandRule};
use super::stream::{Kind, Opening, Owner, Stream};
use crate::event::{
    Event, ReasoningMessageChunk, ReasoningMessageContent, ReasoningMessageStart, TextMessageChunk,
    TextMessageContent, TextMessageStart, TextRole, ToolCallArgs, ToolCallChunk, ToolCallStart,
};
use crate::json::{Json, JsonNonNull, Text};
use crate::metadata::Metadata;
use crate::stages::NamedId;

/// A chunk. It has no timestamp: it may become several events, or none.
#[derive(Debug)]
pub(super) struct Chunk<'e, 'a> {
    pub(super) id: &'e Option<Text<'a>>,
    pub(super) tag: &'e Owner<'a>,
    said: Said<'e, 'a>,
    delta: &'e Option<Text<'a>>,
    raw_event: &'e Option<JsonNonNull<'a>>,
    metadata: &'e Option<Metadata<'a>>,
    extra: &'e [(Text<'a>, Json<'a>)],
}

/// What only the chunk that opens something must say, and any may repeat.
#[derive(Debug)]
enum Said<'e, 'a> {
    Text { role: &'e Option<TextRole<'a>>, name: &'e Option<Text<'a>> },
    Call { name: &'e Option<Text<'a>>, parent_message_id: &'e Option<Text<'a>> },
    Reasoning,
}

/// What a chunk that opens something becomes.
#[derive(Debug)]
pub(super) struct Opened<'a> {
    pub(super) stream: Stream,
    pub(super) start: Event<'a>,
    pub(super) content: Option<Event<'a>>,
    /// An unknown member of the chunk that the start has as a field.
    pub(super) overruled: Option<&'static str>,
}

impl<'e, 'a> From<&'e TextMessageChunk<'a>> for Chunk<'e, 'a> {
    fn from(chunk: &'e TextMessageChunk<'a>) -> Self {
        Self {
            id: &chunk.message_id,
            tag: &chunk.subagent_run_id,
            said: Said::Text { role: &chunk.role, name: &chunk.name },
            delta: &chunk.delta,
            raw_event: &chunk.raw_event,
            metadata: &chunk.metadata,
            extra: &chunk.extra,
        }
    }
}

impl<'e, 'a> From<&'e ToolCallChunk<'a>> for Chunk<'e, 'a> {
    fn from(chunk: &'e ToolCallChunk<'a>) -> Self {
        Self {
            id: &chunk.tool_call_id,
            tag: &chunk.subagent_run_id,
            said: Said::Call { name: &chunk.tool_call_name, parent_message_id: &chunk.parent_message_id },
            delta: &chunk.delta,
            raw_event: &chunk.raw_event,
            metadata: &chunk.metadata,
            extra: &chunk.extra,
        }
    }
}

impl<'e, 'a> From<&'e ReasoningMessageChunk<'a>> for Chunk<'e, 'a> {
    fn from(chunk: &'e ReasoningMessageChunk<'a>) -> Self {
        Self {
            id: &chunk.message_id,
            tag: &chunk.subagent_run_id,
            said: Said::Reasoning,
            delta: &chunk.delta,
            raw_event: &chunk.raw_event,
            metadata: &chunk.metadata,
            extra: &chunk.extra,
        }
    }
}

impl<'e, 'a> Chunk<'e, 'a> {
    /// The event as a chunk, if it is one.
    pub(super) fn of(event: &'e Event<'a>) -> Option<Self> {
        match event {
            Event::TextMessageChunk(chunk) => Some(chunk.into()),
            Event::ToolCallChunk(chunk) => Some(chunk.into()),
            Event::ReasoningMessageChunk(chunk) => Some(chunk.into()),
            _ => None,
        }
    }

    pub(super) const fn kind(&self) -> Kind {
        match self.said {
            Said::Text { .. } => Kind::Text,
            Said::Call { .. } => Kind::Call,
            Said::Reasoning => Kind::Reasoning,
        }
    }

    /// A piece of something that is open, if there is anything in the chunk.
    pub(super) fn continuation(&self, stream: &Stream) -> Result<Option<Event<'a>>, ExpandError> {
        if self.tag.is_some() && *self.tag != stream.owner {
            let ids = vec![
                NamedId::new(self.kind().id_field(), &stream.id),
                NamedId::owner("subagentRunId", self.tag.as_ref()),
                NamedId::owner("owner", stream.owner.as_ref()),
            ];
            return Err(self.error(ExpandRule::OwnerMismatch, ids));
        }
        if let Some(field) = self.conflict(&stream.opening) {
            let ids = vec![NamedId::new(self.kind().id_field(), &stream.id)];
            return Err(self.error(ExpandRule::Conflict { field }, ids));
        }
        if self.delta.is_none()
            && self.raw_event.is_none()
            && self.metadata.is_none()
            && self.extra.is_empty()
        {
            return Ok(None);
        }
        let id = self.id.clone().unwrap_or_else(|| stream.id.clone());
        let tag = self.tag.clone().or_else(|| stream.owner.clone());
        Ok(Some(self.content(id, tag)))
    }

    /// The first field that repeats what was said before, and says it differently.
    fn conflict(&self, opening: &Opening) -> Option<&'static str> {
        fn differs<T: PartialEq>(repeated: &Option<T>, before: &Option<T>) -> bool {
            repeated.is_some() && repeated != before
        }
        match (&self.said, opening) {
            (Said::Text { role: Some(role), .. }, Opening::Text { role: before, .. }) if role != before => {
                Some("role")
            }
            (Said::Text { name, .. }, Opening::Text { name: before, .. }) if differs(name, before) => {
                Some("name")
            }
            (Said::Call { name: Some(name), .. }, Opening::Call { name: before, .. }) if name != before => {
                Some("toolCallName")
            }
            (
                Said::Call { parent_message_id: parent, .. },
                Opening::Call { parent_message_id: before, .. },
            ) if differs(parent, before) => Some("parentMessageId"),
            _ => None,
        }
    }

    /// The start of something, and its first piece, if there is one. What is unknown, and what the provider sent, belongs
    /// to the piece: that is what the producer said, and the start is of our making.
    pub(super) fn opened(&self, id: &Text<'a>) -> Result<Opened<'a>, ExpandError> {
        let has_content = self.delta.is_some() || self.raw_event.is_some();
        let extra = if has_content { &[] } else { self.extra };
        let (opening, start) = self.start(id, extra)?;
        Ok(Opened {
            stream: Stream {
                id: id.clone().into_owned(),
                owner: self.tag.clone().map(Text::into_owned),
                opening,
            },
            start,
            content: has_content.then(|| self.content(id.clone(), self.tag.clone())),
            overruled: extra.iter().any(|(key, _)| self.overrules(key)).then_some(ROLE),
        })
    }

    /// Whether the start has a field that its chunk does not know.
    fn overrules(&self, key: &Text<'_>) -> bool {
        self.kind() == Kind::Reasoning && *key == ROLE
    }

    fn start(
        &self,
        id: &Text<'a>,
        extra: &[(Text<'a>, Json<'a>)],
    ) -> Result<(Opening, Event<'a>), ExpandError> {
        let id = id.clone();
        let extra = extra.iter().filter(|(key, _)| !self.overrules(key)).cloned().collect();
        let rest = (self.tag.clone(), self.metadata.clone(), extra);
        Ok(match self.said {
            Said::Text { role, name } => {
                let role = role.clone().unwrap_or(TextRole::Assistant);
                let opening = Opening::Text { role: role.clone().into_owned(), name: owned(name) };
                let mut start = TextMessageStart::new(id).with_role(role);
                start.name.clone_from(name);
                (start.subagent_run_id, start.metadata, start.extra) = rest;
                (opening, start.into())
            }
            Said::Call { name: Some(name), parent_message_id: parent } => {
                let opening =
                    Opening::Call { name: name.clone().into_owned(), parent_message_id: owned(parent) };
                let mut start = ToolCallStart::new(id, name.clone());
                start.parent_message_id.clone_from(parent);
                (start.subagent_run_id, start.metadata, start.extra) = rest;
                (opening, start.into())
            }
            Said::Call { name: None, .. } => {
                let ids = vec![NamedId::new(self.kind().id_field(), &id)];
                return Err(self.error(ExpandRule::MissingToolCallName, ids));
            }
            Said::Reasoning => {
                let mut start = ReasoningMessageStart::new(id);
                (start.subagent_run_id, start.metadata, start.extra) = rest;
                (Opening::Reasoning, start.into())
            }
        })
    }

    fn content(&self, id: Text<'a>, tag: Owner<'a>) -> Event<'a> {
        let delta = self.delta.clone().unwrap_or_default();
        let rest = (tag, self.raw_event.clone(), self.metadata.clone(), self.extra.to_vec());
        match self.kind() {
            Kind::Text => {
                let mut content = TextMessageContent::new(id, delta);
                (content.subagent_run_id, content.raw_event, content.metadata, content.extra) = rest;
                content.into()
            }
            Kind::Call => {
                let mut args = ToolCallArgs::new(id, delta);
                (args.subagent_run_id, args.raw_event, args.metadata, args.extra) = rest;
                args.into()
            }
            Kind::Reasoning => {
                let mut content = ReasoningMessageContent::new(id, delta);
                (content.subagent_run_id, content.raw_event, content.metadata, content.extra) = rest;
                content.into()
            }
        }
    }

    pub(super) const fn error(&self, rule: ExpandRule, ids: Vec<NamedId>) -> ExpandError {
        ExpandError { rule, event_type: self.kind().chunk_type(), ids }
    }
}

/// Of all fields of starts, the only one that a chunk may not have: a reasoning chunk does not.
const ROLE: &str = "role";

fn owned(text: &Option<Text<'_>>) -> Option<Text<'static>> {
    text.clone().map(Text::into_owned)
}
