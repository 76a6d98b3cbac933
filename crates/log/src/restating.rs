//! A branch as one short stream, whose messages and state are restated at its end.

use crate::engine::Engine;
use crate::error::Error;
use crate::names::{RunNo, ThreadKey};
use crate::run::RunInfo;
use crate::run_fold::{base_state_of, delta_events};
use threadline_protocol::Event;
use threadline_protocol::stages::compact::{Compactor, Form};

impl Engine {
    /// The runs of a branch, the oldest first, in the snapshot form of compaction.
    pub(crate) async fn restated(
        &self,
        thread: &ThreadKey,
        runs: &[RunInfo],
        branch: &[RunNo],
    ) -> Result<Vec<Event<'static>>, Error> {
        let mut compactor = Compactor::new(Form::Snapshot, None);
        let mut restated = Vec::new();
        for run in self.since_trimmed(thread, branch).await? {
            let delta = self.delta_of(thread, run).await?;
            for event in delta_events(&delta) {
                // There are no chunks in it.
                restated.extend(compactor.push_borrowed(&event).unwrap_or_default());
                if let Some(state) = base_state_of(runs[run.index()].base_state, &event) {
                    restated.extend(compactor.push_borrowed(&state).unwrap_or_default());
                }
            }
        }
        restated.extend(compactor.finish());
        for event in &mut restated {
            if let Event::MessagesSnapshot(snapshot) = event {
                snapshot.mark_synthesised();
            }
        }
        Ok(restated)
    }

    /// The part of a branch that says everything: from the last run on that restates what was before it.
    async fn since_trimmed(&self, thread: &ThreadKey, branch: &[RunNo]) -> Result<Vec<RunNo>, Error> {
        for (place, run) in branch.iter().enumerate().rev() {
            let checkpoint = self.store().checkpoint(thread, *run).await?;
            if checkpoint.is_some_and(|checkpoint| checkpoint.stands_alone) {
                return Ok(branch[place..].to_vec());
            }
        }
        Ok(branch.to_vec())
    }
}

/// Whether somebody who folds a restated branch needs the event.
pub(crate) const fn is_held(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::RunStarted(_)
            | Event::RunFinished(_)
            | Event::RunError(_)
            | Event::MessagesSnapshot(_)
            | Event::StateSnapshot(_)
    )
}
