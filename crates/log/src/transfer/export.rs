//! A thread as lines of JSON.

use super::line::{EXPORT_VERSION, HeadLine, RecordLine, RunLine, ThreadLine, embedded};
use crate::checkpoint::Checkpoint;
use crate::engine::Engine;
use crate::error::Error;
use crate::lineage::chain;
use crate::names::{RunNo, ThreadKey};
use crate::record::{Kind, Record};
use crate::run::RunInfo;
use crate::run_fold::{delta_events, write_lines};
use crate::store::Page;
use crate::thread::ThreadInfo;
use bytes::Bytes;
use serde::Serialize;
use std::collections::BTreeSet;
use threadline_protocol::Event;

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 256 * 1024;

/// What an export looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportForm {
    /// Every record as it came, with its offset, time, run and kind. What a store needs to have the thread again.
    #[default]
    Raw,
    /// The runs as AG-UI events, each compacted.
    Compact,
    /// The last run's branch as AG-UI events, its messages and state as one snapshot each.
    Snapshot,
}

/// Gives a thread as lines, a part at a time, so that its size does not matter.
#[derive(Debug)]
pub struct Exporter {
    engine: Engine,
    info: ThreadInfo,
    runs: Vec<RunInfo>,
    form: ExportForm,
    next: u64,
    end: u64,
    /// How many records it says that it has, and how many were given. A part of a thread says nothing of it.
    records: Option<u64>,
    given: u64,
    wanted: BTreeSet<RunNo>,
    /// Runs that were not given yet.
    waiting: BTreeSet<RunNo>,
    is_begun: bool,
}

impl Engine {
    /// A thread as lines of JSON, as it is now.
    ///
    /// # Errors
    /// If there is no such thread.
    pub async fn export(&self, thread: &ThreadKey, form: ExportForm) -> Result<Exporter, Error> {
        // The tail and the runs of one moment: of a run that is opened meanwhile nothing is told, nor does the tail have it.
        let info = self.store().thread(thread).await?;
        let mut runs = self.runs_with_lineage(thread).await?;
        runs.truncate(info.runs as usize);
        let wanted = match (form, runs.last()) {
            (ExportForm::Snapshot, Some(head)) => chain(&runs, head.no).into_iter().collect(),
            (ExportForm::Raw, _) => self.told(thread, &runs).await?,
            _ => runs.iter().map(|run| run.no).collect(),
        };
        let exporter = self.export_part(thread, wanted, info.offsets.end).await?;
        let records = if form == ExportForm::Raw { Some(exporter.count().await?) } else { None };
        Ok(Exporter { form, records, ..exporter })
    }

    /// The runs of which something is left to tell: of those that were trimmed, the ones that restate their branch.
    async fn told(&self, thread: &ThreadKey, runs: &[RunInfo]) -> Result<BTreeSet<RunNo>, Error> {
        let first = self.store().thread(thread).await?.offsets.start;
        let mut told = BTreeSet::new();
        for run in runs {
            let is_told = run.offsets.end > first
                || run.is_running()
                || self.store().checkpoint(thread, run.no).await?.is_some_and(|kept| !kept.delta.is_empty());
            told.extend(is_told.then_some(run.no));
        }
        Ok(told)
    }

    /// Some runs of a thread up to an offset, raw.
    pub(crate) async fn export_part(
        &self,
        thread: &ThreadKey,
        wanted: BTreeSet<RunNo>,
        end: u64,
    ) -> Result<Exporter, Error> {
        let info = self.store().thread(thread).await?;
        let runs = self.runs_with_lineage(thread).await?;
        let (next, end) = (info.offsets.start, info.offsets.end.min(end));
        let (waiting, form) = (wanted.clone(), ExportForm::Raw);
        let engine = self.clone();
        let (records, given, is_begun) = (None, 0, false);
        Ok(Exporter { engine, info, runs, form, next, end, records, given, wanted, waiting, is_begun })
    }
}

impl Exporter {
    /// Of all runs only this one, where each is told by itself: in the compact form.
    #[must_use]
    pub fn with_run(mut self, run: RunNo) -> Self {
        self.waiting.retain(|waiting| *waiting == run);
        self
    }

    /// The next lines, of which none is cut. None if that was all.
    ///
    /// # Errors
    /// If something cannot be read.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self.form {
            ExportForm::Raw => self.next_raw().await,
            ExportForm::Compact => self.next_compact().await,
            ExportForm::Snapshot => self.snapshot().await,
        }
    }

    async fn next_raw(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut lines = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            let thread = ThreadLine::of(&self.info.key);
            let metadata = &self.info.metadata;
            let (tail, records, runs) = (self.end, self.records, self.wanted.len());
            let first = records.map(|_| self.info.offsets.start);
            put(
                &mut lines,
                &HeadLine { threadline: EXPORT_VERSION, thread, metadata, first, tail, records, runs },
            );
            return Ok(Some(lines));
        }
        if self.next >= self.end {
            // What was trimmed or compacted meanwhile is missing.
            if self.records.is_some_and(|records| records != self.given) {
                return Err(Error::ThreadChanged(self.info.key.clone()));
            }
            self.begin_runs(RunNo(u32::MAX), u64::MAX, &mut lines).await?;
            return Ok((!lines.is_empty()).then_some(lines));
        }
        let page = self.page(self.next).await?;
        for record in &page.records {
            if self.wanted.contains(&record.run) {
                self.begin_runs(record.run, record.offset, &mut lines).await?;
            }
            self.given += u64::from(self.put_record(record, &mut lines));
        }
        self.next = page.next;
        Ok(Some(lines))
    }

    async fn page(&self, next: u64) -> Result<Page, Error> {
        self.engine.store().read(&self.info.key, next..self.end, None, PAGE_BYTES).await
    }

    /// How many records there are to give. They have to be looked at only if some are gone, or came later.
    async fn count(&self) -> Result<u64, Error> {
        let all = self.end - self.next;
        let has_all = self.runs.iter().all(|run| !run.compacted && !self.is_cut(run));
        if has_all && self.runs.iter().map(|run| run.records).sum::<u64>() == all {
            return Ok(all);
        }
        let (mut next, mut count) = (self.next, 0);
        while next < self.end {
            let page = self.page(next).await?;
            count += page.records.iter().filter(|record| self.run_of(record).is_some()).count() as u64;
            next = page.next;
        }
        Ok(count)
    }

    /// The run of a record, if that is given.
    fn run_of(&self, record: &Record) -> Option<&RunInfo> {
        let run = self.runs.get(record.run.index()).filter(|run| !self.is_cut(run));
        run.filter(|run| self.wanted.contains(&run.no))
    }

    /// Whether there was one to put.
    fn put_record(&self, record: &Record, lines: &mut Vec<u8>) -> bool {
        let Some(run) = self.run_of(record) else { return false };
        // What was rejected later comes after the end.
        let ended_at = run.ended_at.unwrap_or(run.offsets.end);
        let end = run.end.as_ref().filter(|_| record.offset + 1 == ended_at && !run.compacted);
        put(lines, &RecordLine::new(record, &run.id, end));
        true
    }

    /// Whether a run's first records were trimmed, so that the rest of them means nothing.
    const fn is_cut(&self, run: &RunInfo) -> bool {
        run.offsets.start < self.info.offsets.start
    }

    /// The lines of runs that began at an offset or before, and of those that were opened before a run: some of them may have
    /// got their first record later.
    async fn begin_runs(&mut self, upto: RunNo, offset: u64, lines: &mut Vec<u8>) -> Result<(), Error> {
        while let Some(no) = self.waiting.first().copied() {
            let run = &self.runs[no.index()];
            if no > upto && run.offsets.start > offset {
                break;
            }
            self.waiting.pop_first();
            let number = self.wanted.len() - self.waiting.len();
            let request = self.engine.store().request(&self.info.key, no).await?;
            let (request, request_text) = embedded(&request);
            let compacted = run.compacted || self.is_cut(run);
            let kept = match compacted {
                true => self.engine.store().checkpoint(&self.info.key, no).await?,
                false => None,
            };
            // One that restates its branch begins with nothing, not with what its parent holds.
            let is_alone = kept.as_ref().is_some_and(|kept| kept.stands_alone);
            let parent = run.parent.filter(|parent| !is_alone && self.wanted.contains(parent));
            let compaction = kept.map(|kept| compaction(&kept)).unwrap_or_default();
            let line = RunLine {
                run: &run.id,
                parent: parent.map(|parent| &self.runs[parent.index()].id),
                spawned_by: run.spawned_by.as_deref(),
                number,
                base_state: run.base_state,
                compacted,
                until: compacted.then_some(run.offsets.end),
                lines: compacted.then_some(compaction.len()),
                request,
                request_text: request_text.filter(|text| !text.is_empty()),
            };
            put(lines, &line);
            for (part, bytes) in (1..).zip(compaction.iter().cloned()) {
                let time = run.ended.unwrap_or(run.started);
                let record = Record { offset: run.offsets.start, time, run: run.no, kind: Kind::Made, bytes };
                let end = run.end.as_ref().filter(|_| part == compaction.len());
                put(lines, &RecordLine::new(&record, &run.id, end).with_part(part));
            }
        }
        Ok(())
    }

    async fn next_compact(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(run) = self.waiting.pop_first() else { return Ok(None) };
        let delta = self.engine.delta_of(&self.info.key, run).await?;
        Ok(Some(delta.to_vec()))
    }

    async fn snapshot(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.waiting.is_empty() {
            return Ok(None);
        }
        let branch: Vec<RunNo> = std::mem::take(&mut self.waiting).into_iter().collect();
        let restated = self.engine.restated(&self.info.key, &self.runs, &branch).await?;
        let mut lines = Vec::new();
        write_lines(&mut lines, &restated);
        Ok(Some(lines))
    }
}

/// What is left of a run whose records are gone.
fn compaction(kept: &Checkpoint) -> Vec<Bytes> {
    let events: Vec<_> = delta_events(&kept.delta).collect();
    // One that restates its branch has the runs before it in its frame.
    let own = events.iter().rposition(|event| matches!(event, Event::RunStarted(_))).unwrap_or(0);
    events[own..].iter().map(|event| event.to_json().into_bytes().into()).collect()
}

fn put(lines: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *lines, line)
        .expect("strings and numbers are JSON, and memory can be written to");
    lines.push(b'\n');
}
