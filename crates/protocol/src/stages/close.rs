//! The close stage: the ends of whatever a run left open that did not end itself.

use super::expand::{Kind, Stream};
use super::mint::mint;
use super::ongoing::Ongoing;
use super::verify::OpenThing;
use crate::event::{
    Event, ReasoningEnd, ReasoningMessageEnd, ReasoningMessageStart, RunError, RunFinished, StepFinished,
    SubagentError, TextMessageEnd, TextMessageStart, ToolCallEnd, ToolCallResult, ToolCallStart,
};
use crate::json::Text;
use crate::run::{RunCancelled, RunOutcome};

/// Why a run is closed by another than its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Somebody stopped it on purpose.
    Cancelled,
    /// Its producer failed.
    Failed,
    /// Its events stopped before their end.
    Truncated,
    /// The server that ran it was shut down.
    Shutdown,
    /// The server that ran it is gone.
    Abandoned,
}

impl Cause {
    /// A stable word for programs: the `code` of the RUN_ERROR.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Truncated => "truncated",
            Self::Shutdown => "shutdown",
            Self::Abandoned => "abandoned",
        }
    }

    /// The same for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cancelled => "the run was cancelled",
            Self::Failed => "the run failed",
            Self::Truncated => "the run's events stopped before their end",
            Self::Shutdown => "the server was shut down during the run",
            Self::Abandoned => "the server that executed the run is gone",
        }
    }
}

/// The closing events for what a run has open, and nothing for what has ended: text and reasoning by their ends, steps,
/// subagents by SUBAGENT_ERROR, and every call that nobody answered by a result that says so. An end alone would make half
/// of the arguments look like all of them, and a call without a result keeps many models from going on.
///
/// The terminal event is the caller's: [`terminal`] for most. Whatever chunks have opened ends with it.
///
/// ```
/// use threadline_protocol::Event;
/// use threadline_protocol::event::{RunStarted, TextMessageStart};
/// use threadline_protocol::stages::close::{Cause, closing_events, terminal};
/// use threadline_protocol::stages::ongoing::Ongoing;
///
/// let mut ongoing = Ongoing::new();
/// for event in [Event::from(RunStarted::new("t1", "r1")), TextMessageStart::new("m1").into()] {
///     ongoing.take(&event).expect("the stream is good");
/// }
/// let mut made = closing_events(&ongoing, Cause::Truncated);
/// made.extend(terminal(&ongoing, Cause::Truncated));
/// let types: Vec<String> = made.iter().map(|event| event.type_name().to_string()).collect();
/// assert_eq!(types, ["TEXT_MESSAGE_END", "RUN_ERROR"]);
/// ```
#[must_use]
pub fn closing_events(ongoing: &Ongoing, cause: Cause) -> Vec<Event<'static>> {
    let Some((thread, run)) = ongoing.current_run() else { return Vec::new() };
    let mut events = ends(ongoing);
    for call in ongoing.open_things().unanswered {
        // The lane that a call is assembled in ends with its result, if that is said there.
        let lane = ongoing.open_chunk(Kind::Call, &call.id).map(|stream| stream.owner.clone());
        let id = mint(thread, run, &[b"result:", call.id.wtf8()].concat());
        let mut result = ToolCallResult::new(id, call.id, format!("No result: {}.", cause.describe()));
        result.subagent_run_id = lane.unwrap_or(call.owner);
        events.push(result.into());
    }
    events.extend(step_ends(ongoing));
    // Those that were started last are the children of those before.
    for id in ongoing.open_things().subagents.into_iter().rev() {
        events.push(SubagentError::new(id, cause.describe()).with_code(cause.code()).into());
    }
    events
}

/// The terminal event of a run that goes on: RUN_FINISHED if it was cancelled, RUN_ERROR otherwise.
#[must_use]
pub fn terminal(ongoing: &Ongoing, cause: Cause) -> Option<Event<'static>> {
    let (thread, run) = ongoing.current_run()?;
    Some(match cause {
        Cause::Cancelled => RunFinished::new(thread.clone(), run.clone())
            .with_outcome(RunOutcome::from(RunCancelled::new()))
            .into(),
        _ => RunError::new(cause.describe()).with_code(cause.code()).into(),
    })
}

/// The ends of messages, spans and calls that are open.
pub(super) fn ends(ongoing: &Ongoing) -> Vec<Event<'static>> {
    let open = ongoing.open_things();
    // What chunks have opened ends by itself, unless something else has ended it, and then it must be open to end again.
    let mut events: Vec<Event<'static>> =
        ongoing.orphaned_chunks().map(|stream| reopening(ongoing, stream)).collect();
    let by_start = |kind: Kind, things: Vec<OpenThing>| {
        things.into_iter().filter(move |thing| ongoing.open_chunk(kind, &thing.id).is_none())
    };
    macro_rules! end {
        ($things:expr, $end:ident) => {
            events.extend($things.map(|thing| {
                let mut end = $end::new(thing.id);
                end.subagent_run_id = thing.owner;
                Event::from(end)
            }))
        };
    }
    end!(by_start(Kind::Text, open.texts), TextMessageEnd);
    end!(by_start(Kind::Reasoning, open.reasoning), ReasoningMessageEnd);
    end!(open.spans.into_iter(), ReasoningEnd);
    end!(by_start(Kind::Call, open.calls), ToolCallEnd);
    events
}

/// The ends of steps that are open.
pub(super) fn step_ends(ongoing: &Ongoing) -> impl Iterator<Item = Event<'static>> {
    ongoing.open_things().steps.into_iter().map(|step| {
        let mut end = StepFinished::new(step.id);
        end.subagent_run_id = step.owner;
        end.into()
    })
}

/// The start of something that chunks have opened and something else has ended, so that it can end with its chunks.
///
/// It must not be said in the lane of the chunks, where it would bring about the end that it is to make good. An untagged
/// one is in the agent's; there, whoever could end the thing with a tag is on record as its owner.
pub(super) fn reopening(ongoing: &Ongoing, stream: &Stream) -> Event<'static> {
    let id: Text<'static> = stream.id.clone();
    let mut start: Event<'static> = match stream.kind() {
        Kind::Text => TextMessageStart::new(id).into(),
        Kind::Reasoning => ReasoningMessageStart::new(id).into(),
        Kind::Call => ToolCallStart::new(id, stream.call_name().cloned().unwrap_or_default()).into(),
    };
    if let (None, Some(tag)) = (&stream.owner, start.tag_mut()) {
        *tag = ongoing.owner_of(stream);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::testing::{consumed, lines, read};
    use crate::stages::verify::{Options, Rule};
    use proptest::prelude::*;
    use threadline_testkit::random::Random;
    use threadline_testkit::streams;

    const CAUSES: [Cause; 5] =
        [Cause::Cancelled, Cause::Failed, Cause::Truncated, Cause::Shutdown, Cause::Abandoned];

    fn ongoing(events: &[Event<'_>]) -> Ongoing {
        let mut ongoing = Ongoing::new();
        for event in events {
            ongoing.take(event).unwrap();
        }
        ongoing
    }

    #[test]
    fn everything_that_is_open_ends() {
        let events = lines(&[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
            r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"outer"}"#,
            r#"{"type":"SUBAGENT_STARTED","subagentRunId":"u","name":"inner","parentSubagentRunId":"s"}"#,
            r#"{"type":"STEP_STARTED","stepName":"x","subagentRunId":"u"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"u"}"#,
            r#"{"type":"REASONING_START","messageId":"q"}"#,
            r#"{"type":"REASONING_MESSAGE_START","messageId":"q","role":"reasoning"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"ended","toolCallName":"f"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"ended"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"open","toolCallName":"f","parentMessageId":"m"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"answered","toolCallName":"f"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"answered"}"#,
            r#"{"type":"TOOL_CALL_RESULT","messageId":"a","toolCallId":"answered","content":"1"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"chunked","delta":"a"}"#,
        ]);
        let ongoing = ongoing(&read(&events));
        let closing: Vec<String> =
            closing_events(&ongoing, Cause::Cancelled).iter().map(Event::to_json).collect();
        let expected = [
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"u"}"#,
            r#"{"type":"REASONING_MESSAGE_END","messageId":"q"}"#,
            r#"{"type":"REASONING_END","messageId":"q"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"open","subagentRunId":"u"}"#,
            r#"{"type":"TOOL_CALL_RESULT","messageId":"#,
            r#"{"type":"TOOL_CALL_RESULT","messageId":"#,
            r#"{"type":"STEP_FINISHED","stepName":"x","subagentRunId":"u"}"#,
            r#"{"type":"SUBAGENT_ERROR","subagentRunId":"u","message":"the run was cancelled","code":"cancelled"}"#,
            r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"the run was cancelled","code":"cancelled"}"#,
        ];
        assert_eq!(closing.len(), expected.len(), "{closing:#?}");
        for (closing, expected) in closing.iter().zip(expected) {
            assert!(closing.starts_with(expected), "{closing}");
        }
        assert!(
            closing[4].ends_with(r#""toolCallId":"ended","content":"No result: the run was cancelled."}"#)
        );
        assert_eq!(
            terminal(&ongoing, Cause::Cancelled).unwrap().to_json(),
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#
        );
        assert_eq!(
            terminal(&ongoing, Cause::Abandoned).unwrap().to_json(),
            r#"{"type":"RUN_ERROR","message":"the server that executed the run is gone","code":"abandoned"}"#
        );
    }

    #[test]
    fn where_nothing_goes_on_nothing_ends() {
        let over = ongoing(&read(&lines(&[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
            r#"{"type":"RUN_ERROR","message":"x"}"#,
        ])));
        for ongoing in [Ongoing::new(), over] {
            assert_eq!(closing_events(&ongoing, Cause::Failed), []);
            assert_eq!(terminal(&ongoing, Cause::Failed), None);
        }
    }

    proptest! {
        /// Wherever a run stops, it can be closed, by an end that wants everything closed as well as by an error, and no
        /// call waits for a result.
        #[test]
        fn a_run_can_be_closed_anywhere(seed: u64, at: prop::sample::Index, cause in prop::sample::select(&CAUSES[..])) {
            let stream = lines(&streams::valid(&mut Random::new(seed)));
            let mut events = read(&stream);
            events.truncate(at.index(events.len() + 1));
            let ongoing = ongoing(&events);
            events.extend(closing_events(&ongoing, cause));
            events.extend(terminal(&ongoing, cause));
            let options = Options::new().with_error(Rule::RunNotEnded).with_error(Rule::ResultRepeated);
            let fold = consumed(&events, options);
            prop_assert!(fold.is_ok(), "{fold:?}");
            if ongoing.current_run().is_some() {
                prop_assert!(fold.is_ok_and(|fold| fold.pending_tool_calls().is_empty()));
            }
        }
    }
}
