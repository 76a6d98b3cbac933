//! Reading records and facts, wherever they are.

use crate::catalogue::BlockPlace;
use crate::engine::{Engine, unreadable_block, unreadable_entry};
use crate::entry::{self, BatchHead, EntryError, FactEntry, PACKED};
use crate::history::{Batch, BlockKind, Mark, file_name};
use crate::kept::Kept;
use crate::overlay::View;
use crate::unsealed::UnsealedBatch;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::PoisonError;
use threadline_log::store::Page;
use threadline_log::{Error, Record, RunNo, ThreadKey, Timestamp};

/// Something with records, in the order of their first offsets; a block comes before what is in it.
#[derive(Debug)]
enum Source {
    Block(BlockPlace),
    Sealed(Batch, u64),
    Unsealed(UnsealedBatch),
}

/// A read of some records.
#[derive(Debug)]
struct Reading {
    thread: u64,
    offsets: Range<u64>,
    run: Option<RunNo>,
    kept: Kept,
    /// Offsets that need not be found.
    passed: Vec<Range<u64>>,
    sources: BTreeMap<(u64, u8, u64, u64), Source>,
    /// All before it was seen.
    seen: u64,
}

impl Engine {
    /// Records of a thread in use. What is given is seen whole or is an error.
    pub(crate) fn read(
        &self,
        key: &ThreadKey,
        no: u64,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        let _layout = self.layout.read().unwrap_or_else(PoisonError::into_inner);
        let mut page = Page { records: Vec::new(), next: offsets.end };
        let Some(mut reading) = self.begin(key, no, &offsets, run)? else { return Ok(page) };
        let mut bytes = 0;
        while let Some((_, source)) = reading.sources.pop_first() {
            for record in self.records(&mut reading, source)? {
                if bytes >= bytes_max && !page.records.is_empty() {
                    page.next = record.offset;
                    return Ok(page);
                }
                bytes += record.bytes.len();
                page.records.push(record);
            }
        }
        reading.see(reading.offsets.end)?;
        Ok(page)
    }

    fn begin(
        &self,
        key: &ThreadKey,
        no: u64,
        offsets: &Range<u64>,
        run: Option<RunNo>,
    ) -> Result<Option<Reading>, Error> {
        // What is in memory is looked at first: what is sealed meanwhile cannot be, for the layout is held.
        let overlay = self.core.overlay();
        let state = overlay.state(no, View::Durable).ok_or_else(|| Error::NoThread(key.clone()))?;
        let offsets = offsets.start.max(state.first())..offsets.end.min(state.tail());
        if offsets.is_empty() {
            return Ok(None);
        }
        let kept = overlay.kept(no).ok_or_else(|| Error::NoThread(key.clone()))?;
        let mut sources = BTreeMap::new();
        for batch in overlay.unsealed.batches(no, &offsets) {
            let key = (batch.first, 1, batch.mark.segment, u64::from(batch.mark.byte));
            sources.insert(key, Source::Unsealed(*batch));
        }
        drop(overlay);
        for block in self.catalogue.blocks(no, &offsets)? {
            sources.insert((block.first, 0, block.file, block.at), Source::Block(block));
        }
        let passed = kept.may_be_gone().collect();
        let seen = offsets.start;
        Ok(Some(Reading { thread: no, offsets, run, kept, passed, sources, seen }))
    }

    /// The records that a source has for the page.
    fn records(&self, reading: &mut Reading, source: Source) -> Result<Vec<Record>, Error> {
        match source {
            Source::Block(place) => {
                self.open_block(reading, &place)?;
                Ok(Vec::new())
            }
            Source::Sealed(batch, file) => {
                if !reading.wants(batch.head)? {
                    return Ok(Vec::new());
                }
                let records = entry::decode_records(batch.head, &batch.body);
                reading.cut(records.map_err(|error| {
                    undecodable(
                        &format!("history/{}", file_name(file)),
                        reading.thread,
                        batch.head.first,
                        &error,
                    )
                })?)
            }
            Source::Unsealed(batch) => {
                let UnsealedBatch { first, mark, .. } = batch;
                if !reading.wants(batch.head())? {
                    return Ok(Vec::new());
                }
                let (head, body) = self.unsealed_batch(reading.thread, first, mark)?;
                let records = entry::decode_records(head, &body);
                reading.cut(
                    records.map_err(|error| undecodable(&at(mark), reading.thread, head.first, &error))?,
                )
            }
        }
    }

    fn open_block(&self, reading: &mut Reading, place: &BlockPlace) -> Result<(), Error> {
        if reading.run.is_some_and(|run| !place.runs.contains(&run.0)) {
            reading.passed.push(place.first..place.last + 1);
            return Ok(());
        }
        let name = file_name(place.file);
        let failed = |error: &_| unreadable_block(error, &name, reading.thread, Some(place.first));
        let file = self.shelf.file(place.file).map_err(|error| failed(&error.into()))?;
        let block = file.block(place.at, place.bytes).map_err(|error| failed(&error))?;
        let head = &block.head;
        let is_it = head.thread == reading.thread && head.kind == BlockKind::Records;
        if !is_it || head.offsets != (place.first, place.last) {
            let place = format!("history/{name}, thread={}, offset={}", reading.thread, place.first);
            return Err(Error::Corrupt { place, what: "another block is in its place".to_owned() });
        }
        let batches = block
            .batches()
            .map_err(|error| failed(&crate::history::HistoryError::Block { at: place.at, error }))?;
        for batch in batches {
            if batch.head.end() > reading.offsets.start && batch.head.first < reading.offsets.end {
                let key = (batch.head.first, 1, place.file, place.at);
                reading.sources.insert(key, Source::Sealed(batch, place.file));
            }
        }
        Ok(())
    }

    /// The offsets of a thread that should be there and are not.
    pub(crate) fn lost(&self, no: u64) -> Result<Vec<Range<u64>>, Error> {
        let _layout = self.layout.read().unwrap_or_else(PoisonError::into_inner);
        let overlay = self.core.overlay();
        let (Some(state), Some(kept)) = (overlay.state(no, View::Durable), overlay.kept(no)) else {
            return Ok(Vec::new());
        };
        let offsets = state.first()..state.tail();
        let mut there: Vec<Range<u64>> = kept.may_be_gone().collect();
        there.extend(overlay.unsealed.batches(no, &offsets).iter().map(|batch| batch.first..batch.end()));
        drop(overlay);
        for place in self.catalogue.blocks(no, &offsets)? {
            let block =
                self.shelf.file(place.file).ok().and_then(|file| file.block(place.at, place.bytes).ok());
            let batches = block.and_then(|block| block.batches().ok()).unwrap_or_default();
            there.extend(batches.iter().map(|batch| batch.head.first..batch.head.end()));
        }
        there.sort_by_key(|range| range.start);
        let mut lost = Vec::new();
        let mut seen = offsets.start;
        for range in there {
            if range.start > seen {
                lost.push(seen..range.start.min(offsets.end));
            }
            seen = seen.max(range.end);
        }
        if seen < offsets.end {
            lost.push(seen..offsets.end);
        }
        Ok(lost)
    }

    /// A batch in the journal.
    pub(crate) fn unsealed_batch(
        &self,
        thread: u64,
        first: u64,
        mark: Mark,
    ) -> Result<(BatchHead, Bytes), Error> {
        let entry =
            self.journal.read(mark.into()).map_err(|error| unreadable_entry(&error, thread, Some(first)))?;
        let head = entry.head;
        if (head.thread, head.first, head.kind) != (thread, first, entry::RECORDS) {
            let place = format!("{}, thread={thread}, offset={first}", at(mark));
            return Err(Error::Corrupt { place, what: "another entry is in its place".to_owned() });
        }
        let run = RunNo(u32::try_from(head.run).unwrap_or(u32::MAX));
        let time = Timestamp(head.time_min);
        Ok((BatchHead { first, count: head.count, run, time }, Bytes::copy_from_slice(entry.body())))
    }

    /// A fact in the journal.
    pub(crate) fn unsealed_fact(&self, thread: u64, mark: Mark) -> Result<FactEntry, Error> {
        let entry = self.journal.read(mark.into()).map_err(|error| unreadable_entry(&error, thread, None))?;
        let head = entry.head;
        if head.thread != thread || head.kind == entry::RECORDS {
            let place = format!("{}, thread={thread}", at(mark));
            return Err(Error::Corrupt { place, what: "another entry is in its place".to_owned() });
        }
        Ok(FactEntry {
            kind: head.kind,
            flags: head.flags & PACKED,
            run: RunNo(u32::try_from(head.run).unwrap_or(u32::MAX)),
            time: Timestamp(head.time_min),
            tail: head.first,
            body: Bytes::copy_from_slice(entry.body()),
        })
    }

    /// The last fact of a kind about a run.
    pub(crate) fn fact(&self, no: u64, kind: u8, run: RunNo) -> Result<Option<FactEntry>, Error> {
        let _layout = self.layout.read().unwrap_or_else(PoisonError::into_inner);
        let unsealed = self.core.overlay().unsealed.fact(no, kind, run);
        if let Some(mark) = unsealed {
            return self.unsealed_fact(no, mark).map(Some);
        }
        let Some(place) = self.catalogue.fact(no, kind, run)? else { return Ok(None) };
        let name = file_name(place.file);
        let failed = |error: &_| unreadable_block(error, &name, no, None);
        let file = self.shelf.file(place.file).map_err(|error| failed(&error.into()))?;
        let block = file.block(place.at, place.bytes).map_err(|error| failed(&error))?;
        let facts = block
            .facts()
            .map_err(|error| failed(&crate::history::HistoryError::Block { at: place.at, error }))?;
        let fact =
            facts.into_iter().nth(place.item as usize).filter(|fact| fact.kind == kind && fact.run == run);
        match fact {
            Some(fact) if block.head.thread == no => Ok(Some(fact)),
            _ => Err(Error::Corrupt {
                place: format!("history/{name}, thread={no}"),
                what: "another fact is in its place".to_owned(),
            }),
        }
    }
}

impl Reading {
    /// Whether a batch is to be read. It is counted as seen.
    fn wants(&mut self, batch: BatchHead) -> Result<bool, Error> {
        if batch.end() <= self.seen {
            return Ok(false);
        }
        self.see(batch.first)?;
        self.seen = batch.end();
        let is_compacted = self.kept.is_compacted(batch.run, batch.first);
        Ok(!is_compacted && self.run.is_none_or(|run| run == batch.run))
    }

    /// Whether nothing is missing before an offset.
    fn see(&mut self, offset: u64) -> Result<(), Error> {
        while self.seen < offset {
            let over = self.passed.iter().find(|passed| passed.contains(&self.seen));
            let Some(over) = over else {
                return Err(Error::Corrupt {
                    place: format!("log, thread={}, offset={}", self.thread, self.seen),
                    what: "records are missing".to_owned(),
                });
            };
            self.seen = over.end;
        }
        Ok(())
    }

    fn cut(&self, mut records: Vec<Record>) -> Result<Vec<Record>, Error> {
        records.retain(|record| self.offsets.contains(&record.offset));
        Ok(records)
    }
}

fn at(mark: Mark) -> String {
    format!("log/{}", crate::journal::Position::from(mark))
}

/// What a caller is told about bytes that are whole and make no sense.
pub(crate) fn undecodable(place: &str, thread: u64, offset: u64, error: &EntryError) -> Error {
    Error::Corrupt { place: format!("{place}, thread={thread}, offset={offset}"), what: error.to_string() }
}
