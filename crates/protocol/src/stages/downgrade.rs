//! The downgrade stage: a 1.0 stream for a reader of 0.x.
//!
//! Such a reader refuses events and outcomes that it does not know, and knows no subagents: their events and every tag go,
//! and so does what an outcome says that 0.x did not have. A reader of 0.x has one lane for the chunks of everybody and one
//! name for the steps of everybody, so that chunks are expanded, and a step that several have open begins and ends once.
//! What a request could not leave out before 1.0 is filled in. Ids, order and text stay.

use super::Output;
use super::expand::{ExpandError, Expander};
use super::subagents;
use crate::content::{Content, ContentPart, Source};
use crate::event::Event;
use crate::json::Text;
use crate::message::Message;
use crate::run::RunOutcome;
use std::collections::HashMap;
use std::fmt;

/// Downgrades the events of one stream, in order. The stream must be one that a 1.0 reader accepts.
///
/// ```
/// use threadline_protocol::Event;
/// use threadline_protocol::event::RunFinished;
/// use threadline_protocol::run::{RunCancelled, RunOutcome};
/// use threadline_protocol::stages::downgrade::Downgrader;
///
/// let cancelled = RunFinished::new("t", "r").with_outcome(RunOutcome::from(RunCancelled::new())).into();
/// let downgraded = Downgrader::new().downgrade(&cancelled)?;
/// let event = downgraded.output.last().expect("it stays");
/// assert_eq!(event.to_json(), r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
/// assert_eq!(downgraded.losses[0].to_string(), "the outcome, which was cancelled");
/// # Ok::<(), threadline_protocol::stages::expand::ExpandError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Downgrader {
    expander: Expander,
    /// How many have a step of that name open.
    steps: HashMap<Text<'static>, usize>,
}

/// What became of an event.
#[derive(Clone, Debug)]
pub struct Downgraded<'e, 'a> {
    /// The events.
    pub output: Output<'e, 'a>,
    /// What a reader of 0.x does not learn. Tags and chunks are not listed: they say how, not what.
    pub losses: Vec<Loss>,
}

/// Something that a reader of 0.x does not learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// An event about the life of a subagent.
    Subagent,
    /// That a run was stopped on purpose. It reads as one that is done.
    Cancelled,
    /// Which calls are pending. The reader finds out by itself.
    PendingToolCalls,
    /// Parts of a tool's result that are no text.
    ResultParts,
    /// Parts of a message whose bytes a provider keeps.
    FileParts,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Subagent => "the life of a subagent",
            Self::Cancelled => "the outcome, which was cancelled",
            Self::PendingToolCalls => "which calls are pending",
            Self::ResultParts => "parts of a tool's result that are no text",
            Self::FileParts => "parts whose bytes a provider keeps",
        })
    }
}

/// What becomes of an event that is no chunk.
#[expect(clippy::large_enum_variant, reason = "it lives on the stack for a moment")]
enum Fate<'a> {
    Same,
    Altered(Event<'a>),
    Gone,
}

impl Downgrader {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Downgrades the next event.
    ///
    /// # Errors
    /// If it is a chunk that cannot be expanded. It is then as if it had not been there.
    pub fn downgrade<'e, 'a>(&mut self, event: &'e Event<'a>) -> Result<Downgraded<'e, 'a>, ExpandError> {
        let expanded = self.expander.expand(event)?;
        let mut losses = Vec::new();
        let mut output = Output::nothing();
        for one in expanded.iter() {
            // What is made of chunks comes before; the event itself is the last.
            let is_event = std::ptr::eq(one, event);
            match (self.fate(one, &mut losses), is_event) {
                (Fate::Same, true) => output.pass(event),
                (Fate::Altered(altered), true) => output.alter(altered),
                (Fate::Same, false) => output.add(one.clone()),
                (Fate::Altered(altered), false) => output.add(altered),
                (Fate::Gone, _) => {}
            }
        }
        Ok(Downgraded { output, losses })
    }

    fn fate<'a>(&mut self, event: &Event<'a>, losses: &mut Vec<Loss>) -> Fate<'a> {
        if subagents::is_lifecycle(event) {
            losses.push(Loss::Subagent);
            return Fate::Gone;
        }
        match event {
            // Nothing of an earlier run is open.
            Event::RunStarted(_) => self.steps.clear(),
            Event::StepStarted(step) if self.is_first(&step.step_name) => {}
            Event::StepFinished(step) if self.is_last(&step.step_name) => {}
            Event::StepStarted(_) | Event::StepFinished(_) => return Fate::Gone,
            _ => {}
        }
        // Most events have nothing that 0.x lacks, and need no copy to find out.
        let is_structured = matches!(
            event,
            Event::RunStarted(_)
                | Event::RunFinished(_)
                | Event::MessagesSnapshot(_)
                | Event::ToolCallResult(_)
        );
        if event.subagent_run_id().is_none() && !is_structured {
            return Fate::Same;
        }
        let known = losses.len();
        let mut altered = event.clone();
        let untagged = subagents::remove_tags(&mut altered);
        let filled = fill_in(&mut altered);
        lose(&mut altered, losses);
        if untagged || filled || losses.len() > known { Fate::Altered(altered) } else { Fate::Same }
    }

    /// One more has this step open. True for the first.
    fn is_first(&mut self, name: &Text<'_>) -> bool {
        let open = self.steps.entry(name.clone().into_owned()).or_default();
        *open += 1;
        *open == 1
    }

    /// One less has this step open. True for the last.
    fn is_last(&mut self, name: &Text<'_>) -> bool {
        let Some(open) = self.steps.get_mut(name.wtf8()) else { return true };
        *open -= 1;
        if *open == 0 {
            self.steps.remove(name.wtf8());
            return true;
        }
        false
    }
}

/// Adds the lists that a request may leave out only since 1.0. True if one was.
fn fill_in(event: &mut Event<'_>) -> bool {
    let Event::RunStarted(started) = event else { return false };
    let Some(input) = &mut started.input else { return false };
    let missing = input.tools.is_none() || input.context.is_none();
    input.tools.get_or_insert_default();
    input.context.get_or_insert_default();
    missing
}

/// Removes what 0.x has no place for, but for tags.
fn lose(event: &mut Event<'_>, losses: &mut Vec<Loss>) {
    match event {
        Event::RunFinished(finished) => match &mut finished.outcome {
            Some(RunOutcome::Cancelled(_)) => {
                finished.outcome = None;
                losses.push(Loss::Cancelled);
            }
            Some(RunOutcome::Success(success)) if success.pending_tool_call_ids.is_some() => {
                success.pending_tool_call_ids = None;
                losses.push(Loss::PendingToolCalls);
            }
            _ => {}
        },
        Event::ToolCallResult(result) => flatten(&mut result.content, losses),
        Event::MessagesSnapshot(snapshot) => lose_parts(&mut snapshot.messages, losses),
        Event::RunStarted(started) => {
            if let Some(input) = &mut started.input {
                lose_parts(&mut input.messages, losses);
            }
        }
        _ => {}
    }
}

fn lose_parts(messages: &mut [Message<'_>], losses: &mut Vec<Loss>) {
    for message in messages {
        match message {
            Message::Tool(message) => flatten(&mut message.content, losses),
            Message::User(message) => lose_files(&mut message.content, losses),
            _ => {}
        }
    }
}

/// A tool's result was a string: the texts of its parts, one after the other.
fn flatten(content: &mut Content<'_>, losses: &mut Vec<Loss>) {
    let Content::Parts(parts) = content else { return };
    let mut text = Text::default();
    for part in parts {
        if let ContentPart::Text(part) = part {
            text.push(&part.text);
        }
    }
    *content = Content::Text(text);
    losses.push(Loss::ResultParts);
}

fn lose_files(content: &mut Content<'_>, losses: &mut Vec<Loss>) {
    let Content::Parts(parts) = content else { return };
    let count = parts.len();
    parts.retain(|part| {
        let source = match part {
            ContentPart::Image(part) => &part.source,
            ContentPart::Audio(part) => &part.source,
            ContentPart::Video(part) => &part.source,
            ContentPart::Document(part) => &part.source,
            ContentPart::Text(_) | ContentPart::Unknown(_) => return true,
        };
        !matches!(source, Source::File(_))
    });
    if parts.len() < count {
        losses.push(Loss::FileParts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::testing::{consumed, lines, read};
    use crate::stages::verify::Options;
    use proptest::prelude::*;
    use threadline_testkit::random::Random;
    use threadline_testkit::streams;

    fn downgraded(json: &[String]) -> (Vec<String>, Vec<Loss>) {
        let mut downgrader = Downgrader::new();
        let (mut out, mut losses) = (Vec::new(), Vec::new());
        for event in &read(json) {
            let downgraded = downgrader.downgrade(event).unwrap();
            out.extend(downgraded.output.iter().map(Event::to_json));
            losses.extend(downgraded.losses);
        }
        (out, losses)
    }

    #[test]
    fn outcomes_are_those_of_0_x() {
        let (out, losses) = downgraded(&lines(&[
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c"]}}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#,
        ]));
        assert_eq!(
            out,
            [
                r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}"#,
                r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
            ]
        );
        assert_eq!(losses, [Loss::PendingToolCalls, Loss::Cancelled]);
    }

    #[test]
    fn results_are_text_and_files_are_unknown() {
        let (out, losses) = downgraded(&lines(&[
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","value":"u"}},{"type":"text","text":"b"}]}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":[{"type":"text","text":"a"},{"type":"document","source":{"type":"file","value":"f"}}],"subagentRunId":"s"}]}"#,
        ]));
        assert_eq!(out[0], r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"ab"}"#);
        assert_eq!(
            out[1],
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":[{"type":"text","text":"a"}]}]}"#
        );
        assert_eq!(losses, [Loss::ResultParts, Loss::FileParts]);
    }

    #[test]
    fn the_steps_of_all_are_one() {
        let (out, _) = downgraded(&lines(&[
            r#"{"type":"STEP_STARTED","stepName":"x"}"#,
            r#"{"type":"STEP_STARTED","stepName":"x","subagentRunId":"s"}"#,
            r#"{"type":"STEP_FINISHED","stepName":"x"}"#,
            r#"{"type":"STEP_FINISHED","stepName":"x","subagentRunId":"s"}"#,
        ]));
        assert_eq!(
            out,
            [r#"{"type":"STEP_STARTED","stepName":"x"}"#, r#"{"type":"STEP_FINISHED","stepName":"x"}"#]
        );
    }

    #[test]
    fn lanes_do_not_get_mixed_up() {
        let (out, _) = downgraded(&lines(&[
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"1"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"2","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"3"}"#,
        ]));
        assert_eq!(
            out,
            [
                r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"1"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"b","role":"assistant"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"b","delta":"2"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"3"}"#,
            ]
        );
    }

    proptest! {
        /// What is left is accepted, says the same, and is not downgraded again.
        #[test]
        fn the_rest_is_as_good_as_before(seed: u64) {
            let stream = lines(&streams::valid(&mut Random::new(seed)));
            let (out, _) = downgraded(&stream);
            prop_assert!(!out.iter().any(|json| json.contains("subagentRunId") || json.contains("_CHUNK\"")));
            let texts = |json: &[String]| {
                let fold = consumed(&read(json), Options::new()).unwrap();
                let mut messages: Vec<Message<'static>> = fold.messages().cloned().collect();
                for message in &mut messages {
                    message.tag_mut().map(Option::take);
                }
                lose_parts(&mut messages, &mut Vec::new());
                (messages, fold.state())
            };
            prop_assert_eq!(texts(&out), texts(&stream));
            let (again, losses) = downgraded(&out);
            prop_assert_eq!(&again, &out);
            prop_assert_eq!(losses, []);
        }
    }
}
