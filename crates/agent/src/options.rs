//! Settings of a run.

use crate::ids::{DerivedIds, IdSource};
use crate::state::STATE_SNAPSHOT_BYTES_MAX;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use threadline_protocol::Limits;

/// Settings of a run.
#[derive(Clone)]
pub struct RunOptions {
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) waiting_max: usize,
    pub(crate) state_snapshot_bytes_max: usize,
    pub(crate) event_bytes_max: usize,
    pub(crate) cancel_grace: Duration,
}

impl RunOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ids: Arc::new(DerivedIds),
            waiting_max: 64,
            state_snapshot_bytes_max: STATE_SNAPSHOT_BYTES_MAX,
            event_bytes_max: Limits::default().event_bytes_max,
            cancel_grace: Duration::from_secs(5),
        }
    }

    /// Where ids come from. By default they are derived from thread and run: [`DerivedIds`].
    #[must_use]
    pub fn with_ids(mut self, ids: impl IdSource + 'static) -> Self {
        self.ids = Arc::new(ids);
        self
    }

    /// How many events may wait for the reader before the agent does. 64 by default, at least 1.
    #[must_use]
    pub fn with_waiting_max(mut self, events: usize) -> Self {
        self.waiting_max = events.max(1);
        self
    }

    /// Up to which size of its compact JSON a state is sent whole: 51,200 bytes by default. A larger one is sent as the
    /// change, if that is smaller. 0 always looks for a change, `usize::MAX` never does; the client's state is the same.
    #[must_use]
    pub fn with_state_snapshot_bytes_max(mut self, bytes: usize) -> Self {
        self.state_snapshot_bytes_max = bytes;
        self
    }

    /// The largest event, in bytes of JSON: 10 MiB by default, which is what the reference client reads.
    #[must_use]
    pub fn with_event_bytes_max(mut self, bytes: usize) -> Self {
        self.event_bytes_max = bytes;
        self
    }

    /// How long a cancelled agent may take to return before its task is aborted: 5 seconds by default.
    #[must_use]
    pub fn with_cancel_grace(mut self, grace: Duration) -> Self {
        self.cancel_grace = grace;
        self
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("waiting_max", &self.waiting_max)
            .field("state_snapshot_bytes_max", &self.state_snapshot_bytes_max)
            .field("event_bytes_max", &self.event_bytes_max)
            .field("cancel_grace", &self.cancel_grace)
            .finish_non_exhaustive()
    }
}
