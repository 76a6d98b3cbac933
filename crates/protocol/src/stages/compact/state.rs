//! The state events of a run.

use super::Output;
use crate::event::{Event, RunStarted, StateDelta, StateSnapshot};
use crate::json::{Json, SafeInt, Text};
use crate::limits::PatchLimits;
use crate::metadata::Metadata;
use crate::patch::Document;

/// The state events since the run began, and the state that they lead to, where that is known.
#[derive(Debug, Default)]
pub(super) struct StateWindow {
    known: Option<Document>,
    /// Whether the stream has begun: only what the first run's request says is the state before it.
    begun: bool,
    places: Vec<usize>,
    /// Which of the places is the last snapshot's.
    snapshot: Option<usize>,
}

impl StateWindow {
    pub(super) fn new(base: Option<&Json<'_>>) -> Self {
        Self { known: base.and_then(|base| Document::parse(base).ok()), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn start(&mut self, event: &RunStarted<'_>) {
        if !self.begun && self.known.is_none() {
            let input = event.input.as_ref();
            self.known = input.and_then(|input| Document::parse(&input.state_or_empty()).ok());
        }
        self.begun = true;
    }

    /// Notes a state event that stands at `at`.
    pub(super) fn add(&mut self, event: &Event<'_>, at: usize) {
        match event {
            Event::StateSnapshot(event) => {
                self.known = Document::parse(&event.snapshot).ok();
                self.snapshot = Some(self.places.len());
            }
            Event::StateDelta(event) => {
                if let Some(document) = &mut self.known {
                    // A change that cannot be made changes nothing, here as in a fold.
                    let _ = document.apply(&event.delta, &PatchLimits::default());
                }
            }
            _ => return,
        }
        self.begun = true;
        self.places.push(at);
    }

    /// Ends the run: its state events become one, if that says the same and is shorter.
    pub(super) fn close(&mut self, out: &mut Output<'_>) {
        let places = std::mem::take(&mut self.places);
        let after = self.snapshot.take();
        // Whatever came before a snapshot is overruled by it.
        let (overruled, rest) = places.split_at(after.unwrap_or_default());
        for place in overruled {
            out[*place] = None;
        }
        let (Some(document), [.., last], false) = (&self.known, rest, rest.len() == 1 && after.is_some())
        else {
            return;
        };
        if after.is_none() && are_shorter(rest, document.bytes(), out) {
            return;
        }
        let Some(attributes) = out[*last].as_ref().and_then(Attributes::of) else { return };
        for place in rest {
            out[*place] = None;
        }
        out[*last] = Some(attributes.snapshot(document.to_json()).into());
    }
}

/// Whether the events at these places have fewer bytes than that.
fn are_shorter(places: &[usize], bytes: usize, out: &Output<'_>) -> bool {
    let mut left = bytes;
    for event in places.iter().filter_map(|place| out[*place].as_ref()) {
        match left.checked_sub(event.to_json().len()) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    left > 0
}

/// What the last one of several state events gives to the snapshot that stands for all.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    timestamp: Option<SafeInt>,
    metadata: Option<Metadata<'a>>,
    subagent_run_id: Option<Text<'a>>,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(event: &Event<'a>) -> Option<Self> {
        match event {
            Event::StateSnapshot(StateSnapshot { timestamp, metadata, subagent_run_id, .. })
            | Event::StateDelta(StateDelta { timestamp, metadata, subagent_run_id, .. }) => Some(Self {
                timestamp: *timestamp,
                metadata: metadata.clone(),
                subagent_run_id: subagent_run_id.clone(),
            }),
            _ => None,
        }
    }

    pub(super) fn snapshot(self, state: Json<'a>) -> StateSnapshot<'a> {
        let mut snapshot = StateSnapshot::new(state);
        snapshot.timestamp = self.timestamp;
        snapshot.metadata = self.metadata;
        snapshot.subagent_run_id = self.subagent_run_id;
        snapshot
    }

    pub(super) fn into_owned(self) -> Attributes<'static> {
        Attributes {
            timestamp: self.timestamp,
            metadata: self.metadata.map(Metadata::into_owned),
            subagent_run_id: self.subagent_run_id.map(Text::into_owned),
        }
    }
}
