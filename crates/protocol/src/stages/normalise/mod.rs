//! The normalise stage: a run's input without what the runs before it already hold.
//!
//! Clients send the whole conversation with every run, so that a log of n runs holds its first message n times. A message is
//! removed from `RUN_STARTED.input.messages` if an ancestor of the run holds it and it is the same; one whose id is known and
//! whose content is not stays. Runs on other branches are no ancestors: what only they hold, stays.
//!
//! Which run a run descends from may show only in the messages that are removed. Where it does, the run is given a
//! `parentRunId` that names it, so that who reads the stream later, or normalises it again, sees the same branches.

mod lineage;
#[cfg(test)]
mod tests;

use super::Output;
use super::expand::Expander;
use super::fold::Fold;
use crate::event::{Event, RunStarted};
use crate::json::Text;
use crate::message::Message;
use lineage::{Lineage, RunAt};

/// Normalises the inputs of the runs of one stream, in order.
///
/// ```
/// use threadline_protocol::Received;
/// use threadline_protocol::stages::normalise::Normaliser;
///
/// let stream = [
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[{"role":"user","id":"a","content":"Hello"}]}}"#,
///     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#,
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"threadId":"t","runId":"2","messages":[{"role":"user","id":"a","content":"Hello"},{"role":"user","id":"b","content":"How are you?"}]}}"#,
/// ];
/// let mut normaliser = Normaliser::new();
/// let mut last = String::new();
/// for json in stream {
///     let event = Received::read(json)?.into_event();
///     last = normaliser.normalise(&event).output.last().expect("nothing is dropped").to_json();
/// }
/// assert!(last.contains(r#""messages":[{"role":"user","id":"b","content":"How are you?"}]"#));
/// # Ok::<(), threadline_protocol::ReadError>(())
/// ```
#[derive(Debug, Default)]
pub struct Normaliser {
    lineage: Lineage,
    expander: Expander,
    /// What the current run and its ancestors hold.
    fold: Fold,
    /// What a reader of the whole stream holds, if there were branches, so that it is something else.
    whole: Option<Fold>,
}

/// What became of an event.
#[derive(Clone, Debug)]
pub struct Normalised<'e, 'a> {
    /// The event. None is ever dropped or added.
    pub output: Output<'e, 'a>,
    /// The ids of the messages that were removed from a run's input.
    pub removed: Vec<Text<'a>>,
}

impl Normaliser {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Normalises the next event.
    pub fn normalise<'e, 'a>(&mut self, event: &'e Event<'a>) -> Normalised<'e, 'a> {
        let mut normalised = Normalised { output: Output::passed(event), removed: Vec::new() };
        if let Event::RunStarted(started) = event {
            self.start(started, &mut normalised);
        }
        // What was removed is held, so that it is not missed. A chunk that nobody can read says nothing.
        if let Some(Ok(expanded)) = normalised.output.last().map(|event| self.expander.expand(event)) {
            for event in expanded.iter() {
                let _ = self.fold.apply(event);
                if let Some(whole) = &mut self.whole {
                    let _ = whole.apply(event);
                }
                self.lineage.keep(event);
            }
        }
        normalised
    }

    /// Goes to where the run descends from, and removes what is held there.
    fn start<'a>(&mut self, started: &RunStarted<'a>, normalised: &mut Normalised<'_, 'a>) {
        self.lineage.end_run(&self.fold);
        let parent = self.lineage.parent_of(started);
        if parent != self.lineage.head() {
            let before = std::mem::replace(&mut self.fold, self.lineage.fold(parent));
            self.whole.get_or_insert(before);
        }
        if let Some((altered, removed)) = self.without_held(started, parent) {
            *normalised = Normalised { output: Output::made(altered.into()), removed };
        }
        self.lineage.start_run(started, parent, &self.fold);
    }

    /// The run's start without the messages that its ancestors hold, and the ids of those, if there are any.
    fn without_held<'a>(
        &self,
        started: &RunStarted<'a>,
        parent: Option<RunAt>,
    ) -> Option<(RunStarted<'a>, Vec<Text<'a>>)> {
        let input = started.input.as_ref()?;
        // A reader of one branch misses nothing that an ancestor holds. One of the whole stream, who knows no branches, must
        // hold it as well.
        let is_held = |message: &Message<'a>| {
            let holds = |fold: &Fold| {
                message.id().and_then(|id| fold.message(id)).is_some_and(|held| held == message)
            };
            holds(&self.fold) && self.whole.as_ref().is_none_or(holds)
        };
        let (held, rest): (Vec<_>, Vec<_>) = input.messages.iter().cloned().partition(is_held);
        if held.is_empty() {
            return None;
        }
        let mut altered = started.clone();
        altered.input.as_mut()?.messages = rest;
        // What is left may look like another branch to who reads it.
        if self.lineage.parent_of(&altered) != parent {
            altered.parent_run_id = Some(self.lineage.name_of(parent?)?);
            if self.lineage.parent_of(&altered) != parent {
                return None;
            }
        }
        Some((altered, held.iter().filter_map(|message| message.id().cloned()).collect()))
    }
}
