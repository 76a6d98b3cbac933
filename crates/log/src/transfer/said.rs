//! What an export says that it holds, and whether just that comes.

use super::line::Line;
use crate::error::Error;
use crate::names::RunId;
use crate::record::Kind;
use std::collections::HashSet;

/// What the lines of an export say of each other.
///
/// Offsets go up one by one from the first that the thread has, and those that are missing were trimmed or compacted. The first line says how
/// many records and runs there are, the line of a run the how manyth it is, and that of a compacted one how many lines stand for it. Versions
/// of before said less: then a gap is believed where a compacted run had records. A part of a thread says no first offset, and has gaps
/// anywhere.
#[derive(Debug, Default)]
pub(super) struct Said {
    first: Option<u64>,
    tail: Option<u64>,
    records: Option<u64>,
    runs: Option<usize>,
    /// What has come: records that have an offset of their own, the offset behind them, how many before it were passed over, and runs.
    records_come: u64,
    next: u64,
    passed_over: u64,
    runs_come: usize,
    /// Where the last compacted run ended.
    until: u64,
    compaction: Option<Compaction>,
    /// Runs that have ended, so that only rejected records may follow.
    ended: HashSet<RunId>,
}

/// The lines in the place of a run's records. They come one after the other.
#[derive(Debug)]
struct Compaction {
    run: RunId,
    come: usize,
    lines: usize,
    /// Which offset all of them have.
    offset: Option<u64>,
}

impl Said {
    /// What the first line says.
    pub(super) fn new(line: &Line<'_>) -> Result<Self, Error> {
        let Line { first, tail, records, runs, .. } = *line;
        let room = tail.unwrap_or(u64::MAX).checked_sub(first.unwrap_or(0));
        if room.is_none_or(|room| records.unwrap_or(0) > room) {
            let number = |said: Option<u64>| said.map_or_else(|| "none".to_owned(), |said| said.to_string());
            let said = format!("first={}, tail={}, records={}", number(first), number(tail), number(records));
            return Err(Error::Invalid(format!("the export's first line makes no sense. {said}")));
        }
        Ok(Self { first, tail, records, runs, next: first.unwrap_or(0), ..Self::default() })
    }

    /// Takes note of the line of a run.
    pub(super) fn begin_run(&mut self, id: &RunId, line: &Line<'_>) -> Result<(), Error> {
        self.check_compaction()?;
        self.runs_come += 1;
        let (come, said) = (self.runs_come, self.runs);
        if let Some(number) = line.number.filter(|number| *number != come) {
            let what = "runs are missing or not in order";
            return Err(Error::Invalid(format!("{what}. run={id}, number={number}, expected={come}")));
        }
        if let Some(said) = said.filter(|said| come > *said) {
            return Err(Error::Invalid(format!("more runs than the export says. run={id}, runs={said}")));
        }
        self.until = self.until.max(line.until.unwrap_or_default());
        match line.lines {
            Some(0) => {
                self.ended.insert(id.clone());
            }
            Some(lines) => {
                self.compaction = Some(Compaction { run: id.clone(), come: 0, lines, offset: None });
            }
            None => {}
        }
        Ok(())
    }

    /// Takes note of a record.
    pub(super) fn take_record(
        &mut self,
        run: &RunId,
        offset: u64,
        kind: Kind,
        line: &Line<'_>,
    ) -> Result<(), Error> {
        if let Some(compaction) = &mut self.compaction {
            compaction.take(run, offset, kind, line)?;
            if compaction.come == compaction.lines {
                self.ended.insert(run.clone());
                self.compaction = None;
            }
            return Ok(());
        }
        if self.ended.contains(run) && (kind != Kind::Rejected || line.end.is_some()) {
            return Err(Error::Invalid(format!(
                "a record behind the end of its run. run={run}, offset={offset}"
            )));
        }
        self.take_offset(offset)?;
        if line.end.is_some() {
            self.ended.insert(run.clone());
        }
        Ok(())
    }

    fn take_offset(&mut self, offset: u64) -> Result<(), Error> {
        let expected = self.next;
        let wrong = |what: &str| Err(Error::Invalid(format!("{what}. expected={expected}, offset={offset}")));
        let Some(gap) = offset.checked_sub(expected) else {
            return wrong("records are there twice or not in order");
        };
        if let Some(tail) = self.tail.filter(|tail| offset >= *tail) {
            return Err(Error::Invalid(format!(
                "a record behind the export's end. offset={offset}, tail={tail}"
            )));
        }
        self.passed_over = self.passed_over.saturating_add(gap);
        if gap > 0 && !self.may_pass_over(offset) {
            return wrong("records are missing or not in order");
        }
        if self.records.is_some_and(|records| self.records_come == records) {
            return wrong("more records than the export says");
        }
        self.records_come += 1;
        self.next = offset.saturating_add(1);
        Ok(())
    }

    /// Whether there need not be a record between the last one and this.
    fn may_pass_over(&self, offset: u64) -> bool {
        let Some(first) = self.first else { return true };
        let is_said = match (self.records, self.tail) {
            (Some(records), Some(tail)) => self.passed_over <= tail - first - records,
            _ => true,
        };
        is_said && offset <= self.until
    }

    fn check_compaction(&self) -> Result<(), Error> {
        match &self.compaction {
            Some(Compaction { run, come, lines, .. }) => {
                let what = "the export is cut off in a compacted run";
                Err(Error::Invalid(format!("{what}. run={run}, missing={}", lines - come)))
            }
            None => Ok(()),
        }
    }

    /// Whether everything has come.
    pub(super) fn check_end(&self) -> Result<(), Error> {
        self.check_compaction()?;
        let unread = self.tail.unwrap_or_default().saturating_sub(self.next.max(self.until));
        let missing = self.records.map_or(0, |records| records - self.records_come).max(unread);
        if missing > 0 {
            let (reached, tail) = (self.next, self.tail.unwrap_or(self.next));
            return Err(Error::Invalid(format!(
                "the export is cut off. missing={missing}, reached={reached}, tail={tail}"
            )));
        }
        match self.runs.filter(|said| self.runs_come < *said) {
            Some(said) => {
                let come = self.runs_come;
                Err(Error::Invalid(format!("the export is cut off. runs={come}, expected={said}")))
            }
            None => Ok(()),
        }
    }
}

impl Compaction {
    fn take(&mut self, run: &RunId, offset: u64, kind: Kind, line: &Line<'_>) -> Result<(), Error> {
        self.come += 1;
        let is_last = self.come == self.lines;
        let is_next = *run == self.run
            && kind == Kind::Made
            && *self.offset.get_or_insert(offset) == offset
            && line.part.is_none_or(|part| part == self.come)
            && (is_last || line.end.is_none());
        if is_next {
            return Ok(());
        }
        let Self { run, come, lines, .. } = self;
        let what = "the lines of a compacted run are missing or not in order";
        Err(Error::Invalid(format!("{what}. run={run}, part={come}, lines={lines}")))
    }
}
