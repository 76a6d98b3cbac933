//! The runs that are executed here.

use super::live::Live;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadline_log::{Incarnation, RunNo, RunWriter, ThreadKey};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What has become of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is executed.
    Running,
    /// It has ended, and its end is stored; or another has ended it or writes it now, and its end will be.
    Ended,
    /// It cannot be written any more: its end is left to whoever opens the store next.
    Broken,
}

/// A run that is executed here.
#[derive(Clone, Debug)]
pub(super) struct Active {
    /// Who writes it.
    pub(super) writer: RunWriter,
    /// Stops it.
    pub(super) cancel: CancellationToken,
    /// Said when another has taken it: it stops, and is not ended here.
    pub(super) lost: CancellationToken,
    /// What becomes of it.
    pub(super) phase: watch::Receiver<Phase>,
    /// Where its readers are, if they see it before it is stored.
    pub(super) live: Option<Arc<Live>>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct ActiveRuns {
    runs: Mutex<HashMap<(Incarnation, RunNo), Active>>,
}

/// Takes a run out of the list when it is dropped, however that comes about.
#[derive(Debug)]
pub(super) struct Registered {
    all: Arc<ActiveRuns>,
    key: (Incarnation, RunNo),
    cancel: CancellationToken,
    lost: CancellationToken,
    phase: watch::Sender<Phase>,
}

impl ActiveRuns {
    pub(super) fn register(self: &Arc<Self>, writer: &RunWriter) -> Registered {
        let key = (writer.incarnation, writer.run);
        let (cancel, lost) = (CancellationToken::new(), CancellationToken::new());
        let (sender, phase) = watch::channel(Phase::Running);
        let active =
            Active { writer: writer.clone(), cancel: cancel.clone(), lost: lost.clone(), phase, live: None };
        self.lock().insert(key, active);
        Registered { all: Arc::clone(self), key, cancel, lost, phase: sender }
    }

    /// Those of a thread, or of all.
    pub(super) fn of(&self, thread: Option<&ThreadKey>) -> Vec<Active> {
        let is_of = |active: &&Active| thread.is_none_or(|thread| active.writer.thread == *thread);
        self.lock().values().filter(is_of).cloned().collect()
    }

    pub(super) fn get(&self, key: (Incarnation, RunNo)) -> Option<Active> {
        self.lock().get(&key).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Incarnation, RunNo), Active>> {
        // Nothing here panics half way.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// Said when the run is to be stopped.
    pub(super) const fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Said when another has taken the run.
    pub(super) const fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// From now on the run is delivered before it is stored.
    pub(super) fn go_live(&self, live: Arc<Live>) {
        if let Some(active) = self.all.lock().get_mut(&self.key) {
            active.live = Some(live);
        }
    }

    /// The run has ended, or never will.
    pub(super) fn end(self, phase: Phase) {
        self.phase.send_replace(phase);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // A run that was not ended cannot be: its task is gone.
        self.phase.send_if_modified(|phase| {
            let is_lost = *phase == Phase::Running;
            if is_lost {
                *phase = Phase::Broken;
            }
            is_lost
        });
        self.all.lock().remove(&self.key);
    }
}
