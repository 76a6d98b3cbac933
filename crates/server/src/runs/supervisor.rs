//! Starting, finding, cancelling and stopping runs.

use super::active::{Active, ActiveRuns, Phase, Registered};
use super::agent_input::agent_input;
use super::execution::Execution;
use super::ingest::Ingest;
use super::keeping::Keeping;
use super::live::{Joined, Live};
use super::source::Failed;
use crate::agents::{AgentRequest, Backend};
use crate::error::{Code, Refusal};
use crate::load::{Load, Place};
use crate::metrics::Metrics;
use crate::settings::{History, Mode, OnBusy, RunSettings};
use axum::http::HeaderMap;
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::buffered::{Aggregators, BufferOptions, BufferedWriter};
use threadline_log::delivery::Delivery;
use threadline_log::engine::ThreadChange;
use threadline_log::run::{RunInfo, RunStatus};
use threadline_log::{
    Attached, Engine, Error, HistoryMode, Incarnation, RunId, RunNo, RunWriter, StartRun, Started, ThreadKey,
};
use threadline_protocol::Event;
use threadline_protocol::stages::close::Cause;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{RwLock, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use tracing::field::Empty;

/// How often a request may find another run in its way before it is refused.
const SUPERSEDED_MAX: usize = 16;

/// How often a run is taken from others who end it at the same time.
const SEIZED_MAX: usize = 16;

/// The runs of this server. Clones are the same.
#[derive(Clone, Debug)]
pub struct Runs {
    engine: Engine,
    active: Arc<ActiveRuns>,
    /// Held while a run is opened, until it is among the active ones.
    opening: Arc<RwLock<()>>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    settings: RunSettings,
    aggregators: Aggregators,
    /// How often leases are renewed.
    renewal: Duration,
    load: Arc<Load>,
    metrics: Arc<Metrics>,
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

/// A run that was begun, now or earlier.
#[derive(Debug)]
pub struct Begun {
    /// Which one.
    pub started: Started,
    /// Whoever asked for it, as its first reader, if it is new and delivered before it is stored.
    pub(crate) joined: Option<Joined>,
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
    pub(crate) fn new(
        engine: Engine,
        settings: RunSettings,
        renewal: Duration,
        load: Arc<Load>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let aggregators = match settings.aggregate {
            true => Aggregators::merging(),
            false => Aggregators::unmerged(),
        };
        Self {
            engine,
            active: Arc::default(),
            opening: Arc::default(),
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
            settings,
            aggregators,
            renewal,
            load,
            metrics,
        }
    }

    /// With aggregators of one's own for buffered runs, whatever `aggregate` says.
    #[must_use]
    pub fn with_aggregators(mut self, aggregators: Aggregators) -> Self {
        self.aggregators = aggregators;
        self
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

    /// The readers of a run, if it is executed here and delivered before it is stored.
    pub(crate) fn live(&self, thread: Incarnation, run: RunNo) -> Option<Arc<Live>> {
        self.active.get((thread, run)).and_then(|active| active.live)
    }

    /// Starts a run: it is open when this returns, and goes on whoever watches.
    ///
    /// # Errors
    /// As [`Engine::start_run`], or if the server is about to stop.
    ///
    /// # Cancel safety
    /// Once begun, it is begun to its end: a client that is gone by now must not leave a run that nobody executes.
    pub async fn start(&self, start: Start) -> Result<Begun, Refusal> {
        let place = self.load.runs.take(&start.thread.scope)?;
        let runs = self.clone();
        let starting = async move { runs.start_now(start, place).await };
        let started = self.tasks.spawn(starting.in_current_span()).await;
        started.unwrap_or_else(|error| {
            tracing::error!(%error, "a run was not started");
            Err(Refusal::new(Code::Internal, "the run was not started"))
        })
    }

    async fn start_now(&self, start: Start, place: Place) -> Result<Begun, Refusal> {
        self.load.quota.admit_run(&self.engine, &start.thread, &start.run).await?;
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
            match self.open(wanted).await {
                Ok((Started::New(writer), Some(registered))) => {
                    let joined = self.execute(start, &writer, registered, place).await;
                    return Ok(Begun { started: Started::New(writer), joined });
                }
                // Its readers have seen its end: they may go on as soon as it is stored.
                Err(Error::RunActive(run)) if self.has_settled(&start.thread, &run).await? => {}
                Err(Error::RunActive(run)) if self.settings.on_busy == OnBusy::Supersede => {
                    self.cancel(&start.thread, Some(&run)).await?;
                }
                other => return Ok(Begun { started: other?.0, joined: None }),
            }
        }
        Err(Error::RunsChanged.into())
    }

    /// Opens a run, and registers it if it is new.
    async fn open(&self, wanted: StartRun) -> Result<(Started, Option<Registered>), Error> {
        let _opening = self.opening.read().await;
        let started = self.engine.start_run(wanted).await?;
        let registered = match &started {
            Started::New(writer) => Some(self.active.register(writer)),
            Started::Known(_) => None,
        };
        Ok((started, registered))
    }

    /// A run that is executed here, also if others see that it is open before it is.
    async fn executed(&self, key: (Incarnation, RunNo)) -> Option<Active> {
        if let Some(active) = self.active.get(key) {
            return Some(active);
        }
        let _all_are_registered = self.opening.write().await;
        self.active.get(key)
    }

    /// Waits for a run that is over for its readers until it is stored. False if it is not over.
    async fn has_settled(&self, thread: &ThreadKey, run: &RunId) -> Result<bool, Error> {
        if self.settings.mode == Mode::Durable {
            return Ok(false);
        }
        let run = self.engine.run_named(thread, run).await?.no;
        let incarnation = self.engine.store().thread(thread).await?.incarnation;
        match self.executed((incarnation, run)).await.and_then(|active| active.live) {
            Some(live) => Ok(live.settled().await),
            None => Ok(false),
        }
    }

    /// Executes a run that is open. From here on it ends, whatever happens.
    async fn execute(
        &self,
        start: Start,
        writer: &RunWriter,
        registered: Registered,
        place: Place,
    ) -> Option<Joined> {
        let (mut keeping, mut joined) =
            (Keeping::durable(self.engine.clone(), writer.clone(), Arc::clone(&self.metrics)), None);
        let opened = async {
            let body = agent_input(&self.engine, writer, &start.request, self.settings.history).await?;
            if self.settings.mode == Mode::Buffered {
                let (live, first) = self.go_live(writer).await?;
                registered.go_live(Arc::clone(&live));
                joined = Some(live.join_at_start(first));
                keeping.go_live(live, self.buffer(writer));
            }
            Ok::<_, Error>(body)
        };
        let body = opened.await;
        let runs = self.engine.store().runs(&start.thread).await.unwrap_or_default();
        let others: HashSet<RunId> =
            runs.into_iter().map(|run| run.id).filter(|id| *id != start.run).collect();
        let source = match body {
            Ok(body) => start.backend.source(AgentRequest { body, headers: start.headers }),
            Err(error) => {
                tracing::error!(%error, "the input of a run cannot be read");
                Box::new(Failed::new("history_unavailable", "the branch cannot be read"))
            }
        };
        let execution = Execution {
            keeping,
            ingest: Ingest::new(&start.thread.thread, &start.run, others),
            source,
            cancel: registered.cancel().clone(),
            lost: registered.lost().clone(),
            shutdown: self.shutdown.clone(),
            settings: self.settings.clone(),
            renewal: self.renewal,
            place,
        };
        let span = tracing::info_span!("run", agent = start.agent, outcome = Empty);
        self.tasks.spawn(execution.execute(registered).instrument(span));
        joined
    }

    /// A run that has just been opened, and what it began with.
    async fn go_live(&self, writer: &RunWriter) -> Result<(Arc<Live>, Vec<Event<'static>>), Error> {
        let Attached { run, fold, .. } = self.engine.attach(&writer.thread, writer.run).await?;
        let opening = self.engine.read(&writer.thread, run.offsets, Some(run.no), usize::MAX).await?;
        let mut delivery = Delivery::new(&writer.thread.thread, &run.id);
        let first =
            opening.records.iter().flat_map(|record| delivery.push(record.kind, &record.bytes)).collect();
        let fold = fold.with_unknown(self.settings.unknown.clone());
        Ok((Arc::new(Live::new(fold)), first))
    }

    fn buffer(&self, writer: &RunWriter) -> BufferedWriter {
        let RunSettings { flush_interval, finalization_timeout, .. } = self.settings;
        let options = BufferOptions { flush_interval, finalization_timeout, ..BufferOptions::default() };
        let aggregator = self.aggregators.of(&writer.thread, writer.incarnation);
        BufferedWriter::new(self.engine.clone(), writer.clone(), aggregator, &options)
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
        let Some(mut active) = self.executed((incarnation, found.no)).await else {
            return self.cancel_elsewhere(thread, found.no).await;
        };
        active.cancel.cancel();
        let ended = active.phase.wait_for(|phase| *phase != Phase::Running);
        let ended = timeout(self.settings.shutdown_timeout, ended).await;
        if ended.is_ok_and(|phase| phase.is_ok_and(|phase| *phase == Phase::Ended)) {
            // Another may have taken it before, and not have ended it yet.
            return self.cancel_elsewhere(thread, found.no).await;
        }
        // If it has not ended, the status says so.
        self.status(thread, found.no).await
    }

    /// Ends a run that is not executed here: another instance executes it, or its events come from outside. Whoever writes it is
    /// told by the next refusal, or before.
    ///
    /// # Cancel safety
    /// Once begun, it is done to its end: a run that was taken and not ended would have to wait until its lease is over.
    async fn cancel_elsewhere(&self, thread: &ThreadKey, run: RunNo) -> Result<Cancelled, Refusal> {
        let (runs, taken) = (self.clone(), thread.clone());
        let ending = async move { runs.seize_and_cancel(&taken, run).await };
        let ended = self.tasks.spawn(ending.in_current_span()).await;
        ended.unwrap_or_else(|error| {
            tracing::error!(%error, "a run was not cancelled");
            Err(Error::Indeterminate("the run may or may not have been cancelled".to_owned()))
        })?;
        self.status(thread, run).await
    }

    async fn seize_and_cancel(&self, thread: &ThreadKey, run: RunNo) -> Result<(), Error> {
        for _ in 0..SEIZED_MAX {
            let ended = match self.engine.seize(thread, run).await {
                Ok(writer) => self.engine.end_run(&writer, Cause::Cancelled).await,
                Err(error) => Err(error),
            };
            match ended {
                // Somebody else ends it at the same time.
                Err(Error::Fenced { .. }) => {}
                Ok(_) | Err(Error::RunEnded(_)) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Stops the runs that others have taken, as soon as they tell of it, for as long as it is polled. Else a run finds out
    /// when it is written to, or its lease is renewed.
    pub(crate) async fn give_way(&self) {
        if self.engine.store().shared().is_none() {
            return;
        }
        let mut changes = self.engine.changes();
        loop {
            let runs = match changes.recv().await {
                Ok(ThreadChange::Changed(thread) | ThreadChange::Deleted(thread)) => {
                    self.active.of(Some(&thread))
                }
                Ok(ThreadChange::Missed) | Err(RecvError::Lagged(_)) => self.active.of(None),
                Err(RecvError::Closed) => return,
            };
            for active in runs {
                if self.is_lost(&active.writer).await {
                    active.lost.cancel();
                }
            }
        }
    }

    async fn is_lost(&self, writer: &RunWriter) -> bool {
        match self.engine.store().thread(&writer.thread).await {
            Ok(info) if info.incarnation == writer.incarnation => {}
            Ok(_) | Err(Error::NoThread(_)) => return true,
            // Nobody knows.
            Err(_) => return false,
        }
        let run = self.engine.run(&writer.thread, writer.run).await;
        run.is_ok_and(|run| run.epoch != writer.epoch)
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
