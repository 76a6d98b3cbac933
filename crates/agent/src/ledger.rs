//! What a run has begun and not ended.

use threadline_protocol::event::{
    ReasoningEnd, ReasoningMessageEnd, StepFinished, SubagentFinished, TextMessageEnd, ToolCallEnd,
};
use threadline_protocol::{Event, Text};

/// What can be begun and must be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Thought,
    Span,
    Call,
    Step,
    Subagent,
}

/// Something that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) kind: Kind,
    /// Of a step, its name.
    pub(crate) id: Text<'static>,
    /// The subagent whose it is. Of a subagent, its parent.
    pub(crate) owner: Option<Text<'static>>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: Text<'static>,
    pub(crate) owner: Option<Text<'static>>,
}

/// What a run has begun and not ended, in the order in which it was begun.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    open: Vec<Opened>,
    unanswered: Vec<Call>,
}

impl Opened {
    /// Its end, as if all was well with it, said by its owner.
    pub(crate) fn end(&self) -> Event<'static> {
        self.end_by(self.owner.clone())
    }

    /// Its end without a tag, which fits whomever the client takes for the owner. Steps and subagents have but one.
    pub(crate) fn end_by_anyone(&self) -> Event<'static> {
        self.end_by(None)
    }

    fn end_by(&self, owner: Option<Text<'static>>) -> Event<'static> {
        macro_rules! end {
            ($end:ident) => {{
                let mut end = $end::new(self.id.clone());
                end.subagent_run_id = owner;
                end.into()
            }};
        }
        match self.kind {
            Kind::Text => end!(TextMessageEnd),
            Kind::Thought => end!(ReasoningMessageEnd),
            Kind::Span => end!(ReasoningEnd),
            Kind::Call => end!(ToolCallEnd),
            Kind::Step => end!(StepFinished),
            Kind::Subagent => SubagentFinished::new(self.id.clone()).into(),
        }
    }
}

impl Ledger {
    /// Takes an event in that was sent.
    pub(crate) fn take(&mut self, event: &Event<'static>) {
        match event {
            Event::TextMessageStart(start) => {
                self.open(Kind::Text, &start.message_id, &start.subagent_run_id)
            }
            Event::TextMessageEnd(end) => self.end(Kind::Text, &end.message_id),
            Event::ReasoningMessageStart(start) => {
                self.open(Kind::Thought, &start.message_id, &start.subagent_run_id);
            }
            Event::ReasoningMessageEnd(end) => self.end(Kind::Thought, &end.message_id),
            Event::ReasoningStart(start) => self.open(Kind::Span, &start.message_id, &start.subagent_run_id),
            Event::ReasoningEnd(end) => self.end(Kind::Span, &end.message_id),
            Event::ToolCallStart(start) => {
                self.open(Kind::Call, &start.tool_call_id, &start.subagent_run_id);
                self.answer(&start.tool_call_id);
                self.unanswered
                    .push(Call { id: start.tool_call_id.clone(), owner: start.subagent_run_id.clone() });
            }
            Event::ToolCallEnd(end) => self.end(Kind::Call, &end.tool_call_id),
            Event::ToolCallResult(result) => self.answer(&result.tool_call_id),
            Event::StepStarted(start) => self.open(Kind::Step, &start.step_name, &start.subagent_run_id),
            Event::StepFinished(end) => {
                let owner = &end.subagent_run_id;
                self.open.retain(|it| it.kind != Kind::Step || it.id != end.step_name || it.owner != *owner);
            }
            Event::SubagentStarted(start) => {
                self.open(Kind::Subagent, &start.subagent_run_id, &start.parent_subagent_run_id);
            }
            Event::SubagentFinished(end) => self.end(Kind::Subagent, &end.subagent_run_id),
            Event::SubagentError(end) => self.end(Kind::Subagent, &end.subagent_run_id),
            _ => {}
        }
    }

    fn open(&mut self, kind: Kind, id: &Text<'static>, owner: &Option<Text<'static>>) {
        self.open.push(Opened { kind, id: id.clone(), owner: owner.clone() });
    }

    fn end(&mut self, kind: Kind, id: &Text<'static>) {
        self.open.retain(|opened| opened.kind != kind || opened.id != *id);
    }

    fn answer(&mut self, call: &Text<'static>) {
        self.unanswered.retain(|unanswered| unanswered.id != *call);
    }

    /// Whether that is open.
    pub(crate) fn find(
        &self,
        kind: Kind,
        id: &Text<'static>,
        owner: &Option<Text<'static>>,
    ) -> Option<Opened> {
        let is_it = |opened: &&Opened| {
            opened.kind == kind && opened.id == *id && (kind != Kind::Step || opened.owner == *owner)
        };
        self.open.iter().find(is_it).cloned()
    }

    /// Whether a message or a call is being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.open.iter().any(|opened| matches!(opened.kind, Kind::Text | Kind::Thought | Kind::Call))
    }

    /// Everything, what was begun last first.
    pub(crate) fn all(&self) -> Vec<Opened> {
        self.open.iter().rev().cloned().collect()
    }

    /// What a subagent and those below it have open, what was begun last first; the subagent itself is not among it.
    pub(crate) fn within(&self, subagent: &Text<'static>) -> Vec<Opened> {
        let mut subagents = vec![subagent];
        let mut within = Vec::new();
        for opened in &self.open {
            if opened.owner.as_ref().is_some_and(|owner| subagents.contains(&owner)) {
                within.push(opened.clone());
                if opened.kind == Kind::Subagent {
                    subagents.push(&opened.id);
                }
            }
        }
        within.reverse();
        within
    }

    /// The calls without a result, in order.
    pub(crate) fn unanswered(&self) -> &[Call] {
        &self.unanswered
    }
}
