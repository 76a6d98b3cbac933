//! Where the events of a run go out: one at a time, legal, and no faster than they are read.

use crate::error::WriteError;
use crate::finish::Finish;
use crate::ledger::{Kind, Ledger, Opened};
use crate::options::RunOptions;
use crate::state::StateKeeper;
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadline_protocol::event::{RunError, RunFinished, RunStarted, SubagentError, ToolCallResult};
use threadline_protocol::patch::Document;
use threadline_protocol::run::{RunCancelled, RunInterrupt, RunOutcome, TokenUsage};
use threadline_protocol::stages::close::Cause;
use threadline_protocol::stages::verify::{Options, Rule, Verifier, Violation};
use threadline_protocol::{Event, RunAgentInput, Text};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// The version of AG-UI that the events are of.
const PROTOCOL_VERSION: &str = "1.0";

/// An event of a run, and its JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent {
    event: Event<'static>,
    json: Bytes,
}

impl RunEvent {
    fn new(event: Event<'static>) -> Self {
        let json = event.to_json().into();
        Self { event, json }
    }

    /// What it means.
    #[must_use]
    pub const fn event(&self) -> &Event<'static> {
        &self.event
    }

    /// Its JSON, one line.
    #[must_use]
    pub const fn json(&self) -> &Bytes {
        &self.json
    }

    /// Both.
    #[must_use]
    pub fn into_parts(self) -> (Event<'static>, Bytes) {
        (self.event, self.json)
    }
}

/// An event that waits for the reader.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) event: RunEvent,
    /// Given back when the reader takes the event, so that the agent may write the next one. Ends of things have none:
    /// they are written when something is dropped, where nobody can wait.
    _room: Option<OwnedSemaphorePermit>,
}

/// How a run ends.
#[derive(Debug)]
pub(crate) enum End {
    Finished(Finish),
    Failed { message: String, code: Option<String> },
    Cancelled,
}

/// The subagent that writes; none is the agent itself.
pub(crate) type Lane = Option<Text<'static>>;

/// Where the events of one run go out.
#[derive(Debug)]
pub(crate) struct Outlet {
    thread: Text<'static>,
    run: Text<'static>,
    options: RunOptions,
    room: Arc<Semaphore>,
    cancelled: watch::Sender<bool>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// None when the run has ended.
    sender: Option<mpsc::UnboundedSender<Waiting>>,
    verifier: Verifier,
    ledger: Ledger,
    state: StateKeeper,
    usage: Vec<TokenUsage<'static>>,
    minted: u64,
    /// Subagents that were dropped: they are finished if the run goes on, and have failed if it fails.
    dropped: Vec<Opened>,
}

impl Outlet {
    /// Starts a run. The receiver gets its events.
    pub(crate) fn start(
        input: &RunAgentInput<'static>,
        options: RunOptions,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Waiting>) {
        // Bounded by the room that every event needs, but for the ends of things.
        let (sender, receiver) = mpsc::unbounded_channel();
        let rules = Options::new().with_error(Rule::ResultRepeated).with_error(Rule::ResultOfOpenCall);
        let mut inner = Inner {
            sender: Some(sender),
            verifier: Verifier::new(rules),
            ledger: Ledger::default(),
            state: StateKeeper::new(&input.state_or_empty(), options.state_snapshot_bytes_max),
            usage: Vec::new(),
            minted: 0,
            dropped: Vec::new(),
        };
        let mut started = RunStarted::new(input.thread_id.clone(), input.run_id.clone())
            .with_protocol_version(PROTOCOL_VERSION);
        started.parent_run_id.clone_from(&input.parent_run_id);
        let first = inner.push(started, None);
        debug_assert_eq!(first, Ok(()), "every stream may begin with a run");
        let outlet = Self {
            thread: input.thread_id.clone(),
            run: input.run_id.clone(),
            room: Arc::new(Semaphore::new(options.waiting_max.min(Semaphore::MAX_PERMITS))),
            options,
            cancelled: watch::Sender::new(false),
            inner: Mutex::new(inner),
        };
        (Arc::new(outlet), receiver)
    }

    /// What the user's code does while the lock is held, ids and nothing else, cannot break what is inside.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room and writes. All of it or, if the future is dropped before, nothing.
    pub(crate) async fn write<T>(
        &self,
        lane: &Lane,
        write: impl FnOnce(&mut Turn<'_>) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        // It is closed when the run is cancelled or has ended.
        let room = Arc::clone(&self.room).acquire_owned().await.ok();
        let mut inner = self.lock();
        if inner.sender.is_none() {
            return Err(WriteError::Ended);
        }
        if room.is_none() || self.is_cancelled() {
            return Err(WriteError::Cancelled);
        }
        inner.finish_dropped(self);
        if lane.as_ref().is_some_and(|subagent| inner.ledger.find(Kind::Subagent, subagent, lane).is_none()) {
            return Err(WriteError::Ended);
        }
        write(&mut Turn { outlet: self, inner: &mut inner, room })
    }

    /// Ends something that was dropped.
    pub(crate) fn abandon(&self, kind: Kind, id: &Text<'static>, lane: &Lane) {
        let mut inner = self.lock();
        // What a cancelled run has open is closed as such.
        if inner.sender.is_none() || self.is_cancelled() {
            return;
        }
        let Some(opened) = inner.ledger.find(kind, id, lane) else { return };
        match kind {
            Kind::Subagent => inner.dropped.push(opened),
            _ => inner.end(&opened, self),
        }
    }

    /// A new id.
    pub(crate) fn mint(&self) -> Text<'static> {
        self.lock().mint(self)
    }

    /// Adds to what models were given and gave.
    pub(crate) fn add_usage(&self, usage: TokenUsage<'static>) {
        self.lock().usage.push(usage);
    }

    /// Asks the agent to stop: it can write no more.
    pub(crate) fn cancel(&self) {
        self.cancelled.send_replace(true);
        self.room.close();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Waits until the run is cancelled.
    pub(crate) async fn cancelled(&self) {
        let mut cancelled = self.cancelled.subscribe();
        // The sender is ours, and so is there as long as we are.
        let _ = cancelled.wait_for(|cancelled| *cancelled).await;
    }

    pub(crate) const fn cancel_grace(&self) -> std::time::Duration {
        self.options.cancel_grace
    }

    /// Ends the run, closing whatever is open.
    pub(crate) fn finish(&self, end: End) {
        let mut inner = self.lock();
        let usage = TokenUsage::totals(&std::mem::take(&mut inner.usage));
        let ended = match end {
            End::Finished(finish) => {
                inner.close_all(self);
                let mut finished = self.finished(usage.clone());
                finished.result = finish.result;
                finished.outcome =
                    finish.interrupts.map(|interrupts| RunOutcome::from(RunInterrupt::new(interrupts)));
                inner.push_checked(finished, None, self.options.event_bytes_max)
            }
            End::Cancelled => {
                inner.fail_all(Cause::Cancelled, self);
                let mut finished = self.finished(usage.clone());
                finished.outcome = Some(RunOutcome::from(RunCancelled::new()));
                inner.push(finished, None).map_err(Into::into)
            }
            End::Failed { message, code } => {
                inner.fail_all(Cause::Failed, self);
                inner.push_error(
                    message,
                    code.unwrap_or_else(|| Cause::Failed.code().to_owned()),
                    usage.clone(),
                );
                Ok(())
            }
        };
        if let Err(error) = ended {
            inner.push_error(error.to_string(), "unwritable_result".to_owned(), usage);
        }
        inner.sender = None;
        self.room.close();
    }

    fn finished(&self, usage: Vec<TokenUsage<'static>>) -> RunFinished<'static> {
        let mut finished = RunFinished::new(self.thread.clone(), self.run.clone());
        finished.usage = (!usage.is_empty()).then_some(usage);
        finished
    }
}

/// The right to write next.
pub(crate) struct Turn<'a> {
    outlet: &'a Outlet,
    inner: &'a mut Inner,
    /// Taken by the first event: the few that follow in the same turn need no more.
    room: Option<OwnedSemaphorePermit>,
}

impl Turn<'_> {
    /// A new id.
    pub(crate) fn mint(&mut self) -> Text<'static> {
        self.inner.mint(self.outlet)
    }

    /// Writes an event.
    pub(crate) fn emit(&mut self, event: impl Into<Event<'static>>) -> Result<(), WriteError> {
        self.inner.push_checked(event, self.room.take(), self.outlet.options.event_bytes_max)
    }

    /// Writes what gives the client this state.
    pub(crate) fn set_state(&mut self, state: Document, lane: Lane) -> Result<(), WriteError> {
        let Some(event) = self.inner.state.set(state, lane) else { return Ok(()) };
        self.emit(event).inspect_err(|_| self.inner.state.forget())
    }

    /// Whether a message or a call is being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.inner.ledger.is_writing()
    }

    /// Ends what a subagent and those below it have open.
    pub(crate) fn close_within(&mut self, subagent: &Text<'static>) {
        self.inner.close_within(subagent, self.outlet);
    }
}

impl Inner {
    fn mint(&mut self, outlet: &Outlet) -> Text<'static> {
        let count = self.minted;
        self.minted += 1;
        outlet.options.ids.id(&outlet.thread.to_str(), &outlet.run.to_str(), count).into()
    }

    fn push_checked(
        &mut self,
        event: impl Into<Event<'static>>,
        room: Option<OwnedSemaphorePermit>,
        limit: usize,
    ) -> Result<(), WriteError> {
        let event = RunEvent::new(event.into());
        let bytes = event.json.len();
        if bytes > limit {
            return Err(WriteError::TooLarge { bytes, limit });
        }
        Ok(self.send(event, room)?)
    }

    fn push(
        &mut self,
        event: impl Into<Event<'static>>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Violation> {
        self.send(RunEvent::new(event.into()), room)
    }

    fn send(&mut self, event: RunEvent, room: Option<OwnedSemaphorePermit>) -> Result<(), Violation> {
        if let Some(violation) = self.verifier.check(&event.event).into_iter().find(Violation::is_error) {
            return Err(violation);
        }
        self.ledger.take(&event.event);
        if let Some(sender) = &self.sender {
            // Whoever is gone has cancelled the run.
            let _ = sender.send(Waiting { event, _room: room });
        }
        Ok(())
    }

    fn push_error(&mut self, message: String, code: String, usage: Vec<TokenUsage<'static>>) {
        let mut error = RunError::new(message).with_code(code);
        error.usage = (!usage.is_empty()).then_some(usage);
        let pushed = self.push(error, None);
        debug_assert_eq!(pushed, Ok(()), "a run that goes on may fail at any time");
    }

    /// Ends something as if all was well with it. But a call was dropped before its arguments were complete: the end
    /// alone would make them look as if they were.
    fn end(&mut self, opened: &Opened, outlet: &Outlet) {
        if opened.kind == Kind::Subagent {
            self.close_within(&opened.id, outlet);
        }
        self.push_end(opened);
        if opened.kind == Kind::Call {
            self.answer(
                opened.id.clone(),
                opened.owner.clone(),
                "No result: the call was abandoned.",
                outlet,
            );
        }
    }

    /// The client may hold another for the owner, if an id was used twice.
    fn push_end(&mut self, opened: &Opened) {
        let pushed = self.push(opened.end(), None).or_else(|_| self.push(opened.end_by_anyone(), None));
        debug_assert_eq!(pushed, Ok(()), "what is open may end");
    }

    fn answer(&mut self, call: Text<'static>, owner: Lane, content: &str, outlet: &Outlet) {
        let mut result = ToolCallResult::new(self.mint(outlet), call, content.to_owned());
        result.subagent_run_id = owner;
        // A call that was made again under its old id may have its result already.
        let _ = self.push(result, None);
    }

    fn close_within(&mut self, subagent: &Text<'static>, outlet: &Outlet) {
        for opened in self.ledger.within(subagent) {
            self.end(&opened, outlet);
        }
    }

    fn finish_dropped(&mut self, outlet: &Outlet) {
        for opened in std::mem::take(&mut self.dropped) {
            // It may have ended with its parent.
            if self.ledger.find(Kind::Subagent, &opened.id, &opened.owner).is_some() {
                self.end(&opened, outlet);
            }
        }
    }

    fn close_all(&mut self, outlet: &Outlet) {
        for opened in self.ledger.all() {
            if self.ledger.find(opened.kind, &opened.id, &opened.owner).is_some() {
                self.end(&opened, outlet);
            }
        }
    }

    /// Closes everything for a run that did not end well: subagents have failed, and no call stays without a result,
    /// which would keep many models from going on.
    fn fail_all(&mut self, cause: Cause, outlet: &Outlet) {
        let (subagents, others): (Vec<Opened>, Vec<Opened>) =
            self.ledger.all().into_iter().partition(|opened| opened.kind == Kind::Subagent);
        for opened in &others {
            self.push_end(opened);
        }
        for call in self.ledger.unanswered().to_vec() {
            self.answer(call.id, call.owner, &format!("No result: {}.", cause.describe()), outlet);
        }
        for subagent in subagents {
            let error = SubagentError::new(subagent.id, cause.describe()).with_code(cause.code());
            let pushed = self.push(error, None);
            debug_assert_eq!(pushed, Ok(()), "an active subagent may fail");
        }
    }
}
