//! The snapshot form.

use super::Output;
use super::state::Attributes;
use crate::event::{Event, MessagesSnapshot, StateSnapshot};
use crate::json::{Json, SafeInt};
use crate::metadata::Metadata;
use crate::run::{RunOutcome, RunSuccess};
use crate::stages::fold::Fold;

/// Keeps the frame of the runs, and folds what is in it.
#[derive(Debug)]
pub(super) struct SnapshotForm<'a> {
    fold: Fold,
    out: Output<'a>,
    /// Where the current run ends first: the place of the snapshots, if it is the last run.
    end: Option<usize>,
    messages: Restated,
    state: State,
}

/// The message events that a snapshot stands for.
#[derive(Debug, Default)]
struct Restated {
    latest: Option<SafeInt>,
    /// Whether there was a snapshot among them. Even one without messages says something.
    by_snapshot: bool,
    /// That of the last snapshot.
    metadata: Option<Metadata<'static>>,
}

/// What is known about the state.
#[derive(Debug, Default)]
struct State {
    /// Whether the fold's state is the real one. Without a base it is not.
    known: bool,
    /// Whether the stream has begun: only what the first run's request says is the state before it.
    begun: bool,
    last: Option<Attributes<'static>>,
    /// Changes of a state that is not known.
    deltas: Vec<usize>,
}

impl<'a> SnapshotForm<'a> {
    pub(super) fn new(base: Option<&Json<'_>>) -> Self {
        let mut form = Self {
            fold: Fold::new(),
            out: Vec::new(),
            end: None,
            messages: Restated::default(),
            state: State::default(),
        };
        if let Some(base) = base {
            form.know_state(base);
        }
        form
    }

    /// Takes in the next event, which is no chunk.
    pub(super) fn push<'e>(&mut self, event: &Event<'e>, keep: impl FnOnce(&Event<'e>) -> Event<'a>) {
        // What cannot be applied here is not applied by any reader.
        let _ = self.fold.apply(event);
        match event {
            Event::RunStarted(started) => {
                self.end = None;
                if !self.state.begun
                    && !self.state.known
                    && let Some(input) = &started.input
                {
                    self.know_state(&input.state_or_empty());
                }
                self.state.begun = true;
                // Those that were new are in the snapshot, at their place.
                self.out.push(Some(match keep(event) {
                    Event::RunStarted(started) => started.without_messages().into(),
                    other => other,
                }));
            }
            Event::RunFinished(_) => {
                let finished = self.with_pending_calls(keep(event));
                self.end_run(finished);
            }
            Event::RunError(_) => self.end_run(keep(event)),
            Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::SubagentStarted(_)
            | Event::SubagentFinished(_)
            | Event::SubagentError(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::Unknown(_) => self.out.push(Some(keep(event))),
            Event::StateDelta(_) if !self.state.known => {
                self.state.begun = true;
                self.state.deltas.push(self.out.len());
                self.out.push(Some(keep(event)));
            }
            Event::StateSnapshot(_) | Event::StateDelta(_) => {
                self.state.known = true;
                for place in self.state.deltas.drain(..) {
                    self.out[place] = None;
                }
                self.state.last = Attributes::of(event).map(Attributes::into_owned);
            }
            _ => {
                if let Event::MessagesSnapshot(snapshot) = event {
                    self.messages.by_snapshot = true;
                    self.messages.metadata = snapshot.metadata.clone().map(Metadata::into_owned);
                }
                self.messages.latest = self.messages.latest.max(event.timestamp());
            }
        }
    }

    /// What nothing that follows can change any more. The last run may be the current one, and a snapshot of the state
    /// may yet overrule changes.
    pub(super) fn settled(&mut self) -> Vec<Event<'a>> {
        if self.end.is_none() && self.state.deltas.is_empty() {
            self.out.drain(..).flatten().collect()
        } else {
            Vec::new()
        }
    }

    pub(super) fn finish(self) -> Vec<Event<'a>> {
        let Self { fold, mut out, end, messages, state } = self;
        let end = end.unwrap_or(out.len());
        let after: Output<'a> = out.split_off(end);
        if messages.by_snapshot || fold.messages().len() > 0 {
            let mut snapshot = MessagesSnapshot::new(fold.messages().cloned().collect::<Vec<_>>());
            snapshot.timestamp = messages.latest;
            snapshot.metadata = messages.metadata;
            out.push(Some(snapshot.into()));
        }
        if let Some(last) = state.last {
            out.push(Some(last.snapshot(fold.state()).into()));
        }
        out.into_iter().chain(after).flatten().collect()
    }

    fn know_state(&mut self, state: &Json<'_>) {
        self.state.known = true;
        let _ = self.fold.apply(&StateSnapshot::new(state.clone()).into());
    }

    fn end_run(&mut self, terminal: Event<'a>) {
        self.end.get_or_insert(self.out.len());
        self.out.push(Some(terminal));
    }

    /// The end of a run with the calls that it leaves open, which nothing else tells of.
    fn with_pending_calls(&self, mut event: Event<'a>) -> Event<'a> {
        let pending = self.fold.runs().last().map_or(&[][..], |run| &run.pending_tool_calls);
        if let Event::RunFinished(finished) = &mut event
            && !pending.is_empty()
        {
            match &mut finished.outcome {
                Some(RunOutcome::Success(success)) => success.pending_tool_call_ids = Some(pending.to_vec()),
                // What is unknown reads as success, as what is absent does.
                outcome => {
                    *outcome = Some(RunSuccess::new().with_pending_tool_call_ids(pending.to_vec()).into());
                }
            }
        }
        event
    }
}
