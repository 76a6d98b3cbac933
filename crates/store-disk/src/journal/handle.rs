//! The journal as its users see it.

use super::committer::{Committer, GroupLimits};
use super::entry::{Entry, Found, Layout};
use super::error::{CloseError, CommitError, Failure, OpenError, ReadError, ReleaseError, SubmitError};
use super::format::{
    GROUP_HEADER_BYTES, GROUPS_START, NO_ENTRIES_END, gone_name, segment_name, sidecar_name,
};
use super::keeper::Keeper;
use super::open::{Opened, Recovery, open};
use super::queue::{End, Item, Place, Queue};
use super::scan::Bound;
use super::segments::{Segment, Shared};
use super::survey::Known;
use super::walk::Walk;
use super::{Damage, Position, Salt};
use crate::fs::Disk;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

/// Most entries are read at once with that many bytes.
const READ_BYTES: usize = 4096;

/// The length of segments by default. Opening after a crash reads the last one, whose records share their beginnings: these are as many
/// as 64 MiB would hold if they did not.
pub(crate) const SEGMENT_BYTES: u32 = 40 << 20;

/// How a journal works.
#[derive(Debug, Clone)]
pub struct Options {
    /// Random bytes, for a journal that is new or has no header that can be read; otherwise those of the files are used.
    pub salt: Salt,
    /// What is known of it before it is looked at.
    pub known: Known,
    /// The length of new segments.
    pub segment_bytes: u32,
    /// A group takes no further submission beyond that.
    pub group_bytes_max: usize,
    /// How many submissions a group takes.
    pub group_submissions_max: usize,
    /// A larger submission is refused. It must also fit into a segment.
    pub submission_bytes_max: usize,
    /// How much may wait to be written.
    pub queue_bytes_max: usize,
}

impl Options {
    /// The defaults, with a salt that the caller has drawn.
    #[must_use]
    pub fn new(salt: Salt) -> Self {
        Self {
            salt,
            known: Known::default(),
            segment_bytes: SEGMENT_BYTES,
            group_bytes_max: 4 << 20,
            group_submissions_max: 4096,
            submission_bytes_max: 32 << 20,
            queue_bytes_max: 64 << 20,
        }
    }

    /// The longest frames that are taken: alone in a segment they leave room for an empty group.
    fn frames_bytes_max(&self) -> usize {
        let room = (self.segment_bytes - GROUPS_START) as usize - 2 * GROUP_HEADER_BYTES;
        self.submission_bytes_max.min(room)
    }
}

/// A live segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number.
    pub number: u64,
    /// The byte behind its last group.
    pub end: u32,
    /// It takes groups.
    pub is_active: bool,
}

/// Whether the journal works.
#[derive(Debug, Clone)]
pub struct Health {
    /// Why it takes nothing more, if it does not.
    pub failure: Option<Arc<Failure>>,
    /// Why a sidecar could not be written or a spare segment not be made the last time. The journal works without.
    pub background: Option<String>,
}

/// An open journal. Dropping it writes what was submitted; only [`Journal::close`] closes it in order.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    keeper: Arc<Keeper>,
    frames_bytes_max: usize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Journal {
    /// Opens or makes a journal. `visitor` gets every live entry in order.
    ///
    /// The caller keeps other processes out, by [`Disk::lock`].
    ///
    /// # Errors
    /// If files cannot be used, or are not a journal of this version. Damage is no error, but told in the [`Recovery`].
    pub fn open(
        disk: Arc<dyn Disk>,
        options: &Options,
        mut visitor: impl FnMut(Found<'_>),
    ) -> Result<(Self, Recovery), OpenError> {
        if options.segment_bytes < 2 * GROUPS_START {
            return Err(OpenError::SegmentTooShort { bytes: options.segment_bytes });
        }
        let Opened { shared, active, recovery, sidecars_wanted } = open(disk, options, &mut visitor)?;
        let journal = Self {
            shared: Arc::new(shared),
            queue: Arc::new(Queue::new(options.queue_bytes_max)),
            keeper: Arc::default(),
            frames_bytes_max: options.frames_bytes_max(),
            threads: Mutex::default(),
        };
        let limits =
            GroupLimits { bytes: options.group_bytes_max, submissions: options.group_submissions_max };
        let (shared, keeper) = (Arc::clone(&journal.shared), Arc::clone(&journal.keeper));
        let mut committer = Committer::new(shared, Arc::clone(&journal.queue), keeper, active, limits);
        if recovery.is_new {
            // From now on an active segment without groups means that a crash came in between.
            committer.write_empty_group().map_err(|failure| {
                let error = io::Error::new(failure.error.kind(), failure);
                OpenError::Io { file: segment_name(1), error }
            })?;
        }
        sidecars_wanted.into_iter().for_each(|segment| journal.keeper.want_sidecar(segment, None));
        let (shared, keeper) = (Arc::clone(&journal.shared), Arc::clone(&journal.keeper));
        let committer = spawn("journal-committer", move || committer.run())?;
        journal.lock_threads().push(committer);
        let keeper = spawn("journal-keeper", move || keeper.run(&shared))?;
        journal.lock_threads().push(keeper);
        Ok((journal, recovery))
    }

    fn lock_threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place in the queue for frames of so many bytes, in the order of the calls. Never waits for the disk.
    ///
    /// # Errors
    /// If they are not taken: then nothing is written.
    pub fn reserve(&self, bytes: usize) -> Result<Place<'_>, SubmitError> {
        if bytes > self.frames_bytes_max {
            return Err(SubmitError::TooLarge { bytes, max: self.frames_bytes_max });
        }
        if let Some(failure) = self.shared.failure() {
            return Err(SubmitError::Unavailable(Arc::clone(failure)));
        }
        self.queue.reserve(bytes)
    }

    /// Goes on in a new segment, unless the active one has no entries, behind everything that was submitted. Waits for it, and
    /// returns the number of the segment that is active then.
    ///
    /// # Errors
    /// If the journal takes nothing more.
    pub fn rotate(&self) -> Result<u64, SubmitError> {
        if self.shared.used() > NO_ENTRIES_END.into() {
            // Others submit meanwhile.
            self.keeper.await_spare();
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let completion = move |result| _ = sender.send(result);
        self.queue.reserve(0)?.put(Item::Rotate(Box::new(completion)));
        match receiver.recv() {
            Ok(Ok(number)) => Ok(number),
            Ok(Err(CommitError::Indeterminate(failure) | CommitError::Unavailable(failure))) => {
                Err(SubmitError::Unavailable(failure))
            }
            Err(mpsc::RecvError) => Err(SubmitError::Closed),
        }
    }

    /// Reads and verifies an entry.
    ///
    /// # Errors
    /// If there is none, or it is damaged, or cannot be read.
    pub fn read(&self, position: Position) -> Result<Entry, ReadError> {
        let segment = self.segment(position.segment)?;
        let failed = |error| ReadError::Io { position, error };
        let end = segment.end.load(Ordering::Acquire);
        let room = end.saturating_sub(position.byte) as usize;
        let mut bytes = vec![0; room.min(READ_BYTES)];
        segment.file.read_exact_at(&mut bytes, position.byte.into()).map_err(failed)?;
        let entry = Layout::read(&bytes).map(|layout| layout.end).filter(|length| *length <= room);
        let length = entry.ok_or(ReadError::Damaged { position })?;
        let read = bytes.len();
        bytes.resize(length, 0);
        if length > read {
            let at = u64::from(position.byte) + read as u64;
            segment.file.read_exact_at(&mut bytes[read..], at).map_err(failed)?;
        }
        Entry::verified(bytes, self.shared.salt.seed()).ok_or(ReadError::Damaged { position })
    }

    /// Visits all entries of a segment that takes no more groups, with their bodies, verified. Returns what is damaged.
    ///
    /// # Errors
    /// If there is no such segment, or it cannot be read.
    pub fn scan(&self, segment: u64, mut visitor: impl FnMut(Found<'_>)) -> Result<Vec<Damage>, ReadError> {
        let file = self.segment(segment)?;
        let next = self.shared.segments().next_group(segment);
        let position = Position { segment, byte: 0 };
        let size = file.end.load(Ordering::Acquire);
        let walk = Walk {
            file: &*file.file,
            size,
            segment,
            salt: self.shared.salt,
            first_group: file.header.map(|header| header.first_group),
            segment_bytes: size,
            bound: next.map_or(Bound::Durable, Bound::Until),
        };
        let scanned = walk.run(&mut visitor).map_err(|error| ReadError::Io { position, error })?;
        Ok(scanned.damages)
    }

    fn segment(&self, number: u64) -> Result<Arc<Segment>, ReadError> {
        let segment = self.shared.segments().live.get(&number).cloned();
        segment.ok_or(ReadError::NoSegment { segment: number })
    }

    /// The salt of its segments.
    #[must_use]
    pub fn salt(&self) -> Salt {
        self.shared.salt
    }

    /// The live segments in order; the last one is active.
    #[must_use]
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let segments = self.shared.segments();
        let active = segments.live.keys().next_back().copied();
        let info = |segment: &Arc<Segment>| SegmentInfo {
            number: segment.number,
            end: segment.end.load(Ordering::Acquire),
            is_active: active == Some(segment.number),
        };
        segments.live.values().map(info).collect()
    }

    /// Where the first entry of the oldest live segment would be.
    #[must_use]
    pub fn start(&self) -> Position {
        let first = self.shared.segments().live.keys().next().copied();
        Position { segment: first.expect("there is an active segment"), byte: GROUPS_START }
    }

    /// Removes a segment whose entries are kept elsewhere. Readers that have begun may still end.
    ///
    /// # Errors
    /// If it is the active one or there is none. If the file system refuses the journal takes nothing more, and the segment may
    /// be there again when it is opened anew.
    pub fn release(&self, number: u64) -> Result<(), ReleaseError> {
        let _naming = self.shared.naming();
        if let Some(failure) = self.shared.failure() {
            return Err(ReleaseError::Unavailable(Arc::clone(failure)));
        }
        let (segment, is_oldest, gone) = {
            let mut segments = self.shared.segments_mut();
            if segments.live.keys().next_back() == Some(&number) {
                return Err(ReleaseError::Active { segment: number });
            }
            let Some(segment) = segments.live.remove(&number) else {
                return Err(ReleaseError::NoSegment { segment: number });
            };
            let first = segments.live.keys().next().copied().unwrap_or(u64::MAX);
            let is_oldest = first > number;
            if !is_oldest {
                segments.gone.insert(number, segment.header.map(|header| header.first_group));
            }
            let later = segments.gone.split_off(&first);
            let gone: Vec<u64> = std::mem::replace(&mut segments.gone, later).into_keys().collect();
            (segment, is_oldest, gone)
        };
        self.remove_files(&segment, is_oldest, &gone)
            .map_err(|error| ReleaseError::Unavailable(self.shared.failed("a release", number, error)))
    }

    fn remove_files(&self, segment: &Segment, is_oldest: bool, gone: &[u64]) -> io::Result<()> {
        let disk = &self.shared.disk;
        let name = segment_name(segment.number);
        match disk.remove(&sidecar_name(segment.number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if is_oldest {
            disk.remove(&name)?;
        } else {
            disk.rename(&name, &gone_name(segment.number))?;
        }
        disk.sync_dir()?;
        if !is_oldest {
            segment.file.set_size(GROUPS_START.into())?;
            segment.file.sync_data()?;
        }
        // Not before nothing older can come back. If they do, they do no harm.
        for number in gone {
            disk.remove(&gone_name(*number))?;
        }
        Ok(())
    }

    /// Why it takes nothing more, if it does not.
    #[must_use]
    pub fn failure(&self) -> Option<&Arc<Failure>> {
        self.shared.failure()
    }

    /// Whether the journal works.
    #[must_use]
    pub fn health(&self) -> Health {
        Health { failure: self.shared.failure().cloned(), background: self.keeper.trouble() }
    }

    /// Writes what was submitted, and an empty group, so that damage to the last one can be told from a torn one. Later calls
    /// do nothing.
    ///
    /// # Errors
    /// If the journal takes nothing more because of a failure.
    pub fn close(&self) -> Result<(), CloseError> {
        self.end(End::Orderly);
        self.shared.failure().map_or(Ok(()), |failure| Err(CloseError(Arc::clone(failure))))
    }

    fn end(&self, how: End) {
        self.queue.end(how);
        self.keeper.stop();
        for thread in self.lock_threads().drain(..) {
            // If one panicked then that was latched, and told.
            _ = thread.join();
        }
    }

    /// Waits until the keeper has nothing to do for now.
    #[cfg(test)]
    pub(crate) fn settle(&self) {
        self.keeper.settle(&self.shared);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.end(End::Abrupt);
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(OpenError::io("a thread"))
}
