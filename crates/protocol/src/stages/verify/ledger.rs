//! Which tool calls were started, and which were answered.

use super::findings::Findings;
use super::id_set::IdSet;
use super::rule::Rule;
use crate::event::{RunFinished, ToolCallResult};
use crate::json::Text;
use crate::message::Message;
use crate::run::RunOutcome;
use crate::stages::NamedId;
use std::collections::{HashMap, HashSet};

/// The calls of a stream. The reference keeps no such book in its verifier, so that everything here is a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    calls: HashMap<Text<'static>, Call>,
    /// Calls that this run started and nobody answered.
    pending: IdSet,
    /// Calls that the last snapshot of this run's messages shows, and no result of them.
    shown: HashSet<Text<'static>>,
    /// How many runs there were.
    runs: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    /// The run that last started or answered it, counted from 1; 0 if it is only known from messages.
    run: u64,
    answered: bool,
}

impl Ledger {
    pub(super) fn judge_result(
        &self,
        result: &ToolCallResult<'_>,
        is_open: bool,
        findings: &mut Findings<'_, '_>,
    ) {
        let id = || [NamedId::new("toolCallId", &result.tool_call_id)];
        let call = self.calls.get(result.tool_call_id.wtf8());
        if call.is_none() {
            findings.raise(Rule::ResultOfUnknownCall, id());
        }
        if is_open {
            findings.raise(Rule::ResultOfOpenCall, id());
        }
        if call.is_some_and(|call| call.answered) {
            findings.raise(Rule::ResultRepeated, id());
        }
    }

    /// An outcome that lists no pending calls says nothing about them. One that does lists all that the run started and
    /// nobody answered, in order; calls that it restated in a snapshot, which may come from anywhere, it may list.
    pub(super) fn judge_finish(&self, finished: &RunFinished<'_>, findings: &mut Findings<'_, '_>) {
        let Some(RunOutcome::Success(success)) = &finished.outcome else { return };
        let Some(listed) = success.pending_tool_call_ids.as_deref().filter(|listed| !listed.is_empty())
        else {
            return;
        };
        let listed = listed.iter().filter(|id| self.pending.contains(id) || !self.shown.contains(id.wtf8()));
        let (mut listed, mut derived) = (listed, self.pending.iter());
        loop {
            match (listed.next(), derived.next()) {
                (None, None) => return,
                (Some(listed), Some(derived)) if listed == derived => {}
                // The first place where the lists differ.
                (listed, derived) => {
                    let listed = listed.map(|id| NamedId::new("listed", id));
                    let derived = derived.map(|id| NamedId::new("derived", id));
                    let ids: Vec<NamedId> = listed.into_iter().chain(derived).collect();
                    return findings.raise(Rule::PendingCallsDiffer, ids);
                }
            }
        }
    }

    /// Calls that this run started and nobody answered, in the order in which it started them.
    pub(super) fn pending(&self) -> impl Iterator<Item = &Text<'static>> {
        self.pending.iter()
    }

    pub(super) fn begin_run(&mut self) {
        self.pending = IdSet::default();
        self.shown.clear();
        self.runs += 1;
    }

    /// A call that an earlier run started is a new one; one that this run started is the same, and stays answered.
    pub(super) fn start(&mut self, id: &Text<'_>) {
        let call = Call { run: self.runs, answered: false };
        match self.calls.get_mut(id.wtf8()) {
            Some(known) if known.run == self.runs && known.answered => return,
            Some(known) => *known = call,
            None => {
                self.calls.insert(id.clone().into_owned(), call);
            }
        }
        self.pending.add(id);
    }

    pub(super) fn answer(&mut self, id: &Text<'_>) {
        let call = Call { run: self.runs, answered: true };
        match self.calls.get_mut(id.wtf8()) {
            Some(known) => *known = call,
            None => {
                self.calls.insert(id.clone().into_owned(), call);
            }
        }
        self.pending.remove(id);
        self.shown.remove(id.wtf8());
    }

    /// A snapshot of the messages in a run.
    pub(super) fn show(&mut self, messages: &[Message<'_>]) {
        self.seed(messages);
        self.shown = calls_of(messages).map(|id| id.clone().into_owned()).collect();
        for message in messages {
            if let Message::Tool(result) = message {
                self.shown.remove(result.tool_call_id.wtf8());
            }
        }
        self.shown.retain(|id| self.calls.get(id.wtf8()).is_none_or(|call| !call.answered));
    }

    /// The calls in messages that are sent whole are known, whoever started them.
    pub(super) fn seed(&mut self, messages: &[Message<'_>]) {
        for id in calls_of(messages) {
            if !self.calls.contains_key(id.wtf8()) {
                self.calls.insert(id.clone().into_owned(), Call { run: 0, answered: false });
            }
        }
    }
}

fn calls_of<'m, 'a>(messages: &'m [Message<'a>]) -> impl Iterator<Item = &'m Text<'a>> {
    let assistants = messages.iter().filter_map(|message| match message {
        Message::Assistant(message) => Some(message),
        _ => None,
    });
    assistants.flat_map(|message| message.tool_calls.iter().flatten()).map(|call| &call.id)
}
