//! Attaching to a run: what its branch holds by now, and then its records as they come.

use crate::engine::Engine;
use crate::error::Error;
use crate::follow::Follower;
use crate::names::{RunNo, ThreadKey};
use crate::run::RunInfo;
use crate::run_fold::RunFold;

/// A run, from some offset of its thread on.
#[derive(Debug)]
pub struct Attached {
    /// The run as it was then.
    pub run: RunInfo,
    /// What clients hold of it before that offset, to go on with.
    pub fold: RunFold,
    /// The records from that offset on, of all runs.
    pub follower: Follower,
}

impl Engine {
    /// Attaches to a run at the tail: nothing falls between what is folded and what follows.
    ///
    /// # Errors
    /// If there is no such thread or run, or its records are gone.
    pub async fn attach(&self, thread: &ThreadKey, run: RunNo) -> Result<Attached, Error> {
        let info = self.store().thread(thread).await?;
        let offset = info.offsets.end;
        let follower = self.follow(thread, Some(info.incarnation), offset).await?;
        let run = self.run(thread, run).await?;
        let fold = self.fold_run(thread, &run, offset.saturating_sub(1)).await?;
        Ok(Attached { run, fold, follower })
    }
}
