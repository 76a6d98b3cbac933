//! The events of a prelude.

use super::Joiner;
use crate::event::{
    Event, MessagesSnapshot, ReasoningMessageChunk, ReasoningMessageEnd, ReasoningMessageStart,
    ReasoningStart, RunFinished, RunStarted, StateSnapshot, StepStarted, TextMessageChunk, TextMessageEnd,
    TextMessageStart, ToolCallChunk, ToolCallEnd, ToolCallResult, ToolCallStart,
};
use crate::json::Text;
use crate::message::{AssistantMessage, Message};
use crate::run::{Interrupts, RunAgentInput, RunInterrupt, RunOutcome, RunSuccess};
use crate::stages::expand::{Kind, Opening, Stream};
use crate::stages::fold::{Fold, RunStatus};
use crate::stages::mint::mint;
use crate::stages::ongoing::Ongoing;
use crate::stages::repair::Repairer;
use crate::stages::verify::{OpenThing, OpenThings};
use std::collections::HashSet;

pub(super) fn prelude(joiner: &Joiner) -> Vec<Event<'static>> {
    let Joiner { ongoing, fold, started, subagents } = joiner;
    let started = started.clone().or_else(|| last_run(fold));
    let Some(started) = &started else { return Vec::new() };
    let messages: Vec<_> = fold.messages().cloned().collect();
    let state = StateSnapshot::new(fold.state()).into();
    let mut messages = MessagesSnapshot::new(messages);
    messages.mark_synthesised();
    let messages = messages.into();
    if ongoing.current_run().is_none() {
        return vec![started.clone().into(), state, messages, finished(started, fold)];
    }
    let mut events = Vec::new();
    let open = ongoing.open_things();
    // What a snapshot has taken away while it was open is open still, though nobody holds it. Said before the snapshot, it
    // goes the same way.
    let (held, gone) = Starts::of(&open, ongoing, fold);
    if gone.is_empty() && !ongoing.agrees_with(fold.messages()) {
        // The snapshot would give things to others than who has them. What a run says about owners ends with it.
        let [before, finished] = earlier_run(started, fold);
        events.extend([before, state, messages, finished]);
        events.push(with_owners(started, ongoing, fold).into());
    } else {
        events.extend(interrupted_run(fold).into_iter().flatten());
        events.push(started.clone().into());
        events.extend(gone);
        events.extend([state, messages]);
    }
    events.extend(subagents.iter().cloned());
    events.extend(open.steps.into_iter().map(|step| tagged(StepStarted::new(step.id).into(), step.owner)));
    events.extend(open.spans.into_iter().map(|span| tagged(ReasoningStart::new(span.id).into(), span.owner)));
    events.extend(held);
    // Any other event of the same producer would end what its chunks assemble.
    for stream in ongoing.open_chunks() {
        events.push(opening_chunk(stream));
        if !ongoing.is_open(stream) {
            events.push(ended_by_another(ongoing, stream));
        }
    }
    by_the_snapshot(events)
}

/// The same, with the owners that the snapshot gives: it may have to be in the run that goes on, and give things to others
/// than who has them. What follows it says what it says.
fn by_the_snapshot(events: Vec<Event<'static>>) -> Vec<Event<'static>> {
    let mut repairer = Repairer::new();
    let mut out = Vec::with_capacity(events.len());
    for event in events {
        let repaired = repairer.repair(&event);
        if repaired.changes.is_empty() {
            out.push(event);
        } else {
            out.extend(repaired.output.iter().cloned());
        }
    }
    out
}

/// The start of the last run that a fold knows of, for who has not followed the stream from its start.
fn last_run(fold: &Fold) -> Option<RunStarted<'static>> {
    let run = fold.runs().last()?;
    Some(RunStarted::new(run.thread_id.clone()?, run.run_id.clone()?))
}

/// The end of a run on a thread where nothing goes on.
fn finished(started: &RunStarted<'static>, fold: &Fold) -> Event<'static> {
    let mut finished = RunFinished::new(started.thread_id.clone(), started.run_id.clone());
    finished.outcome = match Interrupts::try_from(fold.interrupts().to_vec()) {
        Ok(interrupts) => Some(RunInterrupt::new(interrupts).into()),
        Err(_none) => {
            let pending = fold.pending_tool_calls();
            (!pending.is_empty()).then(|| RunSuccess::new().with_pending_tool_call_ids(pending).into())
        }
    };
    finished.into()
}

/// The run whose questions are open while another goes on, for they stay open if that one fails.
fn interrupted_run(fold: &Fold) -> Option<[Event<'static>; 2]> {
    let interrupts = Interrupts::try_from(fold.interrupts().to_vec()).ok()?;
    let run = fold.runs().iter().rev().find(|run| run.status == RunStatus::Interrupted);
    let (thread, run) = run.map(|run| (run.thread_id.clone(), run.run_id.clone())).unwrap_or_default();
    let (thread, run) = (thread.unwrap_or_default(), run.unwrap_or_default());
    let outcome = RunOutcome::from(RunInterrupt::new(interrupts));
    Some([
        RunStarted::new(thread.clone(), run.clone()).into(),
        RunFinished::new(thread, run).with_outcome(outcome).into(),
    ])
}

/// A run before the one that goes on, for a snapshot: the one whose questions are open, if there is one.
fn earlier_run(started: &RunStarted<'static>, fold: &Fold) -> [Event<'static>; 2] {
    interrupted_run(fold).unwrap_or_else(|| {
        let (thread, run) = (started.thread_id.clone(), &started.run_id);
        let run = mint(&thread, run, b"before");
        [RunStarted::new(thread.clone(), run.clone()).into(), RunFinished::new(thread, run).into()]
    })
}

/// The run's start, with the owners of messages, which calls inherit. The reader holds the messages, so they say no more.
fn with_owners(started: &RunStarted<'static>, ongoing: &Ongoing, fold: &Fold) -> RunStarted<'static> {
    let owned = fold.messages().filter_map(|message| {
        let id = message.id()?;
        let mut owned = AssistantMessage::new(id.clone());
        owned.subagent_run_id = Some(ongoing.message_owner(id)??);
        Some(Message::from(owned))
    });
    let owned: Vec<Message<'static>> = owned.collect();
    let mut started = started.clone();
    if !owned.is_empty() {
        let (thread, run) = (started.thread_id.clone(), started.run_id.clone());
        let input = started.input.get_or_insert_with(|| RunAgentInput::new(thread, run, Vec::new()).into());
        input.messages = owned;
    }
    started
}

fn tagged(mut event: Event<'static>, owner: Option<Text<'static>>) -> Event<'static> {
    if let Some(tag) = event.tag_mut() {
        *tag = owner;
    }
    event
}

/// The starts of messages and calls.
struct Starts<'j> {
    ongoing: &'j Ongoing,
    fold: &'j Fold,
    held: Vec<Event<'static>>,
    gone: Vec<Event<'static>>,
}

impl<'j> Starts<'j> {
    /// Those of what the reader holds, and those of what nobody holds any more.
    fn of(
        open: &OpenThings,
        ongoing: &'j Ongoing,
        fold: &'j Fold,
    ) -> (Vec<Event<'static>>, Vec<Event<'static>>) {
        let mut starts = Self { ongoing, fold, held: Vec::new(), gone: Vec::new() };
        for thing in starts.opened_by_starts(Kind::Text, &open.texts) {
            starts.message(thing, TextMessageStart::new(thing.id.clone()).into());
        }
        let texts: HashSet<&Text<'_>> = open.texts.iter().map(|text| &text.id).collect();
        for thing in starts.opened_by_starts(Kind::Reasoning, &open.reasoning) {
            // A snapshot without reasoning takes none away, so that what this start makes must be something else.
            if fold.message(&thing.id).is_none() && !texts.contains(&thing.id) {
                // Its owner goes on record, too, for what is encrypted may be said of either.
                let (id, owner) = (&thing.id, &thing.owner);
                starts.gone.push(tagged(TextMessageStart::new(id.clone()).into(), owner.clone()));
                starts.gone.push(tagged(TextMessageEnd::new(id.clone()).into(), owner.clone()));
            }
            starts.message(thing, ReasoningMessageStart::new(thing.id.clone()).into());
        }
        let calls: HashSet<&Text<'_>> = open.calls.iter().map(|call| &call.id).collect();
        let unanswered: HashSet<&Text<'_>> = open.unanswered.iter().map(|call| &call.id).collect();
        // In the order in which the calls were started, which is that of the pending ones.
        for call in starts.opened_by_starts(Kind::Call, &open.unanswered) {
            starts.call(call, calls.contains(&call.id));
        }
        for call in open.calls.iter().filter(|call| !unanswered.contains(&call.id)) {
            starts.answered_call(call);
        }
        (starts.held, starts.gone)
    }

    fn opened_by_starts<'o>(&self, kind: Kind, things: &'o [OpenThing]) -> Vec<&'o OpenThing> {
        things.iter().filter(|thing| self.ongoing.open_chunk(kind, &thing.id).is_none()).collect()
    }

    fn message(&mut self, thing: &OpenThing, start: Event<'static>) {
        let is_held = self.fold.message(&thing.id).is_some();
        let starts = if is_held { &mut self.held } else { &mut self.gone };
        starts.push(tagged(start, thing.owner.clone()));
    }

    fn call(&mut self, call: &OpenThing, is_open: bool) {
        let held = self.fold.tool_call(&call.id);
        let name = held.map(|held| held.function.name.clone()).unwrap_or_default();
        let mut start = ToolCallStart::new(call.id.clone(), name);
        if held.is_none() {
            // A message that only this start makes, so that the snapshot takes it away.
            start.parent_message_id = Some(self.id_of_nobody(&call.id));
        }
        let starts = if held.is_some() { &mut self.held } else { &mut self.gone };
        starts.push(tagged(start.into(), call.owner.clone()));
        if !is_open {
            starts.push(tagged(ToolCallEnd::new(call.id.clone()).into(), call.owner.clone()));
        }
    }

    /// A call that was answered before it ended. That it was is said before the snapshot, which has the result.
    fn answered_call(&mut self, call: &OpenThing) {
        let nobody = self.id_of_nobody(&call.id);
        let name = self.fold.tool_call(&call.id).map(|held| held.function.name.clone()).unwrap_or_default();
        let start = ToolCallStart::new(call.id.clone(), name).with_parent_message_id(nobody.clone());
        self.gone.push(tagged(start.into(), call.owner.clone()));
        if self.ongoing.open_chunk(Kind::Call, &call.id).is_some() {
            self.gone.push(tagged(ToolCallEnd::new(call.id.clone()).into(), call.owner.clone()));
        }
        self.gone.push(ToolCallResult::new(nobody, call.id.clone(), "").into());
    }

    fn id_of_nobody(&self, call_id: &Text<'_>) -> Text<'static> {
        let nobody = (Text::default(), Text::default());
        let (thread, run) = self.ongoing.current_run().unwrap_or(&nobody);
        mint(thread, run, &[b"gone:", call_id.wtf8()].concat()).into()
    }
}

/// A chunk that opens what chunks have opened before, and says no more than that.
fn opening_chunk(stream: &Stream) -> Event<'static> {
    let id = stream.id.clone();
    let chunk = match &stream.opening {
        Opening::Text { role, name } => {
            let mut chunk = TextMessageChunk::new().with_message_id(id).with_role(role.clone());
            chunk.name.clone_from(name);
            chunk.into()
        }
        Opening::Call { name, parent_message_id } => {
            let mut chunk = ToolCallChunk::new().with_tool_call_id(id).with_tool_call_name(name.clone());
            chunk.parent_message_id.clone_from(parent_message_id);
            chunk.into()
        }
        Opening::Reasoning => ReasoningMessageChunk::new().with_message_id(id).into(),
    };
    tagged(chunk, stream.owner.clone())
}

/// The end of something that chunks have opened, said elsewhere than in their lane, so that the lane goes on.
fn ended_by_another(ongoing: &Ongoing, stream: &Stream) -> Event<'static> {
    let id = stream.id.clone();
    let end = match stream.kind() {
        Kind::Text => TextMessageEnd::new(id).into(),
        Kind::Reasoning => ReasoningMessageEnd::new(id).into(),
        Kind::Call => ToolCallEnd::new(id).into(),
    };
    let owner = if stream.owner.is_none() { ongoing.owner_of(stream) } else { None };
    tagged(end, owner)
}
