//! Reading records and facts, wherever they are.

use crate::catalogue::BlockPlace;
use crate::engine::{Engine, unreadable_block, unreadable_entry};
use crate::entry::{self, FactEntry, PACKED, SHARED};
use crate::history::{Ahead, BLOCK_BYTES, BlockKind, HistoryError, Mark, Site, file_name};
use crate::kept::Kept;
use crate::overlay::View;
use crate::unsealed::UnsealedBatch;
use bytes::Bytes;
use std::ops::Range;
use std::sync::PoisonError;
use threadline_log::sealed::batch::{BatchHead, decode_records};
use threadline_log::sealed::shared;
use threadline_log::store::Page;
use threadline_log::{Error, Record, RunNo, ThreadKey, Timestamp};

/// How many places of blocks are looked up at once.
const BLOCKS_MAX: usize = 64;
/// All of them.
const BLOCKS_ALL: usize = u32::MAX as usize;
/// How many places of unsealed batches are looked up at once.
const UNSEALED_MAX: usize = 256;

/// A read of some records. What is in history comes before what is in the journal.
#[derive(Debug)]
struct Reading<'a> {
    key: &'a ThreadKey,
    thread: u64,
    offsets: Range<u64>,
    run: Option<RunNo>,
    kept: Kept,
    /// Offsets that need not be found.
    passed: Vec<Range<u64>>,
    /// All before it was seen.
    seen: u64,
    ahead: Ahead,
    page: Page,
    bytes: usize,
    bytes_max: usize,
}

/// Whether a page takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Left,
    Full,
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
        // While it is held, what was in the journal stays there. It may be in history, too.
        let _layout = self.layout.read().unwrap_or_else(PoisonError::into_inner);
        let page = Page { records: Vec::new(), next: offsets.end };
        let (offsets, kept) = {
            let overlay = self.core.overlay();
            let state = overlay.state(no, View::Durable).ok_or_else(|| Error::NoThread(key.clone()))?;
            let kept = overlay.kept(no).ok_or_else(|| Error::NoThread(key.clone()))?;
            (offsets.start.max(state.first())..offsets.end.min(state.tail()), kept)
        };
        if offsets.is_empty() {
            return Ok(page);
        }
        let (passed, seen) = (kept.may_be_gone().collect(), offsets.start);
        let (ahead, bytes) = (Ahead::default(), 0);
        let mut reading =
            Reading { key, thread: no, offsets, run, kept, passed, seen, ahead, page, bytes, bytes_max };
        if self.read_history(&mut reading)? == Room::Left && self.read_journal(&mut reading)? == Room::Left {
            reading.see(reading.offsets.end)?;
        }
        Ok(reading.page)
    }

    fn read_history(&self, reading: &mut Reading<'_>) -> Result<Room, Error> {
        let mut offsets = reading.offsets.clone();
        // As many as the page may take, and one that it begins in.
        let limit = (reading.bytes_max / BLOCK_BYTES).saturating_add(2).min(BLOCKS_MAX);
        while !offsets.is_empty() {
            let places = self.catalogue.blocks(reading.thread, &offsets, limit)?;
            for (index, place) in places.iter().enumerate() {
                if self.read_block(reading, place, &places[index..])? == Room::Full {
                    return Ok(Room::Full);
                }
            }
            if places.len() < limit {
                break;
            }
            offsets.start = places.last().map_or(offsets.end, |last| last.last + 1);
        }
        Ok(Room::Left)
    }

    /// Reads a block that is followed by others.
    fn read_block(
        &self,
        reading: &mut Reading<'_>,
        place: &BlockPlace,
        others: &[BlockPlace],
    ) -> Result<Room, Error> {
        if reading.run.is_some_and(|run| !place.runs.contains(&run.0)) {
            reading.passed.push(place.first..place.last + 1);
            return Ok(Room::Left);
        }
        let name = file_name(place.file);
        let thread = reading.thread;
        let failed = |error: &_| unreadable_block(error, &name, thread, Some(place.first));
        let same_file = others.iter().take_while(|other| other.file == place.file);
        let until = same_file.last().map_or(0, |last| last.site.extent.end());
        let block = self.shelf.block(place.file, place.site, until, &mut reading.ahead);
        let block = block.map_err(|error| failed(&error))?;
        let head = &block.head;
        let is_it = head.thread == thread && head.kind == BlockKind::Records;
        if !is_it || head.offsets != (place.first, place.last) {
            let place = format!("history/{name}, thread={thread}, offset={}", place.first);
            return Err(Error::Corrupt { place, what: "another block is in its place".to_owned() });
        }
        let at = place.site.extent.at;
        let batches = block.batches().map_err(|error| failed(&HistoryError::Block { at, error }))?;
        for batch in batches {
            let is_within =
                batch.head.end() > reading.offsets.start && batch.head.first < reading.offsets.end;
            if !is_within || !reading.wants(batch.head)? {
                continue;
            }
            let records = batch
                .records()
                .map_err(|error| undecodable(&format!("history/{name}"), thread, batch.head.first, &error))?;
            if reading.take(records) == Room::Full {
                return Ok(Room::Full);
            }
        }
        Ok(Room::Left)
    }

    fn read_journal(&self, reading: &mut Reading<'_>) -> Result<Room, Error> {
        let mut offsets = reading.offsets.clone();
        loop {
            let batches = self.unsealed_batches(reading, &offsets)?;
            for batch in &batches {
                if !reading.wants(batch.head())? {
                    continue;
                }
                let UnsealedBatch { first, mark, .. } = *batch;
                let (head, body) = self.unsealed_batch(reading.thread, first, mark)?;
                let records = decode_records(head, &body)
                    .map_err(|error| undecodable(&at(mark), reading.thread, head.first, &error))?;
                if reading.take(records) == Room::Full {
                    return Ok(Room::Full);
                }
            }
            match batches.last() {
                Some(last) if batches.len() == UNSEALED_MAX => offsets.start = last.end(),
                _ => return Ok(Room::Left),
            }
        }
    }

    fn unsealed_batches(
        &self,
        reading: &Reading<'_>,
        offsets: &Range<u64>,
    ) -> Result<Vec<UnsealedBatch>, Error> {
        let overlay = self.core.overlay();
        // If it was deleted since, what is left of it is no measure of what was there.
        overlay.state(reading.thread, View::Durable).ok_or_else(|| Error::NoThread(reading.key.clone()))?;
        let batches = overlay.unsealed.batches(reading.thread, offsets);
        Ok(batches[..batches.len().min(UNSEALED_MAX)].to_vec())
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
        for place in self.catalogue.blocks(no, &offsets, BLOCKS_ALL)? {
            let block = self.shelf.file(place.file).ok().and_then(|file| file.block(place.site).ok());
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
        let batch = BatchHead { first, count: head.count, run, time };
        let body = match head.flags & SHARED {
            0 => Ok(Bytes::copy_from_slice(entry.body())),
            _ => shared::decode(head.count, head.weight, entry.body()),
        };
        Ok((batch, body.map_err(|error| undecodable(&at(mark), thread, first, &error))?))
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
        let block = self.shelf.block(place.file, Site::alone(place.extent), 0, &mut Ahead::default());
        let block = block.map_err(|error| failed(&error))?;
        let at = place.extent.at;
        let facts = block.facts().map_err(|error| failed(&HistoryError::Block { at, error }))?;
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

impl Reading<'_> {
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

    /// Puts records on the page as long as there is room.
    fn take(&mut self, records: Vec<Record>) -> Room {
        for record in records.into_iter().filter(|record| self.offsets.contains(&record.offset)) {
            if self.bytes >= self.bytes_max && !self.page.records.is_empty() {
                self.page.next = record.offset;
                return Room::Full;
            }
            self.bytes += record.bytes.len();
            self.page.records.push(record);
        }
        Room::Left
    }
}

fn at(mark: Mark) -> String {
    format!("log/{}", crate::journal::Position::from(mark))
}

/// What a caller is told about bytes that are whole and make no sense.
pub(crate) fn undecodable(place: &str, thread: u64, offset: u64, error: &dyn std::fmt::Display) -> Error {
    Error::Corrupt { place: format!("{place}, thread={thread}, offset={offset}"), what: error.to_string() }
}
