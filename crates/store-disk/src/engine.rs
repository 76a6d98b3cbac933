//! What a store is made of.

use crate::ailments::Ailments;
use crate::catalogue::{Catalogue, CatalogueError, Changes};
use crate::chores::Chores;
use crate::dirs::Directories;
use crate::done::Done;
use crate::fs::DirLock;
use crate::history::{HistoryError, Shelf};
use crate::identity::Identity;
use crate::journal::{CommitError, Committed, Damage, Frames, Journal, ReadError, Submission};
use crate::overlay::{Overlay, Write, find_words};
use crate::seal::SealError;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Waker;
use threadline_log::thread::Usage;
use threadline_log::{Error, Scope};
use tokio::sync::watch;

/// So many writes become visible, and those who wait for them are told, before the next ones do.
const ARRIVALS_AT_ONCE: usize = 64;

pub(crate) const CLOSED: &str = "the store is closed";

/// The parts of a store.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) core: Arc<Core>,
    pub(crate) journal: Journal,
    /// Behind the journal, because it is dropped after it.
    _last_arrivals: LastArrivals,
    pub(crate) catalogue: Catalogue,
    pub(crate) shelf: Shelf,
    pub(crate) limits: Limits,
    /// Readers hold it while they use places of data. History learns of new places only while nobody holds it, and segments go only after all
    /// who held it when their places were forgotten.
    pub(crate) layout: RwLock<()>,
    /// One at a time seals or erases. In it is the history file that was begun and does not count yet.
    sealing: Mutex<Option<u64>>,
    /// Damage to segments that have lost something. They are kept as they are, and nothing is written.
    pub(crate) damaged: BTreeMap<u64, Damage>,
    /// History files that are missing. The catalogue keeps what it knows of them, and nothing is written or sealed.
    pub(crate) missing: Vec<String>,
    /// What is wrong though writes are taken.
    pub(crate) ailments: Ailments,
    pub(crate) directories: Directories,
    /// The store file as it is.
    identity: Mutex<Identity>,
    /// Changes that the catalogue has not taken, though it should have.
    flushing: Mutex<Option<Changes>>,
    /// As much waits for the catalogue as may, and it takes nothing.
    is_stuck: AtomicBool,
    lock: Mutex<Option<DirLock>>,
    is_closed: AtomicBool,
}

/// What is on the disk, opened.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) journal: Journal,
    pub(crate) catalogue: Catalogue,
    pub(crate) shelf: Shelf,
    pub(crate) missing: Vec<String>,
    pub(crate) directories: Directories,
    pub(crate) identity: Identity,
    pub(crate) lock: DirLock,
}

/// How much of what there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Segments that wait to be sealed until runs have ended.
    pub(crate) segments_waiting_max: usize,
    /// What may wait for the catalogue.
    pub(crate) overlay_bytes_max: usize,
    /// Threads that are kept in memory for no reason.
    pub(crate) threads_max: usize,
}

/// What the journal's completions need. It does not own the journal, which waits for its completions when it is dropped.
#[derive(Debug)]
pub(crate) struct Core {
    overlay: Mutex<Overlay>,
    /// Counts groups and failures: whenever something was completed.
    pub(crate) completed: watch::Sender<u64>,
    /// What became durable and nobody was told of: more of its group comes at once.
    arriving: Mutex<Vec<(Arc<Pending>, Committed)>>,
    /// What became durable. Whoever next looks at the overlay takes it in: the journal does not wait for who looks at it.
    arrived: Mutex<Vec<(Arc<Pending>, Committed)>>,
    /// Something durable was not taken in, so that nothing may be written, and nothing sealed, by what is known here.
    is_broken: AtomicBool,
    pub(crate) chores: Chores,
}

/// A write on its way. The journal has it, and who waits for it.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) core: Arc<Core>,
    pub(crate) write: Write,
    pub(crate) frames: Frames,
    pub(crate) done: Done,
}

impl Submission for Pending {
    fn frames(&self) -> &Frames {
        &self.frames
    }

    fn complete(self: Arc<Self>, result: Result<Committed, CommitError>) {
        match result {
            Ok(committed) => self.core.arrive(&self, committed),
            Err(error) => self.core.fail(&self, error),
        }
    }
}

/// Notes that what is durable was being taken in, if that panics.
struct TakingIn<'a>(&'a AtomicBool);

impl Drop for TakingIn<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// Takes in what the journal has written when it was dropped: what has arrived holds the core, which holds it.
#[derive(Debug)]
struct LastArrivals(Arc<Core>);

impl Drop for LastArrivals {
    fn drop(&mut self) {
        drop(self.0.overlay());
    }
}

impl Core {
    pub(crate) fn new(overlay: Overlay) -> Self {
        Self {
            overlay: Mutex::new(overlay),
            completed: watch::Sender::new(0),
            arriving: Mutex::default(),
            arrived: Mutex::default(),
            is_broken: AtomicBool::new(false),
            chores: Chores::default(),
        }
    }

    /// What is known, with all that is durable.
    pub(crate) fn overlay(&self) -> MutexGuard<'_, Overlay> {
        // What panics half way is a broken invariant of the overlay, and told by the panic.
        let mut overlay = self.overlay.lock().unwrap_or_else(PoisonError::into_inner);
        // The journal waits no longer than this takes.
        let arrived = std::mem::take(&mut *self.arrived());
        if !arrived.is_empty() {
            let _taking_in = TakingIn(&self.is_broken);
            for (pending, committed) in arrived {
                overlay.commit(&pending.write, committed.positions(&pending.frames).map(Into::into));
            }
        }
        overlay
    }

    /// The same, to move data by. An error if something that is durable is missing there.
    pub(crate) fn whole_overlay(&self) -> Result<MutexGuard<'_, Overlay>, &'static str> {
        let overlay = self.overlay();
        // Looked at with the overlay in hand: who fails to take something in says so before others get it.
        self.broken().map_or(Ok(overlay), Err)
    }

    /// Why nothing may be written by what is known here, if it may not.
    fn broken(&self) -> Option<&'static str> {
        self.is_broken
            .load(Ordering::Acquire)
            .then_some("what is durable could not be taken in: open the store again")
    }

    fn arrived(&self) -> MutexGuard<'_, Vec<(Arc<Pending>, Committed)>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what is durable, and tells who waits for it. Who looks at the overlay from then on finds it there.
    fn arrive(&self, pending: &Arc<Pending>, committed: Committed) {
        let Committed { is_last, start, .. } = committed;
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        arriving.push((Arc::clone(pending), committed));
        if !is_last && arriving.len() < ARRIVALS_AT_ONCE {
            return;
        }
        let mut waiting = Vec::with_capacity(arriving.len());
        {
            let mut arrived = self.arrived();
            waiting.extend(arriving.iter().filter_map(|(pending, _)| pending.done.end(Ok(()))));
            arrived.append(&mut arriving);
        }
        self.chores.note_commit(start.segment);
        self.completed.send_modify(|count| *count += 1);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Takes in that a write has failed.
    fn fail(&self, pending: &Arc<Pending>, error: CommitError) {
        self.completed.send_modify(|count| *count += 1);
        if let Some(waiting) = pending.done.end(Err(error)) {
            waiting.wake();
        }
    }
}

impl Engine {
    pub(crate) fn new(
        overlay: Overlay,
        parts: Parts,
        limits: Limits,
        damaged: BTreeMap<u64, Damage>,
    ) -> Self {
        let Parts { journal, catalogue, shelf, missing, directories, identity, lock } = parts;
        let core = Arc::new(Core::new(overlay));
        Self {
            _last_arrivals: LastArrivals(Arc::clone(&core)),
            core,
            journal,
            catalogue,
            shelf,
            limits,
            layout: RwLock::default(),
            sealing: Mutex::default(),
            damaged,
            missing,
            ailments: Ailments::default(),
            directories,
            identity: Mutex::new(identity),
            flushing: Mutex::default(),
            is_stuck: AtomicBool::new(false),
            lock: Mutex::new(Some(lock)),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Brings the catalogue up to what is durable now, and tells how many threads it took in.
    pub(crate) fn flush(&self) -> Result<usize, CatalogueError> {
        self.flush_and(&mut self.flushing(), |_| ())
    }

    /// One at a time brings the catalogue up. In it are changes that it has not taken, though it should have.
    fn flushing(&self) -> MutexGuard<'_, Option<Changes>> {
        self.flushing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, and does something at the moment that the catalogue then shows. How it ends is noted.
    fn flush_and(
        &self,
        left: &mut Option<Changes>,
        at_once: impl FnOnce(&mut Overlay),
    ) -> Result<usize, CatalogueError> {
        let flushed = self.take_in(left, at_once);
        let is_full = self.core.overlay().dirty_bytes() > self.limits.overlay_bytes_max;
        self.ailments.note_flush(&flushed);
        self.catalogue.mark();
        self.is_stuck.store(is_full && flushed.is_err(), Ordering::Release);
        flushed
    }

    fn take_in(
        &self,
        left: &mut Option<Changes>,
        at_once: impl FnOnce(&mut Overlay),
    ) -> Result<usize, CatalogueError> {
        if let Some(changes) = left {
            self.catalogue.apply(changes)?;
            *left = None;
        }
        let (mut changes, deltas) = {
            let mut overlay = self.core.whole_overlay().map_err(std::io::Error::other)?;
            at_once(&mut overlay);
            if !overlay.is_dirty() {
                return Ok(0);
            }
            overlay.take_changes()
        };
        find_words(&mut changes, deltas);
        if let Err(error) = self.catalogue.apply(&changes) {
            *left = Some(changes);
            return Err(error);
        }
        self.core.overlay().put_away(self.limits.threads_max);
        Ok(changes.threads.len())
    }

    /// Counts what a scope keeps. What is written meanwhile is added: the catalogue stays as it is as long as this takes.
    pub(crate) fn count_usage(&self, scope: &Scope) -> Result<Usage, CatalogueError> {
        let mut flushing = self.flushing();
        // Somebody else may have counted.
        let known = self.core.overlay().usages.get(scope);
        if let Some(usage) = known {
            return Ok(usage);
        }
        self.flush_and(&mut flushing, |overlay| overlay.usages.begin(scope))?;
        let found = self.catalogue.usage(scope)?;
        Ok(self.core.overlay().usages.finish(scope, found))
    }

    /// Why nothing can be written, if it cannot.
    pub(crate) fn trouble(&self) -> Option<String> {
        if let Some(failure) = self.journal.failure() {
            return Some(failure.in_full());
        }
        if let Some(broken) = self.core.broken() {
            return Some(broken.to_owned());
        }
        if self.is_stuck.load(Ordering::Acquire) {
            let why = self.ailments.flush().unwrap_or_default();
            return Some(format!("no more fits into memory, and {why}"));
        }
        // Whoever wrote behind a loss would give offsets a second time.
        if let Some(damage) = self.damaged.values().next() {
            return Some(format!("the log has lost something: {damage}"));
        }
        if let Some(file) = self.missing.first() {
            return Some(format!("the log has lost something: a file is missing. file={file}"));
        }
        self.is_closed().then(|| CLOSED.to_owned())
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// An error if the store is closed, or is about to be: who closes it does not wait for what can be done when it is opened again.
    pub(crate) fn may_seal(&self) -> Result<(), SealError> {
        match self.is_closed() || self.core.chores.is_stopped() {
            true => Err(SealError::Data(Error::Unavailable(CLOSED.to_owned()))),
            false => Ok(()),
        }
    }

    /// The right to seal and erase. What an attempt that failed has left is removed before the next one: a file counts by its name
    /// alone, and two with the same entries would count twice.
    pub(crate) fn begin_sealing(&self) -> Result<MutexGuard<'_, Option<u64>>, SealError> {
        let mut begun = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        self.may_seal()?;
        self.discard_begun(&mut begun)?;
        Ok(begun)
    }

    /// Makes it durable which numbers were given, before the last files go that tell.
    pub(crate) fn keep_numbers(&self) -> std::io::Result<()> {
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        let (threads_end, files_end) = (self.core.overlay().threads_end, self.shelf.next_number());
        if (identity.threads_end, identity.files_end) != (threads_end, files_end) {
            let mut next = identity.clone();
            (next.threads_end, next.files_end) = (threads_end, files_end);
            next.write(&*self.directories.root)?;
            *identity = next;
        }
        Ok(())
    }

    pub(crate) fn discard_begun(&self, begun: &mut Option<u64>) -> std::io::Result<()> {
        if let Some(number) = *begun {
            self.keep_numbers()?;
            self.shelf.discard(number)?;
            *begun = None;
        }
        Ok(())
    }

    /// Lets others have the directory, once nobody here changes its files any more.
    pub(crate) fn unlock(&self) {
        let _sealing = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::Release);
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// What a caller is told about an entry of the journal that cannot be read.
pub(crate) fn unreadable_entry(error: &ReadError, thread: u64, offset: Option<u64>) -> Error {
    let offset = offset.map(|offset| format!(", offset={offset}")).unwrap_or_default();
    match error {
        ReadError::Io { error: cause, .. } => Error::Unavailable(format!("{error}: {cause}")),
        ReadError::Damaged { position } => Error::Corrupt {
            place: format!("log/{position}, thread={thread}{offset}"),
            what: "the entry's checksum is wrong".to_owned(),
        },
        ReadError::NoSegment { .. } => {
            Error::Corrupt { place: format!("log, thread={thread}{offset}"), what: error.to_string() }
        }
    }
}

/// What a caller is told about a block of history that cannot be read.
pub(crate) fn unreadable_block(error: &HistoryError, file: &str, thread: u64, offset: Option<u64>) -> Error {
    let offset = offset.map(|offset| format!(", offset={offset}")).unwrap_or_default();
    let place = format!("history/{file}, thread={thread}{offset}");
    match error {
        HistoryError::Io(error)
            if ![ErrorKind::NotFound, ErrorKind::UnexpectedEof].contains(&error.kind()) =>
        {
            Error::Unavailable(format!("{place} cannot be read: {error}"))
        }
        error => Error::Corrupt { place, what: error.to_string() },
    }
}

impl From<CatalogueError> for Error {
    fn from(error: CatalogueError) -> Self {
        match error.is_damage() {
            true => Self::Corrupt { place: "catalogue.sqlite".to_owned(), what: error.to_string() },
            false => Self::Unavailable(error.to_string()),
        }
    }
}
