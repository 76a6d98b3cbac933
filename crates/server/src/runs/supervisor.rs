//! Starting, finding, cancelling and stopping runs.

use super::active::{ActiveRuns, Phase};
use super::agent_input::agent_input;
use super::execution::Execution;
use super::ingest::Ingest;
use crate::agents::{AgentRequest, Backend};
use crate::error::{Code, Refusal};
use crate::settings::{History, OnBusy, RunSettings};
use axum::http::HeaderMap;
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::run::{RunInfo, RunStatus};
use threadline_log::{
    Engine, Error, HistoryMode, Incarnation, RunId, RunNo, RunWriter, StartRun, Started, ThreadKey,
};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often a request may find another run in its way before it is refused.
const SUPERSEDED_MAX: usize = 16;

/// The runs of this server. Clones are the same.
#[derive(Clone, Debug)]
pub struct Runs {
    engine: Engine,
    active: Arc<ActiveRuns>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    settings: RunSettings,
    /// How often leases are renewed.
    renewal: Duration,
}

/// A run that a client asks for.
#[derive(Clone, Debug)]
pub struct Start {
    /// The thread.
    pub thread: ThreadKey,
    /// The run.
    pub run: RunId,
    /// The request as it came.
    pub request: Bytes,
    /// The headers it came with.
    pub headers: HeaderMap,
    /// The agent's name.
    pub agent: String,
    /// The agent.
    pub backend: Arc<dyn Backend>,
}

/// A run that was to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// Which one.
    pub run: RunId,
    /// How it ended.
    pub status: RunStatus,
}

impl Runs {
    /// On an engine.
    #[must_use]
    pub fn new(engine: Engine, settings: RunSettings, renewal: Duration) -> Self {
        Self {
            engine,
            active: Arc::default(),
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
            settings,
            renewal,
        }
    }

    /// How many runs are executed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Whether no run is executed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What becomes of a run, if it is executed here.
    #[must_use]
    pub fn phase(&self, thread: Incarnation, run: RunNo) -> Option<watch::Receiver<Phase>> {
        self.active.get((thread, run)).map(|active| active.phase)
    }

    /// Starts a run: it is open when this returns, and goes on whoever watches.
    ///
    /// # Errors
    /// As [`Engine::start_run`], or if the server is about to stop.
    ///
    /// # Cancel safety
    /// Once begun, it is begun to its end: a client that is gone by now must not leave a run that nobody executes.
    pub async fn start(&self, start: Start) -> Result<Started, Refusal> {
        let runs = self.clone();
        let started = self.tasks.spawn(async move { runs.start_now(start).await }).await;
        started.unwrap_or_else(|error| {
            tracing::error!(%error, "a run was not started");
            Err(Refusal::new(Code::Internal, "the run was not started"))
        })
    }

    async fn start_now(&self, start: Start) -> Result<Started, Refusal> {
        for _ in 0..SUPERSEDED_MAX {
            if self.is_stopping() {
                return Err(Refusal::new(Code::ShuttingDown, "the server is about to stop"));
            }
            let history = match self.settings.history {
                History::Client => HistoryMode::Client,
                History::Server => HistoryMode::Server,
            };
            let wanted = StartRun {
                thread: start.thread.clone(),
                request: start.request.clone(),
                history,
                agent: Some(start.agent.clone()),
            };
            match self.engine.start_run(wanted).await {
                Ok(Started::New(writer)) => {
                    self.execute(start, &writer).await;
                    return Ok(Started::New(writer));
                }
                Err(Error::RunActive(run)) if self.settings.on_busy == OnBusy::Supersede => {
                    self.cancel(&start.thread, Some(&run)).await?;
                }
                other => return Ok(other?),
            }
        }
        Err(Error::RunsChanged.into())
    }

    /// Executes a run that is open. From here on it ends, whatever happens.
    async fn execute(&self, start: Start, writer: &RunWriter) {
        let cancel = CancellationToken::new();
        let registered = self.active.register((writer.incarnation, writer.run), cancel.clone());
        let body = agent_input(&self.engine, writer, &start.request, self.settings.history).await;
        let runs = self.engine.store().runs(&start.thread).await.unwrap_or_default();
        let others: HashSet<RunId> =
            runs.into_iter().map(|run| run.id).filter(|id| *id != start.run).collect();
        let source = match body {
            Ok(body) => start.backend.source(AgentRequest { body, headers: start.headers }),
            Err(error) => {
                tracing::error!(%error, "the input of a run cannot be read");
                Box::new(super::source::Failed::new("history_unavailable", "the branch cannot be read"))
            }
        };
        let execution = Execution {
            engine: self.engine.clone(),
            writer: writer.clone(),
            ingest: Ingest::new(&start.thread.thread, &start.run, others),
            source,
            cancel,
            shutdown: self.shutdown.clone(),
            settings: self.settings.clone(),
            renewal: self.renewal,
        };
        self.tasks.spawn(execution.execute(registered));
    }

    /// Cancels a run, and waits until it has ended. Without an id, the only one that goes on.
    ///
    /// # Errors
    /// If there is no such thread or run, or without an id none or several go on, or it does not end.
    pub async fn cancel(&self, thread: &ThreadKey, run: Option<&RunId>) -> Result<Cancelled, Refusal> {
        let runs = self.engine.store().runs(thread).await?;
        let found = match run {
            Some(id) => runs.iter().find(|run| run.id == *id).ok_or_else(|| Error::NoRun(id.to_string()))?,
            None => the_active_one(&runs)?,
        };
        if !found.is_running() {
            return Ok(Cancelled { run: found.id.clone(), status: found.status() });
        }
        let incarnation = self.engine.store().thread(thread).await?.incarnation;
        let Some(mut active) = self.active.get((incarnation, found.no)) else {
            // It may have ended just now; if not, nobody here can end it.
            return self.status(thread, found.no).await;
        };
        active.cancel.cancel();
        // If it does not end, the status says so.
        let ended = active.phase.wait_for(|phase| *phase != Phase::Running);
        let _ = timeout(self.settings.shutdown_timeout, ended).await;
        self.status(thread, found.no).await
    }

    async fn status(&self, thread: &ThreadKey, run: RunNo) -> Result<Cancelled, Refusal> {
        let info = self.engine.run(thread, run).await?;
        if info.is_running() {
            let message = format!("the run cannot be ended at the moment. run={}", info.id);
            return Err(Refusal::new(Code::StoreUnavailable, message));
        }
        Ok(Cancelled { run: info.id.clone(), status: info.status() })
    }

    /// Whether no run is started any more.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shutdown.is_cancelled()
    }

    /// Ends all runs, and waits until they have ended, or for as long as the settings say.
    pub async fn shut_down(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        if timeout(self.settings.shutdown_timeout, self.tasks.wait()).await.is_err() {
            tracing::warn!(runs = self.len(), "runs did not end in time");
        }
    }
}

fn the_active_one(runs: &[RunInfo]) -> Result<&RunInfo, Refusal> {
    let mut active = runs.iter().filter(|run| run.is_running());
    let one = active.next().ok_or_else(|| Refusal::new(Code::NoActiveRun, "no run of the thread goes on"))?;
    if active.next().is_some() {
        return Err(Refusal::new(Code::SeveralActiveRuns, "several runs of the thread go on: name one"));
    }
    Ok(one)
}
