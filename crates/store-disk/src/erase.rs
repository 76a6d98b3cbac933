//! Erasing: history files that hold what was forgotten are rewritten without it.

use crate::engine::{Engine, unreadable_block};
use crate::history::{BlockEntry, BlockKind, HistoryError, HistoryWriter, Index, file_name};
use crate::kept::Kept;
use crate::seal::{Checkpoints, RecordBlocks, SealError};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};
use threadline_log::{Error, RunNo};

type Threads = HashMap<u64, Option<Kept>>;

impl Engine {
    /// Seals everything that may be, and gives back the space of what was forgotten.
    pub(crate) fn tidy(&self) -> Result<(), SealError> {
        if let Some(trouble) = self.trouble() {
            return Err(SealError::Data(Error::Unavailable(trouble)));
        }
        let active = self.journal.rotate()?;
        // What is to be erased does not wait until runs have ended that happen to be beside it.
        let must = self.core.overlay().unsealed.has_forgotten();
        let sealed = self.seal(active, must);
        if !matches!(sealed, Ok(()) | Err(SealError::Data(Error::Corrupt { .. }))) {
            return sealed;
        }
        // Damage in the log does not keep what was forgotten from being erased elsewhere.
        self.erase().and(sealed)
    }

    fn erase(&self) -> Result<(), SealError> {
        let mut begun = self.begin_sealing()?;
        self.flush()?;
        let mut damaged = None;
        // That a thread was deleted can be forgotten when all else of it has gone: hence twice.
        for _ in 0..2 {
            for number in self.catalogue.stale_files()? {
                self.may_seal()?;
                match self.rewrite(&mut begun, number) {
                    // What is forgotten in other files is erased all the same.
                    Err(error @ SealError::Data(Error::Corrupt { .. })) => damaged = Some(error),
                    done => done?,
                }
            }
        }
        self.may_seal()?;
        self.catalogue.scrub()?;
        damaged.map_or(Ok(()), Err)
    }

    fn rewrite(&self, begun: &mut Option<u64>, number: u64) -> Result<(), SealError> {
        self.discard_begun(begun)?;
        let name = file_name(number);
        let failed = |error: &HistoryError| SealError::Data(unreadable_block(error, &name, 0, None));
        let old = self.shelf.index(number).map_err(|error| failed(&error))?;
        let mut threads = Threads::new();
        for thread in
            old.blocks.iter().map(|block| block.thread).chain(old.spans.iter().map(|span| span.thread))
        {
            if let Entry::Vacant(place) = threads.entry(thread) {
                place.insert(self.kept(thread)?);
            }
        }
        let mut spans = old.spans.clone();
        spans.retain(|span| threads[&span.thread].is_some());
        let next = self.shelf.take_number();
        *begun = Some(next);
        let index = Index { number: next, replaces: vec![number], blocks: Vec::new(), spans, ..old.clone() };
        let mut writer = HistoryWriter::new(Arc::clone(self.shelf.disk()), index)?;
        for block in &old.blocks {
            self.rewrite_block(&mut writer, number, block, threads[&block.thread].as_ref())?;
        }
        let index = writer.index_mut();
        let index = match index.blocks.is_empty() && index.spans.is_empty() {
            true => {
                self.keep_numbers()?;
                writer.abandon().map(|()| None)?
            }
            false => Some(writer.finish()?),
        };
        let layout = self.layout.write().unwrap_or_else(PoisonError::into_inner);
        match index {
            Some(index) => self.catalogue.learn(&index)?,
            None => self.catalogue.forget_file(number)?,
        }
        *begun = None;
        drop(layout);
        self.catalogue.sync()?;
        Ok(self.shelf.remove(number)?)
    }

    fn rewrite_block(
        &self,
        writer: &mut HistoryWriter,
        number: u64,
        entry: &BlockEntry,
        kept: Option<&Kept>,
    ) -> Result<(), SealError> {
        let name = file_name(number);
        let failed = |error: &HistoryError| {
            SealError::Data(unreadable_block(error, &name, entry.thread, Some(entry.first)))
        };
        let file = self.shelf.file(number)?;
        let Some(kept) = kept else {
            if entry.tombstone && self.catalogue.has_blocks_elsewhere(entry.thread, number)? {
                let (_, bytes) = file.block_bytes(entry.site()).map_err(|error| failed(&error))?;
                writer.push_copy(entry, &bytes)?;
            }
            return Ok(());
        };
        let has_compacted = || entry.runs.iter().any(|(run, first)| kept.is_compacted(RunNo(*run), *first));
        let (block, bytes) = file.block_bytes(entry.site()).map_err(|error| failed(&error))?;
        if entry.kind == BlockKind::Facts || (entry.first >= kept.first() && !has_compacted()) {
            return Ok(writer.push_copy(entry, &bytes)?);
        }
        let batches =
            block.batches().map_err(|error| failed(&HistoryError::Block { at: entry.at, error }))?;
        // What is left of a block is little: it is not worth another to be packed with.
        let mut blocks = RecordBlocks::new(entry.thread, Checkpoints::new(), None);
        for batch in batches {
            if let Some((head, body)) = kept.keep(batch.head, batch.body)? {
                blocks.push(writer, head, &body)?;
            }
        }
        Ok(blocks.end(writer)?)
    }
}
