//! What is going on in a run.

use super::findings::Findings;
use super::id_set::IdSet;
use super::owners::{Authority, Owner, Owners, Ownership};
use super::rule::Rule;
use super::steps::Steps;
use crate::event::{
    EncryptedSubtype, Event, ReasoningEncryptedValue, SubagentError, SubagentFinished, SubagentStarted,
    TextMessageContent, TextMessageEnd, ToolCallArgs, ToolCallEnd, ToolCallStart,
};
use crate::json::Text;
use crate::message::Message;
use crate::stages::NamedId;
use std::collections::BTreeSet;

/// What is open in a run, and who owns what. Judging changes nothing, and applying asks nothing: an event that is
/// applied has been judged, and passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) texts: IdSet,
    pub(super) calls: IdSet,
    pub(super) spans: IdSet,
    pub(super) reasoning: IdSet,
    pub(super) steps: Steps,
    pub(super) subagents: IdSet,
    subagents_ended: BTreeSet<Text<'static>>,
    pub(super) owners: Ownership,
}

/// Things of a kind that begins, goes on and ends.
struct Bracket<'r> {
    id_field: &'static str,
    open: &'r IdSet,
    owners: &'r Owners,
    already_open: Rule,
    not_open: Rule,
}

impl Run {
    /// Judges an event. What it says about runs and about results is judged elsewhere.
    pub(super) fn judge(&self, event: &Event<'_>, findings: &mut Findings<'_, '_>) {
        match event {
            Event::TextMessageStart(start) => {
                self.texts().judge_start(&start.message_id, &start.subagent_run_id, findings);
            }
            Event::TextMessageContent(TextMessageContent {
                message_id: id, subagent_run_id: tag, ..
            })
            | Event::TextMessageEnd(TextMessageEnd { message_id: id, subagent_run_id: tag, .. }) => {
                self.texts().judge_rest(id, tag, findings);
            }
            Event::ToolCallStart(start) => self.judge_call_start(start, findings),
            Event::ToolCallArgs(ToolCallArgs { tool_call_id: id, subagent_run_id: tag, .. })
            | Event::ToolCallEnd(ToolCallEnd { tool_call_id: id, subagent_run_id: tag, .. }) => {
                self.calls().judge_rest(id, tag, findings);
            }
            Event::ReasoningStart(start) => {
                self.spans().judge_start(&start.message_id, &start.subagent_run_id, findings);
            }
            Event::ReasoningEnd(end) => {
                self.spans().judge_rest(&end.message_id, &end.subagent_run_id, findings);
            }
            Event::ReasoningMessageStart(start) => {
                self.reasoning().judge_start(&start.message_id, &start.subagent_run_id, findings);
            }
            Event::ReasoningMessageContent(content) => {
                self.reasoning().judge_rest(&content.message_id, &content.subagent_run_id, findings);
            }
            Event::ReasoningMessageEnd(end) => {
                self.reasoning().judge_rest(&end.message_id, &end.subagent_run_id, findings);
            }
            Event::ReasoningEncryptedValue(value) => self.judge_encrypted_value(value, findings),
            Event::ActivityDelta(delta) => {
                let owner = self.owners.activities.get(&delta.message_id);
                judge_owner("messageId", &delta.message_id, &delta.subagent_run_id, owner, findings);
            }
            Event::StepStarted(step) => {
                if self.steps.is_open(&step.step_name, &step.subagent_run_id) {
                    findings.raise(Rule::StepAlreadyOpen, step_ids(&step.step_name, &step.subagent_run_id));
                }
            }
            Event::StepFinished(step) => {
                self.judge_step_end(&step.step_name, &step.subagent_run_id, findings);
            }
            Event::SubagentStarted(start) => self.judge_subagent_start(start, findings),
            Event::SubagentFinished(SubagentFinished { subagent_run_id: id, .. })
            | Event::SubagentError(SubagentError { subagent_run_id: id, .. }) => {
                if !self.subagents.contains(id) {
                    findings.raise(Rule::SubagentNotActive, [NamedId::new("subagentRunId", id)]);
                }
            }
            Event::RunFinished(_) => self.judge_finish(findings),
            Event::TextMessageChunk(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageChunk(_)
            | Event::ToolCallResult(_)
            | Event::StateSnapshot(_)
            | Event::StateDelta(_)
            | Event::MessagesSnapshot(_)
            | Event::ActivitySnapshot(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::RunStarted(_)
            | Event::RunError(_)
            | Event::Unknown(_) => {}
        }
    }

    fn judge_call_start(&self, start: &ToolCallStart<'_>, findings: &mut Findings<'_, '_>) {
        let (id, tag) = (&start.tool_call_id, &start.subagent_run_id);
        let own = self.owners.calls.get(id);
        let parent = self.parent_owner(start);
        if self.calls.contains(id) {
            findings.raise(Rule::CallAlreadyOpen, [NamedId::new("toolCallId", id)]);
        }
        // A call that stands in a message has no owner of its own, so it cannot be another's than the message.
        if let Some(parent) = parent
            && tag.is_some()
            && tag != parent
        {
            let owner = NamedId::owner("subagentRunId", tag.as_ref());
            findings.raise(Rule::CallParentMismatch, call_ids(start, owner, parent));
        }
        judge_owner("toolCallId", id, tag, own, findings);
        if let (None, Some(parent), Some(own)) = (tag, parent, own)
            && parent != own
        {
            let owner = NamedId::owner("owner", own.as_ref());
            findings.raise(Rule::CallMoved, call_ids(start, owner, parent));
        }
    }

    /// Who owns the message that a call stands in, if that is known.
    fn parent_owner(&self, start: &ToolCallStart<'_>) -> Option<&Owner<'static>> {
        start.parent_message_id.as_ref().and_then(|id| self.owners.messages.get(id))
    }

    fn judge_encrypted_value(&self, value: &ReasoningEncryptedValue<'_>, findings: &mut Findings<'_, '_>) {
        let id = &value.entity_id;
        let owner = match value.subtype {
            EncryptedSubtype::ToolCall => self.owners.calls.get(id),
            EncryptedSubtype::Message => {
                self.owners.messages.get(id).or_else(|| self.owners.reasoning.get(id))
            }
            EncryptedSubtype::Unknown(_) => self.owners.reasoning.get(id),
        };
        judge_owner("entityId", id, &value.subagent_run_id, owner, findings);
    }

    fn judge_step_end(&self, name: &Text<'_>, owner: &Owner<'_>, findings: &mut Findings<'_, '_>) {
        if self.steps.is_open(name, owner) {
            return;
        }
        let mut ids = step_ids(name, owner);
        match self.steps.any_owner(name) {
            // Likely closed by whichever subagent was active, so that a search for a missing start would be in vain.
            Some(other) => {
                ids.push(NamedId::owner("owner", other.as_ref()));
                findings.raise(Rule::StepOfAnother, ids);
            }
            None => findings.raise(Rule::StepNotOpen, ids),
        }
    }

    fn judge_subagent_start(&self, start: &SubagentStarted<'_>, findings: &mut Findings<'_, '_>) {
        let id = &start.subagent_run_id;
        if self.subagents.contains(id) {
            findings.raise(Rule::SubagentAlreadyActive, [NamedId::new("subagentRunId", id)]);
        }
        if self.subagents_ended.contains(id.wtf8()) {
            findings.raise(Rule::SubagentReused, [NamedId::new("subagentRunId", id)]);
        }
        if let Some(parent) = &start.parent_subagent_run_id
            && !self.subagents.contains(parent)
            && !self.subagents_ended.contains(parent.wtf8())
        {
            let ids = [NamedId::new("subagentRunId", id), NamedId::new("parentSubagentRunId", parent)];
            findings.raise(Rule::SubagentParentUnknown, ids);
        }
    }

    /// Everything must have ended, in the order in which the reference asks.
    fn judge_finish(&self, findings: &mut Findings<'_, '_>) {
        if self.steps.len() > 0 {
            findings.raise_list(Rule::StepsLeftOpen, "stepName", self.steps.names(), self.steps.len());
        }
        for (rule, id_field, open) in [
            (Rule::TextsLeftOpen, "messageId", &self.texts),
            (Rule::ReasoningLeftOpen, "messageId", &self.reasoning),
            (Rule::SpansLeftOpen, "messageId", &self.spans),
            (Rule::CallsLeftOpen, "toolCallId", &self.calls),
            (Rule::SubagentsLeftActive, "subagentRunId", &self.subagents),
        ] {
            if !open.is_empty() {
                findings.raise_list(rule, id_field, open.iter(), open.len());
            }
        }
    }

    /// Takes in an event that was judged and passed.
    pub(super) fn apply(&mut self, event: &Event<'_>) {
        match event {
            Event::TextMessageStart(start) => {
                self.texts.add(&start.message_id);
                self.owners.messages.set_first(&start.message_id, &start.subagent_run_id);
            }
            Event::TextMessageEnd(end) => self.texts.remove(&end.message_id),
            Event::ToolCallStart(start) => {
                let inherited = self.parent_owner(start).cloned().flatten();
                let owner = start.subagent_run_id.clone().or(inherited);
                self.calls.add(&start.tool_call_id);
                self.owners.calls.set_first(&start.tool_call_id, &owner);
            }
            Event::ToolCallEnd(end) => self.calls.remove(&end.tool_call_id),
            // A result makes a message of its own, and may be another's than the call.
            Event::ToolCallResult(result) => {
                self.owners.messages.set(&result.message_id, &result.subagent_run_id);
            }
            Event::ReasoningStart(start) => {
                self.spans.add(&start.message_id);
                self.owners.reasoning.set_first(&start.message_id, &start.subagent_run_id);
            }
            Event::ReasoningEnd(end) => self.spans.remove(&end.message_id),
            Event::ReasoningMessageStart(start) => {
                self.reasoning.add(&start.message_id);
                self.owners.reasoning.set_first(&start.message_id, &start.subagent_run_id);
            }
            Event::ReasoningMessageEnd(end) => self.reasoning.remove(&end.message_id),
            Event::ActivitySnapshot(snapshot) => {
                let (id, owner) = (&snapshot.message_id, &snapshot.subagent_run_id);
                match snapshot.replace {
                    Some(false) => self.owners.activities.set_first(id, owner),
                    None | Some(true) => self.owners.activities.set(id, owner),
                }
            }
            Event::StepStarted(step) => self.steps.open(&step.step_name, &step.subagent_run_id),
            Event::StepFinished(step) => self.steps.close(&step.step_name, &step.subagent_run_id),
            Event::SubagentStarted(start) => self.subagents.add(&start.subagent_run_id),
            Event::SubagentFinished(SubagentFinished { subagent_run_id: id, .. })
            | Event::SubagentError(SubagentError { subagent_run_id: id, .. }) => {
                self.subagents.remove(id);
                self.subagents_ended.insert(id.clone().into_owned());
            }
            Event::MessagesSnapshot(snapshot) => {
                self.owners.seed(&snapshot.messages, Authority::Overrules);
            }
            _ => {}
        }
    }

    /// A new run. Its input may show messages of earlier ones.
    pub(super) fn begun(history: &[Message<'_>]) -> Self {
        let mut run = Self::default();
        run.owners.seed(history, Authority::Yields);
        run
    }

    pub(super) fn is_call_open(&self, id: &Text<'_>) -> bool {
        self.calls.contains(id)
    }

    const fn texts(&self) -> Bracket<'_> {
        Bracket {
            id_field: "messageId",
            open: &self.texts,
            owners: &self.owners.messages,
            already_open: Rule::TextAlreadyOpen,
            not_open: Rule::TextNotOpen,
        }
    }

    const fn calls(&self) -> Bracket<'_> {
        Bracket {
            id_field: "toolCallId",
            open: &self.calls,
            owners: &self.owners.calls,
            already_open: Rule::CallAlreadyOpen,
            not_open: Rule::CallNotOpen,
        }
    }

    const fn spans(&self) -> Bracket<'_> {
        Bracket {
            id_field: "messageId",
            open: &self.spans,
            owners: &self.owners.reasoning,
            already_open: Rule::SpanAlreadyOpen,
            not_open: Rule::SpanNotOpen,
        }
    }

    const fn reasoning(&self) -> Bracket<'_> {
        Bracket {
            id_field: "messageId",
            open: &self.reasoning,
            owners: &self.owners.reasoning,
            already_open: Rule::ReasoningAlreadyOpen,
            not_open: Rule::ReasoningNotOpen,
        }
    }
}

impl Bracket<'_> {
    /// What ended may begin again, with the same owner.
    fn judge_start(&self, id: &Text<'_>, tag: &Owner<'_>, findings: &mut Findings<'_, '_>) {
        if self.open.contains(id) {
            findings.raise(self.already_open, [NamedId::new(self.id_field, id)]);
        }
        self.judge_owner(id, tag, findings);
    }

    fn judge_rest(&self, id: &Text<'_>, tag: &Owner<'_>, findings: &mut Findings<'_, '_>) {
        if !self.open.contains(id) {
            findings.raise(self.not_open, [NamedId::new(self.id_field, id)]);
        }
        self.judge_owner(id, tag, findings);
    }

    fn judge_owner(&self, id: &Text<'_>, tag: &Owner<'_>, findings: &mut Findings<'_, '_>) {
        // Most events have no tag, and need no look-up.
        if tag.is_some() {
            judge_owner(self.id_field, id, tag, self.owners.get(id), findings);
        }
    }
}

/// A tag must name the owner on record, who may be the agent itself. Without a tag an event is the owner's, and without
/// a record it is anyone's.
fn judge_owner(
    id_field: &'static str,
    id: &Text<'_>,
    tag: &Owner<'_>,
    owner: Option<&Owner<'_>>,
    findings: &mut Findings<'_, '_>,
) {
    if let Some(owner) = owner
        && tag.is_some()
        && tag != owner
    {
        let ids = [
            NamedId::new(id_field, id),
            NamedId::owner("subagentRunId", tag.as_ref()),
            NamedId::owner("owner", owner.as_ref()),
        ];
        findings.raise(Rule::OwnerMismatch, ids);
    }
}

fn call_ids(start: &ToolCallStart<'_>, owner: NamedId, parent_owner: &Owner<'_>) -> Vec<NamedId> {
    let mut ids = vec![NamedId::new("toolCallId", &start.tool_call_id), owner];
    ids.extend(start.parent_message_id.iter().map(|id| NamedId::new("parentMessageId", id)));
    ids.push(NamedId::owner("parentOwner", parent_owner.as_ref()));
    ids
}

fn step_ids(name: &Text<'_>, owner: &Owner<'_>) -> Vec<NamedId> {
    vec![NamedId::new("stepName", name), NamedId::owner("subagentRunId", owner.as_ref())]
}
