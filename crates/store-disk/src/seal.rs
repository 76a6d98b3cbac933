//! Sealing: what is settled moves from the journal into a history file.
//!
//! The oldest segments go first, so that history always comes before the journal. The file is whole before the catalogue learns of it,
//! and that is durable before the segments are released. From the moment the file has its name it
//! counts: whoever finds it and some of its segments releases these.
//!
//! An entry that has rotten is left out, and its segment put aside as it is: it must not keep all others from being sealed. Who
//! reads its offsets is told that they are missing; facts are stated anew from what is known of the thread.

use crate::ailments::Rotten;
use crate::catalogue::CatalogueError;
use crate::engine::Engine;
use crate::entry::{Attached, CHECKPOINT, DELETED, FactEntry, OPENED, encode_fact};
use crate::history::{
    Ahead, BlockAbout, BlockBuilder, BlockKind, HistoryWriter, Index, Mark, Place, Span, Written,
};
use crate::journal::format::segment_name;
use crate::journal::{ReleaseError, SubmitError};
use crate::kept::Kept;
use crate::priority::give_way;
use crate::restated::restated;
use crate::unsealed::UnsealedThread;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, PoisonError};
use threadline_log::chain::Chain;
use threadline_log::fact::Fact;
use threadline_log::sealed::batch::{BatchHead, decode_records};
use threadline_log::{Error, RunNo, Timestamp};

/// Of how many threads it is looked up or forgotten what they have in the journal before writers may go on.
const THREADS_AT_ONCE: usize = 64;

/// Why sealing stopped. Nothing is lost: what was not sealed is where it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    #[error("a history file cannot be written: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Rotate(#[from] SubmitError),
    #[error("{0}")]
    Data(#[from] Error),
}

impl From<SealError> for Error {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Data(error) => error,
            SealError::Catalogue(error) => error.into(),
            SealError::Write(_) | SealError::Release(_) | SealError::Rotate(_) => {
                Self::Unavailable(error.to_string())
            }
        }
    }
}

impl Engine {
    /// Seals the segments before the active one that may be.
    ///
    /// Everything before the segment `active` was completed. Segments do not wait for runs to end if they must not, or are too many.
    pub(crate) fn seal(&self, active: u64, must: bool) -> Result<(), SealError> {
        let sealed = self.seal_before(active, must);
        self.ailments.note_sealing(&sealed);
        sealed
    }

    fn seal_before(&self, active: u64, must: bool) -> Result<(), SealError> {
        let mut begun = self.begin_sealing()?;
        let sources = self.choose(active, must);
        let Some(last) = sources.last() else { return Ok(()) };
        let segment_end = last + 1;
        // What the file will hold must be behind the catalogue's watermark.
        self.flush()?;
        // Those that could not be released the last time have their file.
        let sealed: BTreeSet<u64> =
            self.catalogue.files()?.into_iter().flat_map(|file| file.sources).collect();
        let unsealed_sources: Vec<u64> =
            sources.iter().copied().filter(|one| !sealed.contains(one)).collect();
        let (unsealed, threads_end) = self.unsealed_before(segment_end)?;
        let index = match unsealed_sources.is_empty() {
            true => None,
            false => self.write_history(&mut begun, &unsealed_sources, &unsealed, threads_end)?,
        };
        if index.is_none() {
            self.keep_numbers()?;
        }
        let layout = self.layout.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = index {
            self.catalogue.learn(&index)?;
        }
        *begun = None;
        drop(layout);
        // Who reads meanwhile may find things in both places.
        for some in unsealed.chunks(THREADS_AT_ONCE) {
            let mut overlay = self.core.overlay();
            some.iter().for_each(|(no, _)| overlay.unsealed.forget_before(*no, segment_end));
            drop(overlay);
            give_way();
        }
        self.catalogue.sync()?;
        // Who had looked up places in the segments has read them.
        drop(self.layout.write());
        for segment in sources {
            self.journal.release(segment)?;
        }
        Ok(())
    }

    /// The segments to be sealed: the oldest, as long as no run that goes on has records there or too many wait.
    fn choose(&self, active: u64, must: bool) -> Vec<u64> {
        if !self.missing.is_empty() {
            // A segment whose place such a file took may be all that is left of it.
            return Vec::new();
        }
        let segments = self.journal.segments();
        let waiting = segments.iter().filter(|segment| !segment.is_active && segment.number < active);
        let waiting: Vec<u64> = waiting.map(|segment| segment.number).collect();
        let overlay = self.core.overlay();
        let mut chosen = Vec::new();
        for (index, segment) in waiting.iter().enumerate() {
            let too_many = must || waiting.len() - index > self.limits.segments_waiting_max;
            if self.damaged.contains_key(segment) || (!too_many && overlay.is_running_before(segment + 1)) {
                break;
            }
            chosen.push(*segment);
        }
        chosen
    }

    /// What threads have in the segments before this one, which was all taken in, in order of their numbers; and the number of the next thread.
    fn unsealed_before(&self, segment_end: u64) -> Result<(Vec<(u64, UnsealedThread)>, u64), SealError> {
        let overlay = || {
            let overlay = self.core.whole_overlay();
            overlay.map_err(|broken| Error::Unavailable(broken.to_owned()))
        };
        let (mut numbers, threads_end): (Vec<u64>, u64) = {
            let overlay = overlay()?;
            (overlay.unsealed.threads().collect(), overlay.threads_end)
        };
        numbers.sort_unstable();
        let mut unsealed = Vec::new();
        for some in numbers.chunks(THREADS_AT_ONCE) {
            let overlay = overlay()?;
            let found = some.iter().map(|no| (*no, overlay.unsealed.before(*no, segment_end)));
            unsealed.extend(found.filter(|(_, thread)| !thread.is_empty()));
            drop(overlay);
            give_way();
        }
        Ok((unsealed, threads_end))
    }

    fn write_history(
        &self,
        begun: &mut Option<u64>,
        sources: &[u64],
        unsealed: &[(u64, UnsealedThread)],
        threads_end: u64,
    ) -> Result<Option<Index>, SealError> {
        let marks = unsealed.iter().flat_map(|(_, thread)| {
            let batches = thread.batches.iter().map(|batch| batch.mark);
            batches.chain(thread.facts.iter().map(|fact| fact.mark))
        });
        let segment = *sources.last().expect("there is something to seal");
        let last = marks.max().unwrap_or_default().max(Mark { segment, byte: 0 });
        let number = self.shelf.take_number();
        *begun = Some(number);
        let index = Index {
            number,
            order: sources[0],
            sources: sources.to_vec(),
            last,
            threads_end,
            ..Index::default()
        };
        let mut writer = HistoryWriter::new(self.shelf.disk().clone(), index)?;
        let mut rotten = Rotten::new();
        for (no, thread) in unsealed {
            match self.kept(*no)? {
                Some(kept) => self.seal_thread(&mut writer, *no, &kept, thread, &mut rotten)?,
                None => self.seal_tombstone(&mut writer, *no, thread, &mut rotten)?,
            }
        }
        // Before the file counts, because then the segments may go.
        for segment in rotten.keys() {
            self.directories.copy_aside(&*self.directories.log, &segment_name(*segment))?;
        }
        self.ailments.note_rotten(rotten);
        let index = writer.index_mut();
        if index.blocks.is_empty() && index.spans.is_empty() {
            writer.abandon()?;
            return Ok(None);
        }
        Ok(Some(writer.finish()?))
    }

    /// The chain over a thread's records before an offset, as the block that ends there has it.
    fn chain_before(&self, no: u64, offset: u64) -> Option<Chain> {
        let Some(last) = offset.checked_sub(1) else { return Some(Chain::new(0)) };
        // It is for the records alone: what cannot be read is told to who reads them.
        let place = self.catalogue.blocks(no, &(last..offset), 1).ok()?.pop()?;
        let block = self.shelf.block(place.file, place.site, 0, &mut Ahead::default()).ok()?;
        let value = block.head.chain.filter(|_| block.head.offsets.1 == last)?;
        Some(Chain { from: 0, at: offset, value })
    }

    /// What is kept of a thread's records. None if it was deleted; of one that nobody knows, everything.
    pub(crate) fn kept(&self, no: u64) -> Result<Option<Kept>, CatalogueError> {
        {
            let overlay = self.core.overlay();
            if overlay.has(no) {
                return Ok(overlay.kept(no));
            }
            if overlay.unsealed.is_deleted(no) {
                return Ok(None);
            }
        }
        if let Some(stored) = self.catalogue.thread_by_no(no)? {
            return Ok(Some(Kept::of(&stored.state, &stored.compacted)));
        }
        Ok(if self.catalogue.has_tombstone(no)? { None } else { Some(Kept::default()) })
    }

    /// The facts about a thread, made anew.
    fn restated(&self, no: u64) -> Result<Vec<FactEntry>, CatalogueError> {
        let in_use = self.core.overlay().restated(no);
        if let Some(facts) = in_use {
            return Ok(facts);
        }
        let stored = self.catalogue.thread_by_no(no)?;
        Ok(stored.map(|stored| restated(&stored.state, &stored.compacted)).unwrap_or_default())
    }

    /// Of a deleted thread nothing is kept, but that it was deleted as long as history has more of it.
    fn seal_tombstone(
        &self,
        writer: &mut HistoryWriter,
        no: u64,
        thread: &UnsealedThread,
        rotten: &mut Rotten,
    ) -> Result<(), SealError> {
        let Some(deleted) = thread.facts.iter().find(|fact| fact.kind == DELETED) else { return Ok(()) };
        if self.catalogue.has_blocks_elsewhere(no, 0)? {
            let mut blocks = FactBlocks::new(no);
            blocks.about.tombstone = true;
            let fact = readable(self.unsealed_fact(no, deleted.mark), deleted.mark, rotten)?;
            let anew = || encode_fact(Timestamp(0), 0, &Fact::Deleted, &Attached::default());
            blocks.push(writer, &fact.unwrap_or_else(anew))?;
            blocks.end(writer)?;
        }
        Ok(())
    }

    fn seal_thread(
        &self,
        writer: &mut HistoryWriter,
        no: u64,
        kept: &Kept,
        thread: &UnsealedThread,
        rotten: &mut Rotten,
    ) -> Result<(), SealError> {
        let mut blocks = FactBlocks::new(no);
        let mut is_whole = true;
        for fact in &thread.facts {
            match readable(self.unsealed_fact(no, fact.mark), fact.mark, rotten)? {
                // All of them are packed as one.
                Some(fact) => blocks.push(writer, &fact.unpacked())?,
                None => is_whole = false,
            }
        }
        if !is_whole {
            for fact in self.restated(no)? {
                blocks.push(writer, &fact)?;
            }
        }
        let checkpoints = blocks.end(writer)?;
        let chain = match thread.batches.first() {
            Some(batch) => self.chain_before(no, batch.first),
            None => None,
        };
        let mut blocks = RecordBlocks::new(no, checkpoints, chain);
        let mut spans: BTreeMap<RunNo, Span> = BTreeMap::new();
        for batch in &thread.batches {
            let read = self.unsealed_batch(no, batch.first, batch.mark);
            let Some((head, body)) = readable(read, batch.mark, rotten)? else {
                // Its offsets are not given a second time.
                let head = batch.head();
                spans.entry(head.run).or_insert(Span::before(no, &head)).add(&head, &[]);
                continue;
            };
            spans.entry(head.run).or_insert(Span::before(no, &head)).add(&head, &body);
            if let Some((head, body)) = kept.keep(head, body)? {
                blocks.push(writer, head, &body)?;
            }
        }
        blocks.end(writer)?;
        writer.index_mut().spans.extend(spans.into_values());
        Ok(())
    }
}

/// What was read of the journal. None if it has rotten, which is noted.
fn readable<T>(read: Result<T, Error>, mark: Mark, rotten: &mut Rotten) -> Result<Option<T>, Error> {
    match read {
        Err(error @ Error::Corrupt { .. }) => {
            rotten.entry(mark.segment).or_insert_with(|| error.to_string());
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Blocks with checkpoints, by their runs.
pub(crate) type Checkpoints = BTreeMap<u32, Arc<Written>>;

/// Blocks with the facts of a thread.
#[derive(Debug)]
pub(crate) struct FactBlocks {
    block: BlockBuilder,
    pub(crate) about: BlockAbout,
    checkpoints: Checkpoints,
}

impl FactBlocks {
    pub(crate) fn new(thread: u64) -> Self {
        let block = BlockBuilder::new(BlockKind::Facts, thread);
        Self { block, about: BlockAbout::default(), checkpoints: Checkpoints::new() }
    }

    pub(crate) fn push(&mut self, writer: &mut HistoryWriter, fact: &FactEntry) -> io::Result<()> {
        if self.block.is_full_for(fact.body.len()) {
            self.write(writer)?;
        }
        if [OPENED, CHECKPOINT].contains(&fact.kind) {
            self.about.places.push(Place { item: self.block.count(), kind: fact.kind, run: fact.run.0 });
        }
        self.block.push_fact(fact);
        Ok(())
    }

    fn write(&mut self, writer: &mut HistoryWriter) -> io::Result<()> {
        let next = BlockBuilder::new(BlockKind::Facts, self.block.thread());
        let (block, about) = (std::mem::replace(&mut self.block, next), std::mem::take(&mut self.about));
        let places = about.places.clone();
        let written = Arc::new(writer.push(block, about, None)?);
        if written.block.may_be_base() {
            let checkpoints = places.iter().filter(|place| place.kind == CHECKPOINT);
            self.checkpoints.extend(checkpoints.map(|place| (place.run, Arc::clone(&written))));
        }
        Ok(())
    }

    /// Writes what is left. Returns the blocks that records can be packed with.
    pub(crate) fn end(mut self, writer: &mut HistoryWriter) -> io::Result<Checkpoints> {
        if !self.block.is_empty() {
            self.write(writer)?;
        }
        Ok(self.checkpoints)
    }
}

/// Blocks with the records of a thread.
#[derive(Debug)]
pub(crate) struct RecordBlocks {
    block: BlockBuilder,
    about: BlockAbout,
    checkpoints: Checkpoints,
    /// The chain over all records up to here, as long as none is missing.
    chain: Option<Chain>,
}

impl RecordBlocks {
    /// What is in a checkpoint is in the records too, in pieces: they are packed with it. The chain is that before the first of them.
    pub(crate) fn new(thread: u64, checkpoints: Checkpoints, chain: Option<Chain>) -> Self {
        let block = BlockBuilder::new(BlockKind::Records, thread);
        Self { block, about: BlockAbout::default(), checkpoints, chain }
    }

    pub(crate) fn push(
        &mut self,
        writer: &mut HistoryWriter,
        head: BatchHead,
        body: &Bytes,
    ) -> io::Result<()> {
        if self.block.is_full_for(body.len()) {
            self.write(writer)?;
        }
        if !self.about.runs.iter().any(|(run, _)| *run == head.run.0) {
            self.about.runs.push((head.run.0, head.first));
        }
        self.block.push_batch(head, body);
        self.chain = self.chain.take().filter(|chain| chain.at == head.first).and_then(|mut chain| {
            decode_records(head, body).ok()?.iter().for_each(|record| chain.push(record));
            Some(chain)
        });
        Ok(())
    }

    fn write(&mut self, writer: &mut HistoryWriter) -> io::Result<()> {
        let next = BlockBuilder::new(BlockKind::Records, self.block.thread());
        let (block, about) = (std::mem::replace(&mut self.block, next), std::mem::take(&mut self.about));
        let base = about.runs.iter().find_map(|(run, _)| self.checkpoints.get(run)).cloned();
        let block = block.chained(self.chain.map(|chain| chain.value));
        writer.push(block, about, base.as_deref())?;
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn end(mut self, writer: &mut HistoryWriter) -> io::Result<()> {
        if self.block.is_empty() { Ok(()) } else { self.write(writer) }
    }
}
