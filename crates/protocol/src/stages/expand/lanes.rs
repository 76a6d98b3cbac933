//! The lanes, and what each of them assembles.

use super::error::ExpandRule;
use super::stream::{Kind, Owner, Stream};
use crate::event::{
    Custom, Event, ReasoningEnd, ReasoningMessageContent, ReasoningMessageEnd, ReasoningMessageStart,
    ReasoningStart, StateDelta, StateSnapshot, StepFinished, StepStarted, SubagentError, SubagentFinished,
    TextMessageContent, TextMessageEnd, TextMessageStart, ToolCallArgs, ToolCallEnd, ToolCallResult,
    ToolCallStart,
};
use crate::json::Text;
use crate::stages::NamedId;
use std::collections::BTreeMap;

/// What is being assembled, at most one thing a lane. Every question is answered without a search: a stream may have as
/// many lanes as its producer likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::stages) struct Lanes {
    /// In the order in which they were opened.
    streams: BTreeMap<u64, Stream>,
    by_owner: BTreeMap<Owner<'static>, u64>,
    /// For each kind. An id is open in one lane at most, since a chunk that names it continues it wherever it is.
    by_id: [BTreeMap<Text<'static>, u64>; Kind::COUNT],
    opened: u64,
}

impl Lanes {
    /// What is open under an id.
    pub(super) fn holding(&self, kind: Kind, id: &Text<'_>) -> Option<&Stream> {
        self.by_id[kind.index()].get(id.wtf8()).and_then(|at| self.streams.get(at))
    }

    /// What a chunk without an id continues.
    pub(super) fn implied(&self, kind: Kind, tag: &Owner<'_>) -> Result<&Stream, (ExpandRule, Vec<NamedId>)> {
        // A tag names the lane. Without one, what the agent itself has open comes first.
        if let Some(stream) = self.lane(tag).filter(|stream| stream.kind() == kind) {
            return Ok(stream);
        }
        // Some producers tag only the chunk that opens. Theirs can still mean nothing but the only one that is open.
        let mut open = self.by_id[kind.index()].values().filter_map(|at| self.streams.get(at));
        match (tag, open.next(), open.next()) {
            (None, Some(only), None) => Ok(only),
            (None, Some(one), Some(other)) => {
                let ids = [one, other].map(|stream| NamedId::new(kind.id_field(), &stream.id));
                Err((ExpandRule::Ambiguous, ids.into()))
            }
            _ => {
                let ids = tag.iter().map(|tag| NamedId::new("subagentRunId", tag));
                Err((ExpandRule::MissingId, ids.collect()))
            }
        }
    }

    /// Everything that is open, in the order in which it was opened.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.streams.values()
    }

    /// Whether an event that is no chunk may end something.
    pub(super) fn may_be_closed_by(&self, event: &Event<'_>) -> bool {
        !self.streams.is_empty() && !matches!(Closes::of(event), Closes::Nothing)
    }

    fn lane(&self, owner: &Owner<'_>) -> Option<&Stream> {
        self.by_owner.get(owner).and_then(|at| self.streams.get(at))
    }

    /// Opens a stream in the lane of its owner, which must be free.
    pub(super) fn open(&mut self, stream: Stream) {
        let at = self.opened;
        self.opened += 1;
        self.insert(at, stream);
    }

    fn insert(&mut self, at: u64, stream: Stream) {
        self.by_owner.insert(stream.owner.clone(), at);
        self.by_id[stream.kind().index()].insert(stream.id.clone(), at);
        self.streams.insert(at, stream);
    }

    /// What an event that opens or ends something in a lane may change, to be put back.
    pub(super) fn saved_lane(&self, owner: &Owner<'_>) -> Saved {
        let at = self.by_owner.get(owner).copied();
        let stream = at.and_then(|at| Some((at, self.streams.get(&at)?.clone())));
        Saved::Lane(owner.clone().map(Text::into_owned), stream)
    }

    /// What an event that is no chunk may change.
    pub(super) fn saved_for(&self, event: &Event<'_>) -> Saved {
        if self.streams.is_empty() {
            return Saved::Nothing;
        }
        match Closes::of(event) {
            Closes::Nothing => Saved::Nothing,
            Closes::Lane(owner) => self.saved_lane(owner),
            Closes::Subagent(id) => self.saved_lane(&Some(id.clone())),
            Closes::All => Saved::All(Box::new(self.clone())),
        }
    }

    /// Puts back what was there.
    pub(super) fn restore(&mut self, saved: Saved) {
        match saved {
            Saved::Nothing => {}
            Saved::All(lanes) => *self = *lanes,
            Saved::Lane(owner, stream) => {
                self.close(&owner);
                if let Some((at, stream)) = stream {
                    self.insert(at, stream);
                }
            }
        }
    }

    /// Ends what a lane assembles.
    pub(super) fn close(&mut self, owner: &Owner<'_>) -> Option<Event<'static>> {
        let at = *self.by_owner.get(owner)?;
        let stream = self.streams.remove(&at)?;
        self.by_owner.remove(&stream.owner);
        self.by_id[stream.kind().index()].remove(stream.id.wtf8());
        Some(stream.into_end())
    }

    /// Ends what all lanes assemble, in the order in which it was opened.
    fn close_all(&mut self) -> Vec<Event<'static>> {
        std::mem::take(self).streams.into_values().map(Stream::into_end).collect()
    }

    /// Ends what an event that is no chunk brings to an end.
    pub(super) fn closed_by(&mut self, event: &Event<'_>) -> Vec<Event<'static>> {
        if self.streams.is_empty() {
            return Vec::new();
        }
        match Closes::of(event) {
            Closes::Nothing => Vec::new(),
            Closes::Lane(owner) => self.close(owner).into_iter().collect(),
            Closes::Subagent(id) => self.close(&Some(id.clone())).into_iter().collect(),
            Closes::All => self.close_all(),
        }
    }
}

/// Lanes as they were before an event.
#[derive(Debug)]
pub(in crate::stages) enum Saved {
    Nothing,
    Lane(Owner<'static>, Option<(u64, Stream)>),
    All(Box<Lanes>),
}

/// What an event brings to an end.
enum Closes<'e, 'a> {
    Nothing,
    Lane(&'e Owner<'a>),
    Subagent(&'e Text<'a>),
    All,
}

impl<'e, 'a> Closes<'e, 'a> {
    fn of(event: &'e Event<'a>) -> Self {
        match event {
            Event::TextMessageStart(TextMessageStart { subagent_run_id: owner, .. })
            | Event::TextMessageContent(TextMessageContent { subagent_run_id: owner, .. })
            | Event::TextMessageEnd(TextMessageEnd { subagent_run_id: owner, .. })
            | Event::ToolCallStart(ToolCallStart { subagent_run_id: owner, .. })
            | Event::ToolCallArgs(ToolCallArgs { subagent_run_id: owner, .. })
            | Event::ToolCallEnd(ToolCallEnd { subagent_run_id: owner, .. })
            | Event::ToolCallResult(ToolCallResult { subagent_run_id: owner, .. })
            | Event::StateSnapshot(StateSnapshot { subagent_run_id: owner, .. })
            | Event::StateDelta(StateDelta { subagent_run_id: owner, .. })
            | Event::Custom(Custom { subagent_run_id: owner, .. })
            | Event::StepStarted(StepStarted { subagent_run_id: owner, .. })
            | Event::StepFinished(StepFinished { subagent_run_id: owner, .. })
            | Event::ReasoningStart(ReasoningStart { subagent_run_id: owner, .. })
            | Event::ReasoningMessageStart(ReasoningMessageStart { subagent_run_id: owner, .. })
            | Event::ReasoningMessageContent(ReasoningMessageContent { subagent_run_id: owner, .. })
            | Event::ReasoningMessageEnd(ReasoningMessageEnd { subagent_run_id: owner, .. })
            | Event::ReasoningEnd(ReasoningEnd { subagent_run_id: owner, .. }) => Self::Lane(owner),
            // Otherwise the end would be said by a subagent that has ended.
            Event::SubagentFinished(SubagentFinished { subagent_run_id: id, .. })
            | Event::SubagentError(SubagentError { subagent_run_id: id, .. }) => Self::Subagent(id),
            Event::RunStarted(_)
            | Event::RunFinished(_)
            | Event::RunError(_)
            | Event::MessagesSnapshot(_) => Self::All,
            // What a chunk ends depends on more than its type.
            Event::TextMessageChunk(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageChunk(_)
            | Event::Raw(_)
            | Event::ActivitySnapshot(_)
            | Event::ActivityDelta(_)
            | Event::ReasoningEncryptedValue(_)
            | Event::SubagentStarted(_)
            | Event::Unknown(_) => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::Opening;
    use super::*;

    #[test]
    fn what_has_ended_leaves_nothing_behind() {
        let mut lanes = Lanes::default();
        let owner: Owner<'static> = Some("s".into());
        for id in ["m1", "m2"] {
            let stream = Stream { id: id.into(), owner: owner.clone(), opening: Opening::Reasoning };
            lanes.open(stream.clone());
            assert_eq!(lanes.holding(Kind::Reasoning, &id.into()), Some(&stream));
            assert!(lanes.close(&owner).is_some());
        }
        assert_eq!(lanes, Lanes { opened: 2, ..Lanes::default() });
        assert_eq!(lanes.close(&owner), None);
    }
}
