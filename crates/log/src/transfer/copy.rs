//! A thread from one store to another, as it is.

use super::begun::{APPENDS_MAX, Begun};
use super::export::ExportForm;
use super::import::{IMPORTING, LEASE_MS};
use super::standing_in::StandingIn;
use crate::engine::{Engine, ThreadChange};
use crate::error::Error;
use crate::names::{Epoch, RunNo, ThreadKey, Timestamp};
use crate::record::{NewRecord, Record};
use crate::run::{RunEnd, RunInfo};
use crate::store::{Append, OpenRun, RunsSeen};
use crate::thread::{MetadataChange, ThreadInfo};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// About how many bytes of records are read at once, and appended at once.
const PAGE_BYTES: usize = 256 * 1024;
/// How many records are appended at once.
const BATCH_RECORDS_MAX: usize = 4096;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many runs.
    pub runs: u64,
    /// How many records, without those that stood in for others.
    pub records: u64,
}

impl Engine {
    /// Copies a thread to another store, where it is the same: its incarnation, offsets and times, so that cursors and exports hold
    /// there; its checkpoints, with the values of its chain; and what was trimmed or compacted is gone there, too. Keys of appends are not
    /// copied, nor how many bytes those had that are gone.
    ///
    /// `told` hears how many records more were copied. Whoever is killed in between leaves a thread with a label that says so, as an import
    /// does, in whose place the next copy is put.
    ///
    /// # Errors
    /// If a run goes on, the thread is there already, or something cannot be read or written.
    pub async fn copy_thread(
        &self,
        thread: &ThreadKey,
        to: &Self,
        told: &dyn Fn(u64),
    ) -> Result<Copied, Error> {
        let info = self.store().thread(thread).await?;
        if info.metadata.labels.contains_key(IMPORTING) {
            return Err(Error::Invalid(format!("the thread is not imported to its end. thread={thread}")));
        }
        let runs = self.runs_with_lineage(thread).await?;
        if let Some(run) = runs.iter().find(|run| run.is_running()) {
            return Err(Error::RunActive(run.id.clone()));
        }
        to.make_room(thread).await?;
        let mut copying = Copying::new(self, to, info, runs);
        let copied = copying.all(told).await;
        if copied.is_err() {
            // What is on its way lands before the thread goes. If this fails too, the label says that the thread is not whole.
            while copying.begun.finish(0).await.is_err() {}
            _ = to.forget_import(thread, copying.info.incarnation).await;
        }
        copied
    }

    /// Lets go of what an import or a copy has left that did not come to its end.
    ///
    /// # Errors
    /// If there is a thread that is whole.
    pub(super) async fn make_room(&self, thread: &ThreadKey) -> Result<(), Error> {
        match self.store().thread(thread).await {
            Ok(part) if part.metadata.labels.contains_key(IMPORTING) => {
                self.forget_import(thread, part.incarnation).await
            }
            Ok(_) => Err(Error::ThreadExists(thread.clone())),
            Err(Error::NoThread(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a thread is there as a whole: not if it is missing, or the part of one that is being imported or copied.
    ///
    /// # Errors
    /// If the store cannot be asked.
    pub async fn is_whole(&self, thread: &ThreadKey) -> Result<bool, Error> {
        match self.store().thread(thread).await {
            Ok(info) => Ok(!info.metadata.labels.contains_key(IMPORTING)),
            Err(Error::NoThread(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The SHA-256 of a thread's raw export.
    ///
    /// # Errors
    /// If it cannot be exported.
    pub async fn export_digest(&self, thread: &ThreadKey) -> Result<[u8; 32], Error> {
        let mut exporter = self.export(thread, ExportForm::Raw).await?;
        let mut digest = Sha256::new();
        while let Some(lines) = exporter.next().await? {
            digest.update(&lines);
        }
        Ok(digest.finalize().into())
    }
}

struct Copying<'a> {
    from: &'a Engine,
    to: &'a Engine,
    info: ThreadInfo,
    runs: Vec<RunInfo>,
    /// What the tail was at most when each of them was opened.
    opened_by: Vec<u64>,
    opened: usize,
    ended: u32,
    compacted: BTreeSet<RunNo>,
    /// Behind all that were appended or wait.
    tail: u64,
    /// When the last of them was taken in.
    time: Timestamp,
    waiting: Option<Waiting>,
    begun: Begun,
    copied: Copied,
}

/// Records of one run and time that were not written yet.
struct Waiting {
    run: RunNo,
    time: Timestamp,
    records: Vec<NewRecord>,
    bytes: usize,
}

impl<'a> Copying<'a> {
    fn new(from: &'a Engine, to: &'a Engine, info: ThreadInfo, runs: Vec<RunInfo>) -> Self {
        Self {
            from,
            to,
            time: info.created,
            info,
            opened_by: opened_by(&runs),
            runs,
            opened: 0,
            ended: 0,
            compacted: BTreeSet::new(),
            tail: 0,
            waiting: None,
            begun: Begun::default(),
            copied: Copied::default(),
        }
    }

    async fn all(&mut self, told: &dyn Fn(u64)) -> Result<Copied, Error> {
        let mut standing_in = self.standing_in().await?;
        let (mut next, end) = (self.info.offsets.start, self.info.offsets.end);
        while next < end {
            let page = self.from.store().read(&self.info.key, next..end, None, PAGE_BYTES).await?;
            let records = page.records.len() as u64;
            for record in page.records {
                self.stand_in(&mut standing_in, record.offset).await?;
                self.take(record).await?;
            }
            next = page.next;
            self.copied.records += records;
            told(records);
        }
        self.stand_in(&mut standing_in, end).await?;
        self.flush(None).await?;
        while self.opened < self.runs.len() {
            self.open_next().await?;
        }
        self.begun.finish(0).await?;
        self.end().await?;
        Ok(Copied { runs: self.runs.len() as u64, ..self.copied })
    }

    /// What knows about records that are gone, if there are such.
    async fn standing_in(&self) -> Result<Option<StandingIn>, Error> {
        let offsets = self.info.offsets.clone();
        if offsets.start == 0 && !self.runs.iter().any(|run| run.compacted) {
            return Ok(None);
        }
        let mut standing_in = StandingIn::new(&self.runs, offsets.start);
        let mut next = offsets.start;
        while next < offsets.end {
            let page = self.from.store().read(&self.info.key, next..offsets.end, None, PAGE_BYTES).await?;
            page.records.iter().for_each(|record| standing_in.see(record));
            next = page.next;
        }
        Ok(Some(standing_in.ready(&self.runs)))
    }

    /// Fills the offsets up to one that has a record.
    async fn stand_in(&mut self, standing_in: &mut Option<StandingIn>, until: u64) -> Result<(), Error> {
        while self.tail < until {
            let lost = || Error::Corrupt {
                place: format!("thread={}, offset={}", self.info.key, self.tail),
                what: "a record is missing that belongs to no run".to_owned(),
            };
            let run = standing_in.as_mut().and_then(|runs| runs.owner(self.tail)).ok_or_else(lost)?;
            let info = self.run(run)?;
            let time = match info.ended {
                Some(ended) if self.ends_with(info, self.tail) => ended,
                _ => self.time.max(info.started),
            };
            self.push(run, time, NewRecord::rejected(Bytes::new())).await?;
        }
        Ok(())
    }

    async fn take(&mut self, record: Record) -> Result<(), Error> {
        let Record { run, time, kind, bytes, .. } = record;
        // What came after the compaction of its run is still there.
        if self.run(run)?.compacted && !self.compacted.contains(&run) {
            self.open_due(run, time).await?;
            self.flush(None).await?;
            self.begun.finish(0).await?;
            self.compact(run).await?;
        }
        self.push(run, time, NewRecord { kind, bytes }).await
    }

    fn run(&self, run: RunNo) -> Result<&RunInfo, Error> {
        self.runs.get(run.index()).ok_or_else(|| Error::NoRun(run.0.to_string()))
    }

    /// Whether a run ended with the record at this offset.
    fn ends_with(&self, run: &RunInfo, offset: u64) -> bool {
        run.ended_at.unwrap_or(run.offsets.end) == offset + 1
    }

    async fn push(&mut self, run: RunNo, time: Timestamp, record: NewRecord) -> Result<(), Error> {
        self.open_due(run, time).await?;
        let goes_on = self.waiting.as_ref().is_some_and(|waiting| {
            let has_room = waiting.bytes < PAGE_BYTES && waiting.records.len() < BATCH_RECORDS_MAX;
            has_room && (waiting.run, waiting.time) == (run, time)
        });
        if !goes_on {
            self.flush(None).await?;
        }
        let waiting =
            self.waiting.get_or_insert_with(|| Waiting { run, time, records: Vec::new(), bytes: 0 });
        waiting.bytes += record.bytes.len();
        waiting.records.push(record);
        let offset = self.tail;
        (self.tail, self.time) = (offset + 1, time);
        let info = self.run(run)?;
        match info.end.clone().filter(|_| self.ends_with(info, offset)) {
            Some(end) => self.flush(Some(end)).await,
            None => Ok(()),
        }
    }

    /// Opens the runs that were opened before the next record, which is of a run and a time.
    async fn open_due(&mut self, run: RunNo, time: Timestamp) -> Result<(), Error> {
        while self.runs.get(self.opened).is_some_and(|next| self.is_due(next, run, time)) {
            self.flush(None).await?;
            self.open_next().await?;
        }
        Ok(())
    }

    fn is_due(&self, next: &RunInfo, run: RunNo, time: Timestamp) -> bool {
        next.no <= run || next.started < time || self.opened_by[self.opened] <= self.tail
    }

    /// Begins to write what waits.
    async fn flush(&mut self, end: Option<RunEnd>) -> Result<(), Error> {
        let Some(Waiting { run, time, records, .. }) = self.waiting.take() else { return Ok(()) };
        let ends = end.is_some();
        if ends {
            self.begun.finish(0).await?;
        }
        let append = Append {
            thread: self.info.key.clone(),
            incarnation: Some(self.info.incarnation),
            run,
            epoch: Epoch(1),
            expected_tail: Some(self.tail - records.len() as u64),
            records,
            key: None,
            end: end.map(Box::new),
            time,
        };
        self.begun.push(self.to.store().append(append)).await?;
        self.ended += u32::from(ends);
        self.begun.finish(if ends { 0 } else { APPENDS_MAX }).await
    }

    async fn open_next(&mut self) -> Result<(), Error> {
        self.begun.finish(0).await?;
        let run = &self.runs[self.opened];
        let end = run.end.clone().filter(|_| ended_at_once(run).is_some());
        let mut metadata = self.info.metadata.as_change();
        metadata.labels.insert(IMPORTING.to_owned(), Some("true".to_owned()));
        let open = OpenRun {
            thread: self.info.key.clone(),
            incarnation: self.info.incarnation,
            metadata,
            seen: RunsSeen { opened: run.no.0, ended: self.ended },
            id: run.id.clone(),
            parent: run.parent,
            spawned_by: run.spawned_by.clone(),
            base_state: run.base_state,
            request: self.from.store().request(&self.info.key, run.no).await?,
            request_digest: run.request_digest.clone(),
            records: Vec::new(),
            key: None,
            expected_tail: Some(self.tail),
            end,
            lease_until: Timestamp(self.to.now().0.saturating_add(LEASE_MS)),
            time: run.started,
        };
        self.ended += u32::from(open.end.is_some());
        self.to.store().open_run(open).await?;
        self.opened += 1;
        Ok(())
    }

    async fn compact(&mut self, run: RunNo) -> Result<(), Error> {
        self.checkpoint(run).await?;
        self.to.store().compact_run(&self.info.key, run, self.info.updated).await?;
        self.compacted.insert(run);
        Ok(())
    }

    async fn checkpoint(&self, run: RunNo) -> Result<(), Error> {
        match self.from.store().checkpoint(&self.info.key, run).await? {
            Some(kept) => self.to.store().put_checkpoint(&self.info.key, None, kept, self.info.updated).await,
            None => Ok(()),
        }
    }

    /// When all records are there.
    async fn end(&mut self) -> Result<(), Error> {
        for index in 0..self.runs.len() {
            let RunInfo { no, compacted, .. } = self.runs[index];
            match compacted {
                true if self.compacted.contains(&no) => {}
                true => self.compact(no).await?,
                false => self.checkpoint(no).await?,
            }
        }
        let (store, key, updated) = (self.to.store(), &self.info.key, self.info.updated);
        if self.info.offsets.start > 0 {
            store.trim(key, self.info.offsets.start, updated).await?;
        }
        // From now on it is whole.
        let labels = [(IMPORTING.to_owned(), None)].into();
        store.describe(key, MetadataChange { labels, ..MetadataChange::default() }, updated).await?;
        self.to.changed(ThreadChange::Changed(key.clone()));
        Ok(())
    }
}

/// Where the tail was when a run was opened that ended without a record. Rejected ones may have followed.
fn ended_at_once(run: &RunInfo) -> Option<u64> {
    match run.records {
        0 => Some(run.offsets.start),
        _ => run.ended_at.filter(|ended| *ended <= run.offsets.start),
    }
}

/// What the tail was at most when each run was opened, as far as that can be told: runs are opened in order, so that those before one that ended
/// without a record were there by then.
fn opened_by(runs: &[RunInfo]) -> Vec<u64> {
    let mut tail = u64::MAX;
    let mut opened_by: Vec<u64> = runs
        .iter()
        .rev()
        .map(|run| {
            tail = tail.min(ended_at_once(run).unwrap_or(u64::MAX));
            tail
        })
        .collect();
    opened_by.reverse();
    opened_by
}
