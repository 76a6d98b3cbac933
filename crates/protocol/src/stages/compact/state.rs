//! The state events of a run.

use super::Output;
use crate::event::{Event, RunStarted, StateSnapshot};
use crate::json::Json;
use crate::limits::PatchLimits;
use crate::patch::Document;

/// The state events since the run began, and the state that they lead to, where that is known.
#[derive(Default)]
pub(super) struct StateWindow {
    known: Option<Document>,
    /// Whether a run has begun: only the first one's request tells what the state was before the stream.
    begun: bool,
    places: Vec<usize>,
    /// Which of the places is the last snapshot's.
    snapshot: Option<usize>,
}

impl StateWindow {
    pub(super) fn new(base: Option<&Json<'_>>) -> Self {
        Self { known: base.and_then(|base| Document::parse(base).ok()), ..Self::default() }
    }

    pub(super) fn start(&mut self, event: &RunStarted<'_>) {
        if !self.begun && self.known.is_none() && self.places.is_empty() {
            self.known = event.input.as_ref().and_then(|input| match &input.state {
                Some(state) => Document::parse(state.as_json()).ok(),
                None => Document::parse(&Json::EMPTY_OBJECT).ok(),
            });
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
        let snapshot = document.to_json();
        let deltas = rest.iter().filter_map(|place| out[*place].as_ref()).map(|event| event.to_json().len());
        if after.is_none() && deltas.sum::<usize>() < snapshot.as_str().len() {
            return;
        }
        let mut made = StateSnapshot::new(snapshot);
        match &out[*last] {
            Some(Event::StateSnapshot(event)) => {
                made.timestamp = event.timestamp;
                made.metadata.clone_from(&event.metadata);
                made.subagent_run_id.clone_from(&event.subagent_run_id);
            }
            Some(Event::StateDelta(event)) => {
                made.timestamp = event.timestamp;
                made.metadata.clone_from(&event.metadata);
                made.subagent_run_id.clone_from(&event.subagent_run_id);
            }
            _ => return,
        }
        for place in rest {
            out[*place] = None;
        }
        out[*last] = Some(made.into());
    }
}
