//! What a run makes of what its branch holds.

use crate::delivery::{Delivery, UnknownEvents};
use crate::names::ThreadId;
use crate::record::Kind;
use crate::run::{BaseState, RunInfo};
use bytes::Bytes;
use threadline_protocol::event::StateSnapshot;
use threadline_protocol::stages::compact::{Compactor, Form};
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::join::Joiner;
use threadline_protocol::{Event, Received};

/// Folds a run, record by record, from what its parent holds.
#[derive(Debug)]
pub struct RunFold {
    delivery: Delivery,
    base_state: BaseState,
    /// What clients hold, and what goes on. Before the first event, only what the parent holds.
    joiner: Joiner,
    is_begun: bool,
}

impl RunFold {
    /// At the start of a run.
    #[must_use]
    pub fn new(thread: &ThreadId, run: &RunInfo, parent: Fold) -> Self {
        let delivery = Delivery::new(thread, &run.id);
        Self { delivery, base_state: run.base_state, joiner: Joiner::new(parent), is_begun: false }
    }

    /// With something else than nothing for events of unknown types.
    #[must_use]
    pub fn with_unknown(mut self, unknown: UnknownEvents) -> Self {
        self.delivery = self.delivery.with_unknown(unknown);
        self
    }

    /// Takes the next record, and gives what clients see of it.
    pub fn push(&mut self, kind: Kind, bytes: &[u8]) -> Vec<Event<'static>> {
        let mut events = self.delivery.push(kind, bytes);
        events.retain(|event| {
            if !std::mem::replace(&mut self.is_begun, true) {
                let mut fold = self.joiner.fold().clone();
                set_base_state(&mut fold, self.base_state, event);
                self.joiner = Joiner::new(fold);
            }
            // Repaired streams are accepted; if one is not, a client would not have accepted it, either.
            self.joiner.take(event).is_ok()
        });
        events
    }

    /// What clients hold now, and what a client needs who arrives now.
    #[must_use]
    pub const fn joiner(&self) -> &Joiner {
        &self.joiner
    }

    /// What clients hold now.
    #[must_use]
    pub const fn fold(&self) -> &Fold {
        self.joiner.fold()
    }

    /// What shows the rest of the run to somebody who holds all this.
    #[must_use]
    pub fn into_delivery(self) -> Delivery {
        self.delivery
    }

    /// What shows the run.
    #[must_use]
    pub const fn delivery(&self) -> &Delivery {
        &self.delivery
    }
}

fn set_base_state(fold: &mut Fold, base_state: BaseState, first: &Event<'_>) {
    if let Some(snapshot) = base_state_of(base_state, first) {
        // A snapshot can always be applied.
        let _ = fold.apply(&snapshot);
    }
}

/// The state that a run begins with, if it is that of its input.
pub(crate) fn base_state_of(base_state: BaseState, first: &Event<'_>) -> Option<Event<'static>> {
    let Event::RunStarted(started) = first else { return None };
    let input = started.input.as_ref().filter(|_| base_state == BaseState::Input)?;
    Some(StateSnapshot::new(input.state_or_empty().into_owned()).into())
}

/// Compacts what clients see of a run, as a checkpoint keeps it.
#[derive(Debug)]
pub struct DeltaWriter {
    compactor: Compactor<'static>,
    lines: Vec<u8>,
}

impl DeltaWriter {
    /// At the start of a run, whose parent holds this.
    #[must_use]
    pub fn new(run: &RunInfo, parent: &Fold) -> Self {
        let inherited = parent.state();
        let base = (run.base_state == BaseState::Branch).then_some(&inherited);
        Self { compactor: Compactor::new(Form::Stream, base), lines: Vec::new() }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &Event<'_>) {
        // Chunks that cannot be expanded were repaired or dropped.
        let compacted = self.compactor.push_borrowed(event).unwrap_or_default();
        write_lines(&mut self.lines, &compacted);
    }

    /// The compacted events, a line each.
    #[must_use]
    pub fn finish(self) -> Bytes {
        let Self { compactor, mut lines } = self;
        write_lines(&mut lines, &compactor.finish());
        lines.into()
    }
}

/// Events as a checkpoint keeps them.
pub(crate) fn write_lines(out: &mut Vec<u8>, events: &[Event<'_>]) {
    for event in events {
        out.extend_from_slice(event.to_json().as_bytes());
        out.push(b'\n');
    }
}

/// Takes a run's compacted events into what its parent holds.
pub fn apply_delta(fold: &mut Fold, base_state: BaseState, delta: &[u8]) {
    for (place, event) in delta_events(delta).enumerate() {
        if place == 0 {
            set_base_state(fold, base_state, &event);
        }
        // As it went when the run was folded.
        let _ = fold.apply(&event);
    }
}

/// The events of a checkpoint.
pub fn delta_events(delta: &[u8]) -> impl Iterator<Item = Event<'_>> {
    let lines = delta.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| Received::read_bytes(line).ok()).map(Received::into_event)
}
