//! A run that clients see before it is stored.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadline_log::NewRecord;
use threadline_log::run::RunEnd;
use threadline_log::run_fold::RunFold;
use threadline_protocol::Event;
use threadline_protocol::event::RunError;
use threadline_protocol::stages::close::Cause;
use tokio::sync::broadcast;

/// How many tidings a reader may be behind before it is cut off.
const TIDINGS_MAX: usize = 1024;
/// About how many bytes one of them is at most, so that a reader that stands still does not hold more than it may.
const TIDING_BYTES: usize = 64 * 1024;

/// What readers are told.
#[derive(Clone, Debug)]
pub(crate) enum Tiding {
    /// Something was said.
    Events(Arc<[Event<'static>]>),
    /// The run has ended, and all of it is durable.
    Stored,
}

/// A run that is executed here and delivered before it is stored.
#[derive(Debug)]
pub(crate) struct Live(Mutex<State>);

#[derive(Debug)]
struct State {
    /// What clients hold by now.
    fold: RunFold,
    /// None when everything is stored.
    readers: Option<broadcast::Sender<Tiding>>,
}

/// Somebody who has come to read a run.
#[derive(Debug)]
pub struct Joined {
    /// What they are told on arrival.
    pub(crate) events: Vec<Event<'static>>,
    /// What comes after it; none if that is all.
    pub(crate) rest: Option<broadcast::Receiver<Tiding>>,
}

impl Live {
    /// A run of which clients hold this much.
    pub(super) fn new(fold: RunFold) -> Self {
        let (readers, _) = broadcast::channel(TIDINGS_MAX);
        Self(Mutex::new(State { fold, readers: Some(readers) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing here panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody arrives: nothing falls between what they are told and what comes after it.
    pub(crate) fn join(&self) -> Joined {
        let state = self.lock();
        let events = state.fold.joiner().prelude();
        let rest = state.readers.as_ref().filter(|_| !state.is_over()).map(broadcast::Sender::subscribe);
        Joined { events, rest }
    }

    /// Somebody is there from the start, and is told its events themselves.
    pub(super) fn join_at_start(&self, events: Vec<Event<'static>>) -> Joined {
        Joined { events, rest: self.lock().readers.as_ref().map(broadcast::Sender::subscribe) }
    }

    /// Shows readers what they see of these records.
    pub(super) fn deliver(&self, records: &[NewRecord]) {
        let mut state = self.lock();
        let (mut events, mut bytes) = (Vec::new(), 0);
        for record in records {
            events.extend(state.fold.push(record.kind, &record.bytes));
            bytes += record.bytes.len();
            if bytes >= TIDING_BYTES {
                state.tell(std::mem::take(&mut events));
                bytes = 0;
            }
        }
        state.tell(events);
    }

    /// Ends the run in its source's place, and gives what is to be stored of that.
    pub(super) fn end(&self, cause: Cause, error: Option<RunError<'static>>) -> (Vec<NewRecord>, RunEnd) {
        let events = self.lock().fold.delivery().ending(cause, error);
        let end = events.last().and_then(RunEnd::of).expect("the last one ends the run");
        let made = |event: &Event<'_>| NewRecord::made(event.to_json().into_bytes());
        let records: Vec<NewRecord> = events.iter().map(made).collect();
        self.deliver(&records);
        (records, end)
    }

    /// All of it is durable: readers need not wait any longer.
    pub(super) fn stored(&self) {
        if let Some(readers) = self.lock().readers.take() {
            // Nobody need listen.
            let _ = readers.send(Tiding::Stored);
        }
    }

    /// Waits until a run that is over for its readers is stored, or cannot be. False if it is not over.
    pub(super) async fn settled(&self) -> bool {
        let rest = {
            let state = self.lock();
            if !state.is_over() {
                return false;
            }
            state.readers.as_ref().map(broadcast::Sender::subscribe)
        };
        if let Some(mut rest) = rest {
            // Nothing but that it is stored can follow, or that whoever stores it is gone.
            let _ = rest.recv().await;
        }
        true
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.fold.joiner().ongoing().current_run().is_none()
    }

    fn tell(&self, events: Vec<Event<'static>>) {
        if let Some(readers) = self.readers.as_ref().filter(|_| !events.is_empty()) {
            let _ = readers.send(Tiding::Events(events.into()));
        }
    }
}
