//! How much a scope may keep.

use crate::error::{Code, Refusal};
use serde_json::json;
use threadline_log::thread::Usage;
use threadline_log::{Engine, Error, RunId, Scope, ThreadKey};

/// How much a scope may keep; none is as much as comes.
///
/// It is looked at before something is written, not while it is: what was begun below the limit is kept whole, and so is what others
/// begin at the same moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    threads_max: Option<u64>,
    bytes_max: Option<u64>,
}

impl Quota {
    /// So many threads and bytes of one scope; 0 is as many as come.
    pub(crate) fn new(threads_max: u64, bytes_max: u64) -> Self {
        let limit = |max| Some(max).filter(|max| *max > 0);
        Self { threads_max: limit(threads_max), bytes_max: limit(bytes_max) }
    }

    /// Whether a run may be started. One that is known already may be asked for again.
    ///
    /// # Errors
    /// If the scope has as much as it may have.
    pub(crate) async fn admit_run(
        &self,
        engine: &Engine,
        thread: &ThreadKey,
        run: &RunId,
    ) -> Result<(), Refusal> {
        match self.admit_events(engine, thread).await {
            Err(refusal) if refusal.code == Code::QuotaExceeded => {
                engine.run_named(thread, run).await.map(|_| ()).map_err(|_unknown| refusal)
            }
            other => other,
        }
    }

    /// Whether something may be written to a thread, which is made if it is not there.
    ///
    /// # Errors
    /// If the scope has as much as it may have.
    pub(crate) async fn admit_events(&self, engine: &Engine, thread: &ThreadKey) -> Result<(), Refusal> {
        let Some(usage) = self.usage(engine, &thread.scope).await? else { return Ok(()) };
        self.check_bytes(usage)?;
        match self.check_threads(usage) {
            Err(refusal) => match engine.store().thread(thread).await {
                Err(Error::NoThread(_)) => Err(refusal),
                other => Ok(other.map(|_| ())?),
            },
            Ok(()) => Ok(()),
        }
    }

    /// Whether a thread may be made.
    ///
    /// # Errors
    /// If the scope has as much as it may have.
    pub(crate) async fn admit_thread(&self, engine: &Engine, scope: &Scope) -> Result<(), Refusal> {
        let Some(usage) = self.usage(engine, scope).await? else { return Ok(()) };
        self.check_bytes(usage)?;
        self.check_threads(usage)
    }

    /// What a scope keeps, if that matters.
    async fn usage(&self, engine: &Engine, scope: &Scope) -> Result<Option<Usage>, Error> {
        match (self.threads_max, self.bytes_max) {
            (None, None) => Ok(None),
            _ => engine.store().usage(scope).await.map(Some),
        }
    }

    fn check_threads(&self, usage: Usage) -> Result<(), Refusal> {
        check("threads", usage.threads, self.threads_max)
    }

    fn check_bytes(&self, usage: Usage) -> Result<(), Refusal> {
        check("bytes", usage.bytes, self.bytes_max)
    }
}

fn check(what: &str, kept: u64, max: Option<u64>) -> Result<(), Refusal> {
    match max {
        Some(max) if kept >= max => {
            let message = format!("this user keeps as many {what} as may be. kept={kept}, max={max}");
            let details = json!({ "what": what, "kept": kept, "max": max });
            Err(Refusal::new(Code::QuotaExceeded, message).with_details(details))
        }
        _ => Ok(()),
    }
}
