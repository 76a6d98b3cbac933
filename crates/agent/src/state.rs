//! How a state is sent: whole while it is small, else as the change.

use crate::error::WriteError;
use serde::Serialize;
use threadline_protocol::event::{StateDelta, StateSnapshot};
use threadline_protocol::limits::PatchLimits;
use threadline_protocol::patch::{Document, JsonPatch, Operation};
use threadline_protocol::{Event, Json, Text};

/// The largest state that is always sent whole, in bytes of compact JSON.
pub const STATE_SNAPSHOT_BYTES_MAX: usize = 51_200;

/// The state as the client has it.
#[derive(Debug)]
pub(crate) struct StateKeeper {
    /// None if it cannot be compared with another.
    known: Option<Document>,
    snapshot_bytes_max: usize,
}

impl StateKeeper {
    /// With the state that the run begins with.
    pub(crate) fn new(base: &Json<'_>, snapshot_bytes_max: usize) -> Self {
        Self { known: Document::parse(base).ok(), snapshot_bytes_max }
    }

    /// The event that gives the client this state, if it needs one.
    pub(crate) fn set(&mut self, next: Document, owner: Option<Text<'static>>) -> Option<Event<'static>> {
        if next.bytes() <= self.snapshot_bytes_max {
            return Some(snapshot(self.known.insert(next).to_json(), owner));
        }
        match self.known.as_mut().and_then(|known| change(known, &next)) {
            Some(patch) if patch.is_empty() => None,
            Some(patch) => {
                let mut delta = StateDelta::new(patch);
                delta.subagent_run_id = owner;
                Some(delta.into())
            }
            None => Some(snapshot(self.known.insert(next).to_json(), owner)),
        }
    }

    /// The event was not sent, so that nothing is known of what the client has.
    pub(crate) fn forget(&mut self) {
        self.known = None;
    }
}

fn snapshot(state: Json<'static>, owner: Option<Text<'static>>) -> Event<'static> {
    let mut snapshot = StateSnapshot::new(state);
    snapshot.subagent_run_id = owner;
    snapshot.into()
}

/// The patch from what the client knows to what it shall know, if that is smaller and every reader applies it. What is
/// known is then what it shall be.
pub(crate) fn change(known: &mut Document, next: &Document) -> Option<JsonPatch<'static>> {
    let limits = PatchLimits::default();
    let patch = known.diff(next, &limits);
    let bytes: usize = patch.iter().map(|operation: &Operation<'_>| operation.to_json().len() + 1).sum();
    (bytes < next.bytes() && known.apply(&patch, &limits).is_ok()).then_some(patch)
}

/// A value as a document that clients can patch.
pub(crate) fn to_document(value: &impl Serialize) -> Result<Document, WriteError> {
    Document::parse(&to_json(value)?).map_err(|_too_deep| WriteError::TooDeep)
}

/// A value as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Json<'static>, WriteError> {
    Ok(Json::from_serialize(value)?)
}
