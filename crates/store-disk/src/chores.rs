//! Work that goes on behind a store, on threads of its own: the catalogue is brought up, and what is settled is sealed.

use crate::engine::{CLOSED, Core, Engine};
use crate::priority::let_others_go_first;
use crate::seal::SealError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use threadline_log::Error;
use tokio::sync::oneshot;

/// How long the catalogue may lag behind when nobody asks: what comes meanwhile is taken in at once.
const CATALOGUE_LAG: Duration = Duration::from_millis(200);

/// How much longer it may lag behind for each thread that it took in the last time, up to the most: each costs it some 30 µs of a
/// processor that appends need, and a thread that goes on is taken in again every time.
const CATALOGUE_LAG_PER_THREAD: Duration = Duration::from_millis(1);
const CATALOGUE_LAG_MAX: Duration = Duration::from_secs(1);

/// Who waits until everything is sealed and erased that may be.
type Waiting = oneshot::Sender<Result<(), Error>>;

/// What there is to do.
#[derive(Debug, Default)]
pub(crate) struct Chores {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    is_dirty: bool,
    /// The newest segment that has entries.
    segment: u64,
    tidying: Vec<Waiting>,
    /// Nobody seals any more.
    is_sealing_over: bool,
    is_stopped: bool,
}

/// What the thread that seals does next.
enum Sealing {
    /// Segments before this one are full.
    Full(u64),
    /// Everything that may be.
    All(Vec<Waiting>),
}

impl Chores {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something became durable in a segment.
    pub(crate) fn note_commit(&self, segment: u64) {
        let mut known = self.known();
        let news = !known.is_dirty || segment > known.segment;
        known.is_dirty = true;
        known.segment = known.segment.max(segment);
        drop(known);
        if news {
            self.changed.notify_all();
        }
    }

    /// The catalogue has not taken in what it should have.
    fn note_left(&self) {
        self.known().is_dirty = true;
    }

    /// Seals and erases everything that may be, and waits for it.
    pub(crate) async fn tidy(&self) -> Result<(), Error> {
        let (waiting, tidied) = oneshot::channel();
        {
            let mut known = self.known();
            if known.is_stopped || known.is_sealing_over {
                return Err(Error::Unavailable(CLOSED.to_owned()));
            }
            known.tidying.push(waiting);
        }
        self.changed.notify_all();
        tidied.await.unwrap_or_else(|_| Err(Error::Unavailable("the work was not ended".to_owned())))
    }

    /// Ends the work.
    pub(crate) fn stop(&self) {
        self.known().is_stopped = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.known().is_stopped
    }

    /// Waits until there is something for the catalogue, and a little longer. False if it is to end.
    fn wait_for_changes(&self, lag: Duration) -> bool {
        let mut known = self.known();
        while !known.is_dirty && !known.is_stopped {
            known = self.changed.wait(known).unwrap_or_else(PoisonError::into_inner);
        }
        let stopped = |known: &mut Known| !known.is_stopped;
        let waited = self.changed.wait_timeout_while(known, lag, stopped);
        let (mut known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        known.is_dirty = false;
        !known.is_stopped
    }

    /// Waits until there is something to seal, beyond the segments before this one. None if it is to end.
    fn wait_for_sealing(&self, after: u64) -> Option<Sealing> {
        let mut known = self.known();
        while known.segment <= after && known.tidying.is_empty() && !known.is_stopped {
            known = self.changed.wait(known).unwrap_or_else(PoisonError::into_inner);
        }
        match known {
            known if known.is_stopped => None,
            mut known if !known.tidying.is_empty() => Some(Sealing::All(std::mem::take(&mut known.tidying))),
            known => Some(Sealing::Full(known.segment)),
        }
    }
}

/// Brings the catalogue up to date from time to time, until it is told to end.
pub(crate) fn keep_catalogue(core: &Core, engine: &Weak<Engine>) {
    let mut lag = CATALOGUE_LAG;
    while core.chores.wait_for_changes(lag) {
        let Some(engine) = engine.upgrade() else { return };
        let threads = match engine.flush() {
            Ok(threads) => u32::try_from(threads).unwrap_or(u32::MAX),
            Err(_) => {
                // It gets it the next time. Whoever asks for the store's health is told.
                core.chores.note_left();
                u32::MAX
            }
        };
        lag = CATALOGUE_LAG_MAX.min(CATALOGUE_LAG + CATALOGUE_LAG_PER_THREAD.saturating_mul(threads));
    }
}

/// Seals segments when they are full, and everything when it is asked to, until it is told to end.
pub(crate) fn keep_sealing(core: &Core, engine: &Weak<Engine>) {
    let _over = SealingIsOver(&core.chores);
    // Packing takes much of a processor.
    let_others_go_first();
    let mut last = 0;
    while let Some(sealing) = core.chores.wait_for_sealing(last) {
        let Some(engine) = engine.upgrade() else { return };
        match sealing {
            Sealing::Full(segment) => {
                last = segment;
                // The segments stay, and are tried again after the next one. Whoever asks for the store's health is told.
                _ = guarded(&engine, || engine.seal(segment, false));
            }
            Sealing::All(waiting) => {
                let tidied = guarded(&engine, || engine.tidy()).map_err(Error::from);
                for waiting in waiting {
                    // Who went away does not want to know.
                    _ = waiting.send(tidied.clone());
                }
            }
        }
    }
}

/// A panic is an error as well: the thread stays, and tries again.
fn guarded(engine: &Engine, seal: impl FnOnce() -> Result<(), SealError>) -> Result<(), SealError> {
    catch_unwind(AssertUnwindSafe(seal)).unwrap_or_else(|_| {
        let panicked = Err(SealError::Data(Error::Unavailable("sealing panicked".to_owned())));
        engine.ailments.note_sealing(&panicked);
        panicked
    })
}

/// Tells who waits, and who would wait, that nobody seals any more.
struct SealingIsOver<'a>(&'a Chores);

impl Drop for SealingIsOver<'_> {
    fn drop(&mut self) {
        let mut known = self.0.known();
        known.is_sealing_over = true;
        known.tidying.clear();
    }
}
