//! The one thread that writes groups.

use super::error::{CommitError, Failure};
use super::format::{GROUP_HEADER_BYTES, NO_ENTRIES_END, Position};
use super::frames::Committed;
use super::group::Group;
use super::header::Header;
use super::keeper::{Keeper, USE_STEP_BYTES, put_into_service};
use super::queue::{End, Item, Queue, Submission};
use super::segments::{Segment, Shared};
use super::sidecar::SidecarBuilder;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The segment that takes groups, and where the next one goes.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    pub(super) segment_bytes: u32,
    /// The byte behind the last group.
    pub(super) end: u32,
    /// The number of the next group.
    pub(super) group: u64,
    /// Everything before it is durable.
    pub(super) watermark: Position,
    /// The last group is in this segment and has no entries, so that the watermark covers all that matters.
    pub(super) is_closed: bool,
    /// Its sidecar as far as it goes. None if there were groups in the segment before: then it is read when it is full.
    pub(super) sidecar: Option<SidecarBuilder>,
}

/// How much goes into a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupLimits {
    pub(super) bytes: usize,
    pub(super) submissions: usize,
}

pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) queue: Arc<Queue>,
    pub(super) keeper: Arc<Keeper>,
    pub(super) active: Active,
    limits: GroupLimits,
    /// What checksums of entries begin with.
    seed: u32,
    taken: VecDeque<Item>,
    /// The group that is being written.
    buffer: Vec<u8>,
    has_asked_for_spare: bool,
    /// How many entries are in the buffer.
    entries: u32,
    /// Whom to tell, with the first byte of its entries in the buffer.
    submissions: VecDeque<(Arc<dyn Submission>, u32)>,
}

impl Committer {
    pub(super) fn new(
        shared: Arc<Shared>,
        queue: Arc<Queue>,
        keeper: Arc<Keeper>,
        active: Active,
        limits: GroupLimits,
    ) -> Self {
        let (taken, buffer, submissions) = (VecDeque::new(), Vec::new(), VecDeque::new());
        Self {
            seed: shared.salt.seed(),
            shared,
            queue,
            keeper,
            active,
            limits,
            taken,
            buffer,
            has_asked_for_spare: false,
            entries: 0,
            submissions,
        }
    }

    /// Writes what is submitted until the queue ends or something fails.
    pub(super) fn run(mut self) {
        let _died = LatchOnPanic { shared: Arc::clone(&self.shared), queue: Arc::clone(&self.queue) };
        loop {
            let end = self.queue.take(&mut self.taken);
            // Something else than a group may have failed.
            let done = match self.shared.failure() {
                Some(failure) => Err(Arc::clone(failure)),
                None if end == Some(End::Orderly) && !self.active.is_closed => self.write_empty_group(),
                None => self.step(),
            };
            if let Err(failure) = &done {
                self.refuse_rest(failure);
            }
            if done.is_err() || end.is_some() {
                return;
            }
        }
    }

    /// Does what was submitted first, with as much else as goes into the same group.
    fn step(&mut self) -> Result<(), Arc<Failure>> {
        match self.taken.front() {
            None => Ok(()),
            Some(Item::Rotate(_)) => {
                // Nothing is gained by leaving a segment that has no entries.
                if self.active.segment.header.is_none() || self.active.end > NO_ENTRIES_END {
                    self.rotate()?;
                }
                if let Some(Item::Rotate(completion)) = self.taken.pop_front() {
                    completion(Ok(self.active.segment.number));
                }
                Ok(())
            }
            Some(Item::Commit(submission)) => {
                if GROUP_HEADER_BYTES + submission.frames().bytes() > self.room() {
                    self.rotate()?;
                }
                self.gather();
                self.commit()
            }
        }
    }

    /// How long the next group may be. An empty one must always fit behind it.
    fn room(&self) -> usize {
        ((self.active.segment_bytes - self.active.end) as usize).saturating_sub(GROUP_HEADER_BYTES)
    }

    /// Moves the entries of the next group to the buffer: at least one submission.
    fn gather(&mut self) {
        let bytes_max = self.limits.bytes.min(self.room());
        self.buffer.clear();
        self.buffer.resize(GROUP_HEADER_BYTES, 0);
        while let Some(Item::Commit(next)) = self.taken.front() {
            let is_first = self.submissions.is_empty();
            let fits = self.buffer.len() + next.frames().bytes() <= bytes_max
                && self.submissions.len() < self.limits.submissions;
            if !is_first && !fits {
                break;
            }
            let Some(Item::Commit(submission)) = self.taken.pop_front() else { break };
            let start = in_segment(self.buffer.len());
            let Active { end, sidecar, .. } = &mut self.active;
            submission.frames().encode(self.seed, &mut self.buffer, |start, head, fact| {
                if let Some(sidecar) = sidecar {
                    sidecar.push_written(*end + in_segment(start), head, fact);
                }
            });
            self.entries += submission.frames().entries();
            self.submissions.push_back((submission, start));
        }
    }

    /// Writes and syncs the group in the buffer, then tells everyone.
    fn commit(&mut self) -> Result<(), Arc<Failure>> {
        let at = Position { segment: self.active.segment.number, byte: self.active.end };
        let group = self.active.group;
        match self.write_group() {
            Ok(()) => {
                // A journal that is only read needs none.
                if !std::mem::replace(&mut self.has_asked_for_spare, true) {
                    self.keeper.want_spare();
                }
                while let Some((submission, start)) = self.submissions.pop_front() {
                    let start = Position { byte: at.byte + start, ..at };
                    let is_last = self.submissions.is_empty();
                    submission.complete(Ok(Committed { group, start, is_last }));
                }
                Ok(())
            }
            Err(failure) => {
                // Nobody may be told of an uncertain end while others can still submit.
                let waiting = self.queue.fail(&failure);
                self.abandon(&failure);
                self.taken.extend(waiting);
                Err(failure)
            }
        }
    }

    /// One write, one sync.
    fn write_group(&mut self) -> Result<(), Arc<Failure>> {
        let active = &mut self.active;
        let at = Position { segment: active.segment.number, byte: active.end };
        let entries = std::mem::take(&mut self.entries);
        Group::seal(&mut self.buffer, active.group, entries, active.watermark, self.shared.salt, at);
        let file = &active.segment.file;
        file.write_all_at(&self.buffer, at.byte.into())
            .map_err(|e| self.shared.failed("a write", at.segment, e))?;
        file.sync_data().map_err(|e| self.shared.failed("a sync", at.segment, e))?;
        let before = active.end;
        active.end += in_segment(self.buffer.len());
        active.group += 1;
        active.watermark = Position { byte: active.end, ..at };
        active.is_closed = entries == 0;
        active.segment.end.store(active.end, Ordering::Release);
        if before / USE_STEP_BYTES < active.end / USE_STEP_BYTES {
            self.keeper.note_use();
        }
        Ok(())
    }

    /// States the watermark for the group before.
    pub(super) fn write_empty_group(&mut self) -> Result<(), Arc<Failure>> {
        self.buffer.clear();
        self.buffer.resize(GROUP_HEADER_BYTES, 0);
        self.write_group()
    }

    /// Goes on in a new segment.
    fn rotate(&mut self) -> Result<(), Arc<Failure>> {
        let number = self.active.segment.number + 1;
        let shared = &self.shared;
        let header = Header {
            segment: number,
            first_group: self.active.group,
            salt: shared.salt,
            segment_bytes: shared.segment_bytes,
        };
        let segment = self
            .keeper
            .take_spare(shared)
            .and_then(|file| put_into_service(&*shared.disk, file, header))
            .map_err(|error| shared.failed("a new segment", number, error))?;
        shared.segments_mut().live.insert(number, Arc::clone(&segment));
        let next = Active::new(segment, header, self.active.watermark);
        let full = std::mem::replace(&mut self.active, next);
        self.has_asked_for_spare = true;
        self.keeper.want_spare();
        self.keeper.want_sidecar(full.segment.number, full.sidecar);
        Ok(())
    }

    /// Nobody knows what became of the group.
    fn abandon(&mut self, failure: &Arc<Failure>) {
        while let Some((submission, _)) = self.submissions.pop_front() {
            submission.complete(Err(CommitError::Indeterminate(Arc::clone(failure))));
        }
    }

    /// Nothing is written any more: what waits was certainly not.
    fn refuse_rest(&mut self, failure: &Arc<Failure>) {
        let waiting = self.queue.fail(failure);
        for item in self.taken.drain(..).chain(waiting) {
            item.refuse(failure);
        }
    }
}

impl Drop for Committer {
    /// After a panic, which was latched: those of the group wait as well.
    fn drop(&mut self) {
        if let Some(failure) = self.shared.failure().cloned() {
            self.abandon(&failure);
            self.refuse_rest(&failure);
        }
    }
}

impl Active {
    /// A segment without groups.
    pub(super) fn new(segment: Arc<Segment>, header: Header, watermark: Position) -> Self {
        Self {
            segment_bytes: header.segment_bytes,
            end: segment.end.load(Ordering::Acquire),
            group: header.first_group,
            watermark,
            is_closed: false,
            sidecar: Some(SidecarBuilder::new()),
            segment,
        }
    }
}

/// A length or place within a group.
fn in_segment(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("groups are shorter than segments")
}

/// If a completion panics nobody writes any more: say so, rather than let submissions wait for ever.
struct LatchOnPanic {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
}

impl Drop for LatchOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = io::Error::other("the committer panicked");
            let failure = Failure { during: "a completion", file: "none".to_owned(), error };
            let failure = self.shared.fail(failure);
            for item in self.queue.fail(&failure) {
                item.refuse(&failure);
            }
        }
    }
}
