//! What is open, for the stages that go on from it.

use super::owners::{Authority, Owner, Owners, Ownership};
use super::run::Run;
use super::verifier::{Phase, Verifier};
use crate::event::Event;
use crate::json::Text;
use crate::message::Message;
use crate::stages::expand::{Kind, Opening, Stream};

/// Something that is open, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::stages) struct OpenThing {
    pub(in crate::stages) id: Text<'static>,
    pub(in crate::stages) owner: Owner<'static>,
}

/// What a stream has open, each kind in the order in which it was opened. What chunks have opened is among it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::stages) struct OpenThings {
    pub(in crate::stages) texts: Vec<OpenThing>,
    pub(in crate::stages) reasoning: Vec<OpenThing>,
    pub(in crate::stages) spans: Vec<OpenThing>,
    pub(in crate::stages) calls: Vec<OpenThing>,
    /// By name.
    pub(in crate::stages) steps: Vec<OpenThing>,
    pub(in crate::stages) subagents: Vec<Text<'static>>,
    /// Calls of this run that nobody answered, open or not.
    pub(in crate::stages) unanswered: Vec<OpenThing>,
}

impl Verifier {
    /// The thread and the run that goes on.
    pub(in crate::stages) fn current_run(&self) -> Option<&(Text<'static>, Text<'static>)> {
        self.state.runs.current().filter(|_| self.state.phase == Phase::Running)
    }

    /// Whether something that chunks have opened is still open.
    pub(in crate::stages) fn is_open(&self, stream: &Stream) -> bool {
        let run = &self.state.run;
        match stream.kind() {
            Kind::Text => run.texts.contains(&stream.id),
            Kind::Reasoning => run.reasoning.contains(&stream.id),
            Kind::Call => run.calls.contains(&stream.id),
        }
    }

    /// Whose a thing is that chunks have opened, by the record.
    pub(in crate::stages) fn owner_of(&self, stream: &Stream) -> Owner<'static> {
        let owners = &self.state.run.owners;
        let owners = match stream.kind() {
            Kind::Text => &owners.messages,
            Kind::Reasoning => &owners.reasoning,
            Kind::Call => &owners.calls,
        };
        owners.get(&stream.id).cloned().flatten()
    }

    /// Whether messages that are sent whole say the same about owners as the record, and as what chunks have opened: their
    /// calls may ask for a message of which the run has not spoken.
    pub(in crate::stages) fn agrees_with<'m>(
        &self,
        messages: impl Iterator<Item = &'m Message<'static>>,
        mut chunks: impl Iterator<Item = &'m Stream>,
    ) -> bool {
        let mut told = Ownership::default();
        messages.for_each(|message| told.seed(std::slice::from_ref(message), Authority::Overrules));
        let fits = |stream: &Stream| match &stream.opening {
            Opening::Call { parent_message_id: Some(parent), .. } => {
                told.messages.get(parent).is_none_or(|owner| *owner == stream.owner)
            }
            _ => true,
        };
        self.state.run.owners.agrees_with(&told) && chunks.all(fits)
    }

    /// Whose a message is, by the record.
    pub(in crate::stages) fn message_owner(&self, id: &Text<'_>) -> Option<Owner<'static>> {
        self.state.run.owners.messages.get(id).cloned()
    }

    /// Whose the thing is that an event is about, by the record.
    pub(in crate::stages) fn recorded_owner(&self, event: &Event<'_>) -> Option<Owner<'static>> {
        let owners = &self.state.run.owners;
        let owner = match event {
            Event::TextMessageStart(event) => owners.messages.get(&event.message_id),
            Event::TextMessageContent(event) => owners.messages.get(&event.message_id),
            Event::TextMessageEnd(event) => owners.messages.get(&event.message_id),
            Event::ToolCallStart(event) => owners.calls.get(&event.tool_call_id),
            Event::ToolCallArgs(event) => owners.calls.get(&event.tool_call_id),
            Event::ToolCallEnd(event) => owners.calls.get(&event.tool_call_id),
            Event::ReasoningStart(event) => owners.reasoning.get(&event.message_id),
            Event::ReasoningEnd(event) => owners.reasoning.get(&event.message_id),
            Event::ReasoningMessageStart(event) => owners.reasoning.get(&event.message_id),
            Event::ReasoningMessageContent(event) => owners.reasoning.get(&event.message_id),
            Event::ReasoningMessageEnd(event) => owners.reasoning.get(&event.message_id),
            Event::ActivityDelta(event) => owners.activities.get(&event.message_id),
            _ => None,
        };
        owner.cloned()
    }

    /// Somebody who has a step of that name open.
    pub(in crate::stages) fn step_owner(&self, name: &Text<'_>) -> Option<Owner<'static>> {
        self.state.run.steps.any_owner(name).cloned()
    }

    /// What is open.
    pub(in crate::stages) fn open_things(&self) -> OpenThings {
        let mut open = self.state.run.open_things();
        open.unanswered = self.state.run.owned_calls(self.state.ledger.pending());
        open
    }

    /// Takes back the end of a message or a call, which has just been taken in.
    pub(in crate::stages) fn take_back(&mut self, end: &Event<'_>) {
        self.state.run.reopen(end);
    }
}

impl Run {
    fn open_things(&self) -> OpenThings {
        let steps = self.steps.iter();
        OpenThings {
            texts: owned(self.texts.iter(), &self.owners.messages),
            reasoning: owned(self.reasoning.iter(), &self.owners.reasoning),
            spans: owned(self.spans.iter(), &self.owners.reasoning),
            calls: self.owned_calls(self.calls.iter()),
            steps: steps.map(|(id, owner)| OpenThing { id: id.clone(), owner: owner.clone() }).collect(),
            subagents: self.subagents.iter().cloned().collect(),
            unanswered: Vec::new(),
        }
    }

    fn owned_calls<'t>(&self, ids: impl Iterator<Item = &'t Text<'static>>) -> Vec<OpenThing> {
        owned(ids, &self.owners.calls)
    }

    fn reopen(&mut self, end: &Event<'_>) {
        match end {
            Event::TextMessageEnd(end) => self.texts.add(&end.message_id),
            Event::ReasoningMessageEnd(end) => self.reasoning.add(&end.message_id),
            Event::ToolCallEnd(end) => self.calls.add(&end.tool_call_id),
            _ => {}
        }
    }
}

fn owned<'t>(ids: impl Iterator<Item = &'t Text<'static>>, owners: &Owners) -> Vec<OpenThing> {
    ids.map(|id| OpenThing { id: id.clone(), owner: owners.get(id).cloned().flatten() }).collect()
}
