//! Work that must not wait in the committer's way: the next segment's zeros, and sidecars.

use super::format::{GROUPS_START, SPARE_NAME, segment_name, sidecar_name, sidecar_tmp_name};
use super::header::Header;
use super::scan::Bound;
use super::segments::{Segment, Shared};
use super::sidecar::{Covers, SidecarBuilder};
use super::walk::Walk;
use crate::fs::{Disk, DiskFile};
use crate::priority::{give_way, let_others_go_first};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Zeros are synced in pieces of this size, and written in smaller ones: neither the disk nor the processor may be kept from the
/// committer for long.
const ZEROS_SYNC_BYTES: u32 = 1 << 20;
const ZEROS_BYTES: u32 = 256 << 10;
/// Zeros are written as the active segment is used, so many times as fast: groups wait for the disk behind them, and a few a little is
/// better than many in a row. They are whole when the segment is half full.
const ZEROS_AHEAD: u32 = 2;
/// The keeper is told of what is used in steps of this size, each of which is a piece of the spare.
pub(super) const USE_STEP_BYTES: u32 = ZEROS_SYNC_BYTES / ZEROS_AHEAD;

/// What is behind the zeros of a spare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Zeros,
    /// Nothing is written up to its end. It is read as zeros, too.
    Hole,
}

#[derive(Debug, Default)]
enum Spare {
    #[default]
    None,
    Wanted,
    Preparing,
    Ready(Arc<dyn DiskFile>),
    /// The committer has it, or makes one for itself. Until it wants the next, its name is not to be used.
    Taken,
}

#[derive(Debug, Default)]
struct Chores {
    spare: Spare,
    /// Segments that need one, with what it holds if that is known.
    sidecars: VecDeque<(u64, Option<SidecarBuilder>)>,
    is_stopped: bool,
    /// Somebody waits for the spare, but not in the committer's way.
    is_awaited: bool,
    /// The committer waits for the spare.
    is_urgent: bool,
    /// A chore is being done.
    is_busy: bool,
    /// The spare may not have so many bytes yet.
    held_back: Option<u64>,
    /// Why the last chore failed, if it did.
    trouble: Option<String>,
}

/// The chores of a journal, and the thread that does them.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    chores: Mutex<Chores>,
    changed: Condvar,
}

impl Chores {
    fn note(&mut self, done: io::Result<()>) {
        self.trouble = done.err().map(|error| error.to_string());
    }
}

enum Chore {
    Spare,
    Sidecar(u64, Option<SidecarBuilder>),
}

impl Keeper {
    fn lock(&self) -> MutexGuard<'_, Chores> {
        self.chores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, chores: MutexGuard<'a, Chores>) -> MutexGuard<'a, Chores> {
        self.changed.wait(chores).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn want_spare(&self) {
        let mut chores = self.lock();
        if matches!(chores.spare, Spare::None | Spare::Taken) {
            chores.spare = Spare::Wanted;
            self.changed.notify_all();
        }
    }

    /// The segment is read if it is not known what is in it.
    pub(super) fn want_sidecar(&self, segment: u64, known: Option<SidecarBuilder>) {
        self.lock().sidecars.push_back((segment, known));
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// Why the last chore failed, if it did.
    pub(super) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// A file of the name [`SPARE_NAME`], made on the spot if there is none. What it has no zeros for yet is a hole: nobody waits for them.
    pub(super) fn take_spare(&self, shared: &Shared) -> io::Result<Arc<dyn DiskFile>> {
        let mut chores = self.lock();
        while matches!(chores.spare, Spare::Preparing) {
            chores.is_urgent = true;
            self.changed.notify_all();
            chores = self.wait(chores);
        }
        chores.is_urgent = false;
        if let Spare::Ready(file) = std::mem::replace(&mut chores.spare, Spare::Taken) {
            return Ok(file);
        }
        drop(chores);
        spare_file(&*shared.disk, shared.segment_bytes, &|_| Ok(Next::Hole))
    }

    /// Waits until there is a spare with all its zeros, so that who takes it finds it, unless none can be made.
    pub(super) fn await_spare(&self) {
        let mut chores = self.lock();
        if matches!(chores.spare, Spare::None) {
            chores.spare = Spare::Wanted;
        }
        chores.is_awaited = true;
        self.changed.notify_all();
        while matches!(chores.spare, Spare::Wanted | Spare::Preparing) && !chores.is_stopped {
            chores = self.wait(chores);
        }
        chores.is_awaited = false;
    }

    /// Told when some more of the active segment is used.
    pub(super) fn note_use(&self) {
        if self.lock().held_back.is_some() {
            self.changed.notify_all();
        }
    }

    /// Waits until so much of a spare should be there, and says what that is. Meanwhile there is time for sidecars.
    fn pace(&self, shared: &Shared, bytes: u64) -> io::Result<Next> {
        let mut chores = self.lock();
        loop {
            chores.held_back = None;
            if chores.is_urgent {
                return Ok(Next::Hole);
            }
            if chores.is_stopped {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "the journal is closed"));
            }
            if chores.is_awaited || !is_too_early(shared, bytes) {
                return Ok(Next::Zeros);
            }
            if let Some((segment, known)) = chores.sidecars.pop_front() {
                drop(chores);
                let written = write_sidecar(shared, segment, known);
                chores = self.lock();
                chores.note(written);
            } else {
                chores.held_back = Some(bytes);
                self.changed.notify_all();
                chores = self.wait(chores);
            }
        }
    }

    /// Does chores until it is stopped. A spare goes first: the committer may wait for it.
    pub(super) fn run(&self, shared: &Shared) {
        let _ended = Ended(self);
        // Packing a sidecar takes a processor for some milliseconds, and the committer wakes up for every group.
        let_others_go_first();
        while let Some(chore) = self.next() {
            let done = match chore {
                Chore::Spare => {
                    let made =
                        spare_file(&*shared.disk, shared.segment_bytes, &|bytes| self.pace(shared, bytes));
                    let mut chores = self.lock();
                    // If it failed, the committer tries for itself when it needs one, and the error is its.
                    let (spare, done) = match made {
                        Ok(file) => (Spare::Ready(file), Ok(())),
                        Err(_) if chores.is_stopped => (Spare::None, Ok(())),
                        Err(error) => (Spare::None, Err(error)),
                    };
                    chores.spare = spare;
                    done
                }
                Chore::Sidecar(segment, known) => write_sidecar(shared, segment, known),
            };
            let mut chores = self.lock();
            chores.is_busy = false;
            chores.note(done);
            drop(chores);
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<Chore> {
        let mut chores = self.lock();
        loop {
            if chores.is_stopped {
                return None;
            }
            let chore = if matches!(chores.spare, Spare::Wanted) {
                chores.spare = Spare::Preparing;
                Some(Chore::Spare)
            } else {
                chores.sidecars.pop_front().map(|(segment, known)| Chore::Sidecar(segment, known))
            };
            if chore.is_some() {
                chores.is_busy = true;
                return chore;
            }
            chores = self.wait(chores);
        }
    }

    /// Waits until there is nothing to do for now.
    #[cfg(test)]
    pub(super) fn settle(&self, shared: &Shared) {
        let mut chores = self.lock();
        let is_held_back =
            |chores: &Chores| chores.held_back.is_some_and(|bytes| is_too_early(shared, bytes));
        while (chores.is_busy && !is_held_back(&chores))
            || !chores.sidecars.is_empty()
            || matches!(chores.spare, Spare::Wanted)
        {
            chores = self.wait(chores);
        }
    }
}

/// If the keeper panics, nobody may wait for a spare that it was making.
struct Ended<'a>(&'a Keeper);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut chores = self.0.lock();
        chores.is_stopped = true;
        if matches!(chores.spare, Spare::Preparing) {
            chores.spare = Spare::None;
        }
        drop(chores);
        self.0.changed.notify_all();
    }
}

/// Whether a spare need not have so many bytes yet.
fn is_too_early(shared: &Shared, bytes: u64) -> bool {
    bytes > u64::from(ZEROS_SYNC_BYTES) + u64::from(ZEROS_AHEAD) * shared.used()
}

/// `next` is called before each piece, with how much there will be then.
fn spare_file(
    disk: &dyn Disk,
    bytes: u32,
    next: &dyn Fn(u64) -> io::Result<Next>,
) -> io::Result<Arc<dyn DiskFile>> {
    // Whatever became of an earlier attempt, its file is not used again.
    match disk.remove(SPARE_NAME) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create(SPARE_NAME)?;
    if let Err(error) = fill_with_zeros(&*file, bytes, next) {
        drop(file);
        // Half a spare is of no use, and may be what fills the disk.
        _ = disk.remove(SPARE_NAME);
        return Err(error);
    }
    Ok(file)
}

fn fill_with_zeros(
    file: &dyn DiskFile,
    bytes: u32,
    next: &dyn Fn(u64) -> io::Result<Next>,
) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES.min(bytes) as usize];
    let mut at = 0;
    while at < bytes {
        let end = bytes.min(at + ZEROS_SYNC_BYTES);
        if next(end.into())? == Next::Hole {
            file.set_size(bytes.into())?;
            return file.sync_data();
        }
        while at < end {
            let piece = ZEROS_BYTES.min(end - at);
            file.write_all_at(&zeros[..piece as usize], at.into())?;
            at += piece;
            give_way();
        }
        file.sync_data()?;
    }
    Ok(())
}

/// Makes a segment of a zeroed file and puts it into service.
pub(super) fn put_into_service(
    disk: &dyn Disk,
    file: Arc<dyn DiskFile>,
    header: Header,
) -> io::Result<Arc<Segment>> {
    file.write_all_at(&header.encode(), 0)?;
    file.sync_data()?;
    disk.rename(SPARE_NAME, &segment_name(header.segment))?;
    disk.sync_dir()?;
    let end = AtomicU32::new(GROUPS_START);
    Ok(Arc::new(Segment { number: header.segment, file, header: Some(header), end }))
}

/// Makes a new segment on the spot and puts it into service.
pub(super) fn new_segment(disk: &dyn Disk, header: Header) -> io::Result<Arc<Segment>> {
    let file = spare_file(disk, header.segment_bytes, &|_| Ok(Next::Zeros))?;
    put_into_service(disk, file, header)
}

/// Writes the sidecar of a segment that takes no more groups, unless it was released. It is read if it is not known what is in
/// it; if it is damaged then, it gets none.
fn write_sidecar(shared: &Shared, number: u64, known: Option<SidecarBuilder>) -> io::Result<()> {
    let (segment, next_group) = {
        let segments = shared.segments();
        let (Some(segment), Some(next_group)) = (segments.live.get(&number), segments.next_group(number))
        else {
            return Ok(());
        };
        (Arc::clone(segment), next_group)
    };
    let Some(header) = segment.header else { return Ok(()) };
    let end = segment.end.load(Ordering::Acquire);
    let covers = Covers { segment: number, first_group: header.first_group, next_group, end };
    let (sidecar, covers) = match known {
        Some(sidecar) => (sidecar, covers),
        None => read_sidecar(shared, &segment, covers)?,
    };
    let name = sidecar_tmp_name(number);
    let file = shared.disk.create(&name)?;
    file.write_all_at(&sidecar.finish(covers, shared.salt)?, 0)?;
    file.sync_data()?;
    // Released meanwhile: a sidecar without a segment would be removed when opening, but may hold erased facts until then.
    let _naming = shared.naming();
    if !shared.segments().live.contains_key(&number) {
        return shared.disk.remove(&name);
    }
    shared.disk.rename(&name, &sidecar_name(number))?;
    shared.disk.sync_dir()
}

/// Reads a segment up to what it may cover.
fn read_sidecar(shared: &Shared, segment: &Segment, covers: Covers) -> io::Result<(SidecarBuilder, Covers)> {
    let Covers { segment: number, first_group, next_group, end } = covers;
    let mut sidecar = SidecarBuilder::new();
    let walk = Walk {
        file: &*segment.file,
        size: end,
        segment: number,
        salt: shared.salt,
        first_group: Some(first_group),
        segment_bytes: end,
        bound: Bound::Until(next_group),
    };
    let scanned = walk.run(&mut |found| sidecar.push(&found))?;
    if let Some(damage) = scanned.damages.first() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, damage.to_string()));
    }
    Ok((sidecar, Covers { end: scanned.end, ..covers }))
}
