//! What can be done about an event that a reader would refuse.

use super::super::close::{Cause, closing_events, ends, reopening, step_ends, terminal};
use super::super::expand::{ExpandRule, Kind};
use super::super::mint::mint;
use super::super::missing_start::missing_start;
use super::super::ongoing::{Ongoing, Refusal};
use super::super::verify::Rule;
use super::call_names::CallNames;
use crate::event::{
    Event, ReasoningMessageChunk, ReasoningMessageContent, RunFinished, RunStarted, SubagentFinished,
    TextMessageChunk, TextMessageContent, ToolCallArgs, ToolCallChunk,
};
use crate::json::Text;
use crate::run::{RunOutcome, SubagentSuspended};

/// What to do about an event that is refused. It is tried again afterwards.
#[expect(clippy::large_enum_variant, reason = "it lives on the stack for a moment")]
pub(super) enum Mend<'a> {
    /// Events before it make it good.
    Add(Vec<Event<'static>>),
    /// Another event says what it meant.
    Alter(Event<'a>),
    /// It means nothing here.
    Drop,
}

pub(super) fn mend<'a>(
    event: &Event<'a>,
    refusal: &Refusal,
    ongoing: &Ongoing,
    names: &CallNames,
    nameless: u64,
) -> Mend<'a> {
    match refusal {
        Refusal::Chunk(error) => mend_chunk(event, error.rule, ongoing, names, nameless),
        Refusal::Rule(violation) => mend_rule(event, violation.rule, ongoing, names),
        Refusal::End { end, .. } => match ended(end).and_then(|(kind, id)| ongoing.open_chunk(kind, id)) {
            Some(stream) => Mend::Add(vec![reopening(ongoing, stream)]),
            None => Mend::Drop,
        },
    }
}

/// Whether it is a chunk that has to be given an id.
pub(super) fn is_nameless(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Chunk(error) if error.rule == ExpandRule::MissingId)
}

fn ended<'e, 'a>(end: &'e Event<'a>) -> Option<(Kind, &'e Text<'a>)> {
    match end {
        Event::TextMessageEnd(end) => Some((Kind::Text, &end.message_id)),
        Event::ReasoningMessageEnd(end) => Some((Kind::Reasoning, &end.message_id)),
        Event::ToolCallEnd(end) => Some((Kind::Call, &end.tool_call_id)),
        _ => None,
    }
}

/// A chunk that cannot be expanded.
fn mend_chunk<'a>(
    event: &Event<'a>,
    rule: ExpandRule,
    ongoing: &Ongoing,
    names: &CallNames,
    nameless: u64,
) -> Mend<'a> {
    let mut event = event.clone();
    match rule {
        // Which of them it continues only its producer knows.
        ExpandRule::Ambiguous => return Mend::Drop,
        ExpandRule::OwnerMismatch => return without_tag(event),
        ExpandRule::MissingId => {
            let nobody = (Text::default(), Text::default());
            let (thread, run) = ongoing.current_run().unwrap_or(&nobody);
            let id = Some(mint(thread, run, format!("chunk:{nameless}").as_bytes()).into());
            match &mut event {
                Event::TextMessageChunk(chunk) => chunk.message_id = id,
                Event::ReasoningMessageChunk(chunk) => chunk.message_id = id,
                Event::ToolCallChunk(chunk) => chunk.tool_call_id = id,
                _ => return Mend::Drop,
            }
        }
        ExpandRule::MissingToolCallName => {
            let Event::ToolCallChunk(chunk) = &mut event else { return Mend::Drop };
            let name = chunk.tool_call_id.as_ref().map(|id| names.name_of(id));
            chunk.tool_call_name = name;
        }
        // What the first chunk said stands.
        ExpandRule::Conflict { .. } => match &mut event {
            Event::TextMessageChunk(chunk) => (chunk.role, chunk.name) = (None, None),
            Event::ToolCallChunk(chunk) => (chunk.tool_call_name, chunk.parent_message_id) = (None, None),
            _ => return Mend::Drop,
        },
    }
    Mend::Alter(event)
}

fn mend_rule<'a>(event: &Event<'a>, rule: Rule, ongoing: &Ongoing, names: &CallNames) -> Mend<'a> {
    match rule {
        Rule::BeforeRunStarted => Mend::Add(vec![missing_run(event)]),
        Rule::RunStillActive => mend_nested_run(event, ongoing),
        Rule::OwnerMismatch => with_owner(event, ongoing),
        Rule::CallParentMismatch => without_tag(event.clone()),
        Rule::CallMoved => {
            let Event::ToolCallStart(start) = event else { return Mend::Drop };
            let mut start = start.clone();
            start.parent_message_id = None;
            Mend::Alter(start.into())
        }
        Rule::TextNotOpen | Rule::ReasoningNotOpen | Rule::CallNotOpen => mend_orphan(event, ongoing, names),
        // What a chunk would open is open already, so it is a piece of that.
        Rule::TextAlreadyOpen | Rule::ReasoningAlreadyOpen | Rule::CallAlreadyOpen => as_piece(event),
        Rule::StepOfAnother => {
            let Event::StepFinished(step) = event else { return Mend::Drop };
            let Some(owner) = ongoing.step_owner(&step.step_name) else { return Mend::Drop };
            let mut step = step.clone();
            step.subagent_run_id = owner;
            Mend::Alter(step.into())
        }
        Rule::SubagentParentUnknown => {
            let Event::SubagentStarted(start) = event else { return Mend::Drop };
            let mut start = start.clone();
            start.parent_subagent_run_id = None;
            Mend::Alter(start.into())
        }
        Rule::StepsLeftOpen
        | Rule::TextsLeftOpen
        | Rule::ReasoningLeftOpen
        | Rule::SpansLeftOpen
        | Rule::CallsLeftOpen
        | Rule::SubagentsLeftActive => {
            let Event::RunFinished(finished) = event else { return Mend::Drop };
            Mend::Add(forgotten_ends(finished, ongoing))
        }
        // It says again what was said, or ends what is not there, or comes too late.
        _ => Mend::Drop,
    }
}

/// With the tag that is on record: said without one, it would be said by the agent, and end what that assembles.
fn with_owner<'a>(event: &Event<'a>, ongoing: &Ongoing) -> Mend<'a> {
    let mut event = event.clone();
    match (ongoing.recorded_owner(&event), event.tag_mut()) {
        (Some(owner), Some(tag)) if owner.is_some() && owner != *tag => *tag = owner,
        _ => return without_tag(event),
    }
    Mend::Alter(event)
}

fn without_tag(mut event: Event<'_>) -> Mend<'_> {
    match event.tag_mut().and_then(Option::take) {
        Some(_) => Mend::Alter(event),
        None => Mend::Drop,
    }
}

/// The thread and the run of what belongs to none.
const UNKNOWN: &str = "unknown";

/// The start of a run that nobody started.
fn missing_run(event: &Event<'_>) -> Event<'static> {
    match event {
        Event::RunFinished(finished) => {
            let ids = finished.clone().into_owned();
            RunStarted::new(ids.thread_id, ids.run_id).into()
        }
        // Any thread and any run will do, as the stream names none.
        _ => RunStarted::new(UNKNOWN, UNKNOWN).into(),
    }
}

/// A run that begins within another. Either it is the same, said again, or the other was cut off.
fn mend_nested_run<'a>(event: &Event<'a>, ongoing: &Ongoing) -> Mend<'a> {
    let Event::RunStarted(started) = event else { return Mend::Drop };
    let is_same = ongoing
        .current_run()
        .is_some_and(|(thread, run)| *thread == started.thread_id && *run == started.run_id);
    if is_same {
        return Mend::Drop;
    }
    // A run of ours was for what came too early, and nothing of it has failed.
    if ongoing.current_run().is_some_and(|(thread, run)| *thread == UNKNOWN && *run == UNKNOWN) {
        let finished = RunFinished::new(UNKNOWN, UNKNOWN);
        let mut events = forgotten_ends(&finished, ongoing);
        events.push(finished.into());
        return Mend::Add(events);
    }
    let mut events = closing_events(ongoing, Cause::Truncated);
    events.extend(terminal(ongoing, Cause::Truncated));
    Mend::Add(events)
}

/// Something about a message or a call that is not open.
fn mend_orphan<'a>(event: &Event<'a>, ongoing: &Ongoing, names: &CallNames) -> Mend<'a> {
    let is_assembled = match event {
        Event::TextMessageContent(content) => ongoing.open_chunk(Kind::Text, &content.message_id).is_some(),
        Event::ReasoningMessageContent(content) => {
            ongoing.open_chunk(Kind::Reasoning, &content.message_id).is_some()
        }
        Event::ToolCallArgs(args) => ongoing.open_chunk(Kind::Call, &args.tool_call_id).is_some(),
        // A chunk goes on with something that was ended by other means.
        Event::TextMessageChunk(_) | Event::ReasoningMessageChunk(_) | Event::ToolCallChunk(_) => {
            return Mend::Add(ongoing.orphaned_chunks().map(|stream| reopening(ongoing, stream)).collect());
        }
        // It has ended, or chunks assemble it, and it ends with them.
        _ => return Mend::Drop,
    };
    if is_assembled {
        return Mend::Alter(as_chunk(event));
    }
    let Some(mut start) = missing_start(event) else { return Mend::Drop };
    if let Event::ToolCallStart(call) = &mut start {
        call.tool_call_name = names.name_of(&call.tool_call_id);
    }
    Mend::Add(vec![start.into_owned()])
}

/// Copies what all events about messages and calls may carry.
macro_rules! carried_over {
    ($to:ident, $from:ident) => {{
        $to.timestamp = $from.timestamp;
        $to.raw_event.clone_from(&$from.raw_event);
        $to.metadata.clone_from(&$from.metadata);
        $to.extra.clone_from(&$from.extra);
    }};
}

/// A piece of what chunks assemble as one more chunk. It needs no tag, as it names the thing.
fn as_chunk<'a>(event: &Event<'a>) -> Event<'a> {
    match event {
        Event::TextMessageContent(content) => {
            let mut chunk = TextMessageChunk::new()
                .with_message_id(content.message_id.clone())
                .with_delta(content.delta.clone());
            carried_over!(chunk, content);
            chunk.into()
        }
        Event::ReasoningMessageContent(content) => {
            let mut chunk = ReasoningMessageChunk::new()
                .with_message_id(content.message_id.clone())
                .with_delta(content.delta.clone());
            carried_over!(chunk, content);
            chunk.into()
        }
        Event::ToolCallArgs(args) => {
            let mut chunk = ToolCallChunk::new()
                .with_tool_call_id(args.tool_call_id.clone())
                .with_delta(args.delta.clone());
            carried_over!(chunk, args);
            chunk.into()
        }
        other => other.clone(),
    }
}

/// A chunk of something that a start has opened as a piece of it. Other events that open it again say nothing new.
fn as_piece<'a>(event: &Event<'a>) -> Mend<'a> {
    match event {
        Event::TextMessageChunk(chunk) => {
            let Some(id) = &chunk.message_id else { return Mend::Drop };
            let Some(delta) = delta_of(&chunk.delta, &chunk.metadata, &chunk.raw_event) else {
                return Mend::Drop;
            };
            let mut content = TextMessageContent::new(id.clone(), delta.clone());
            carried_over!(content, chunk);
            content.subagent_run_id.clone_from(&chunk.subagent_run_id);
            Mend::Alter(content.into())
        }
        Event::ReasoningMessageChunk(chunk) => {
            let Some(id) = &chunk.message_id else { return Mend::Drop };
            let Some(delta) = delta_of(&chunk.delta, &chunk.metadata, &chunk.raw_event) else {
                return Mend::Drop;
            };
            let mut content = ReasoningMessageContent::new(id.clone(), delta.clone());
            carried_over!(content, chunk);
            content.subagent_run_id.clone_from(&chunk.subagent_run_id);
            Mend::Alter(content.into())
        }
        Event::ToolCallChunk(chunk) => {
            let Some(id) = &chunk.tool_call_id else { return Mend::Drop };
            let Some(delta) = delta_of(&chunk.delta, &chunk.metadata, &chunk.raw_event) else {
                return Mend::Drop;
            };
            let mut args = ToolCallArgs::new(id.clone(), delta.clone());
            carried_over!(args, chunk);
            args.subagent_run_id.clone_from(&chunk.subagent_run_id);
            Mend::Alter(args.into())
        }
        _ => Mend::Drop,
    }
}

/// The ends that the producer of a run forgot. The run says that it is done, so its parts are done, too.
fn forgotten_ends(finished: &RunFinished<'_>, ongoing: &Ongoing) -> Vec<Event<'static>> {
    if let Some(RunOutcome::Cancelled(_)) = finished.outcome {
        return closing_events(ongoing, Cause::Cancelled);
    }
    let mut events = ends(ongoing);
    events.extend(step_ends(ongoing));
    let interrupts = match &finished.outcome {
        Some(RunOutcome::Interrupt(outcome)) => outcome.interrupts.as_slice(),
        _ => &[],
    };
    // Those that were started last are the children of those before.
    for id in ongoing.open_things().subagents.into_iter().rev() {
        let asked = interrupts.iter().filter(|interrupt| interrupt.subagent_run_id.as_ref() == Some(&id));
        let asked: Vec<Text<'static>> = asked.map(|interrupt| interrupt.id.clone().into_owned()).collect();
        let mut end = SubagentFinished::new(id);
        if !asked.is_empty() {
            end.outcome = Some(SubagentSuspended::new().with_interrupt_ids(asked).into());
        }
        events.push(end.into());
    }
    events
}

/// The text of a chunk as that of a piece, which may say nothing but what it carries.
fn delta_of<'a, M, R>(
    delta: &Option<Text<'a>>,
    metadata: &Option<M>,
    raw_event: &Option<R>,
) -> Option<Text<'a>> {
    let carries = metadata.is_some() || raw_event.is_some();
    delta.clone().or_else(|| carries.then(Text::default))
}
