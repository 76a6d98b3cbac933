//! A fold as a value that can be kept and taken up again.

use super::{Call, Calls, Fold, RunSummary, State};
use crate::json::{Count, Json, Text};
use crate::message::Message;
use crate::run::Interrupt;
use crate::schema::object;
use std::collections::HashMap;
use thiserror::Error;

/// The version of what a fold makes of events. A checkpoint of another version must be made anew.
pub const FOLD_VERSION: u32 = 1;

/// A checkpoint of a fold that makes something else of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("checkpoint of another fold. version={found}, wanted={FOLD_VERSION}")]
pub struct OtherVersion {
    /// The version it has.
    pub found: u64,
}

object! {
    /// A [`Fold`] as a value that can be kept: what it holds, but not what changed when.
    pub struct Checkpoint {
        /// The version of the fold.
        required version: Count = "version";
        /// The messages, in order.
        required messages: Vec<Message<'a>> = "messages";
        /// The state.
        required state: Json<'a> = "state";
        /// The questions that wait for answers.
        required interrupts: Vec<Interrupt<'a>> = "interrupts";
        /// How the runs went.
        required runs: Vec<RunSummary<'a>> = "runs";
        /// The calls of the current run, in order.
        required started: Vec<Text<'a>> = "startedCalls";
        /// Those that were answered.
        required answered: Vec<Text<'a>> = "answeredCalls";
    }
}

impl Fold {
    /// The fold as a value, to be taken up by [`restore`](Self::restore).
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint<'static> {
        let answered = self.calls.known.iter().filter(|(_, call)| call.answered);
        let mut answered: Vec<Text<'static>> = answered.map(|(id, _)| id.clone()).collect();
        answered.sort_unstable();
        Checkpoint::new(
            FOLD_VERSION,
            self.messages.iter().cloned().collect::<Vec<_>>(),
            self.state(),
            self.interrupts.clone(),
            self.runs.clone(),
            self.calls.started.clone(),
            answered,
        )
    }

    /// Takes up a fold that was kept.
    ///
    /// # Errors
    /// If it is of another version: it must be made anew from the events.
    pub fn restore(checkpoint: Checkpoint<'_>) -> Result<Self, OtherVersion> {
        let Checkpoint { version, messages, state, interrupts, runs, started, answered, .. } =
            checkpoint.into_owned();
        if version.get() != u64::from(FOLD_VERSION) {
            return Err(OtherVersion { found: version.get() });
        }
        let mut fold = Self { state: State::Text(state), interrupts, runs, ..Self::new() };
        for message in messages {
            fold.messages.push(message, 0);
        }
        fold.calls = Calls::restore(started, answered);
        Ok(fold)
    }
}

impl Calls {
    fn restore(started: Vec<Text<'static>>, answered: Vec<Text<'static>>) -> Self {
        let mut known: HashMap<Text<'static>, Call> = HashMap::new();
        for id in &started {
            known.entry(id.clone()).or_default().started = true;
        }
        for id in answered {
            known.entry(id).or_default().answered = true;
        }
        Self { started, known }
    }
}
