//! Threads from lines of JSON: raw exports, and with `recording.rs` bare recordings of AG-UI events.

use super::begun::{APPENDS_MAX, Begun};
use super::line::{EXPORT_VERSION, Line, begins_export, without_mark};
use super::recording::Recording;
use super::said::Said;
use crate::engine::{Batch, Engine, RunWriter, ThreadChange};
use crate::error::Error;
use crate::names::{Incarnation, RunId, RunNo, Scope, ThreadId, ThreadKey, Timestamp};
use crate::opening::digest;
use crate::record::NewRecord;
use crate::run::{RunEnd, RunStatus};
use crate::store::{OpenRun, RunsSeen};
use crate::thread::{Metadata, MetadataChange};
use bytes::Bytes;
use std::collections::HashMap;
use threadline_protocol::stages::close::Cause;

/// The label of a thread that is being imported: one that still has it when nobody imports it is a part of a thread.
pub(crate) const IMPORTING: &str = "threadline:importing";

/// For how long a run that is imported is the import's. Nobody else may close it, however slowly its lines come.
pub(super) const LEASE_MS: i64 = 24 * 60 * 60 * 1000;

/// How many bytes of records are appended at once.
const BATCH_BYTES: usize = 256 * 1024;

/// Where imported threads go.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Whose they are. A raw export's own scope, if none is given.
    pub scope: Option<Scope>,
    /// The scope of recordings, which say nothing of it.
    pub default_scope: Scope,
    /// The thread's id, in place of the one that the input says.
    pub thread: Option<ThreadId>,
    /// Why runs that the input leaves open are closed.
    pub cause: Cause,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The threads, in the order they came.
    pub threads: Vec<ThreadKey>,
    /// How many runs.
    pub runs: u64,
    /// How many records.
    pub records: u64,
    /// How many of them came in recordings and cannot be read as events.
    pub unreadable: u64,
}

/// Takes the texts of an input one by one, and writes what they say.
///
/// Everything that was pushed is durable after [`finish`](Self::finish). After an error the threads are gone that were made and
/// have not come to their ends: that of the export, or those of the recording, whose last run is closed where its thread was there
/// before. Exports that came earlier in the same input stay. Whoever is killed in between leaves a thread with a
/// label that says so, in whose place the next import of the export puts the whole.
#[derive(Debug)]
pub struct Importer {
    pub(super) engine: Engine,
    pub(super) options: ImportOptions,
    pub(super) imported: Imported,
    /// How many of its threads have come to their ends.
    whole: usize,
    input: Option<Input>,
    waiting: Waiting,
    begun: Begun,
    /// Where the tail of the thread is that an export is imported into.
    tail: Option<u64>,
    /// Threads that were made for an input that has not come to its end.
    pub(super) unfinished: Vec<(ThreadKey, Incarnation)>,
    /// Something has failed.
    is_over: bool,
}

/// What the input is, as its first line says.
#[derive(Debug)]
enum Input {
    Export(Box<ExportImport>),
    Recording(Recording),
}

#[derive(Debug)]
struct ExportImport {
    thread: ThreadKey,
    metadata: Metadata,
    said: Said,
    runs: HashMap<RunId, RunNo>,
    ended: u32,
    writers: HashMap<RunId, RunWriter>,
    /// A run whose first record has not come.
    opening: Option<(RunId, OpenRun)>,
}

/// Records of one run that were not written yet.
#[derive(Debug, Default)]
struct Waiting {
    writer: Option<RunWriter>,
    time: Timestamp,
    records: Vec<NewRecord>,
    bytes: usize,
}

impl Engine {
    /// Imports threads.
    #[must_use]
    pub fn import(&self, options: ImportOptions) -> Importer {
        let (imported, waiting) = (Imported::default(), Waiting::default());
        Importer {
            engine: self.clone(),
            options,
            imported,
            whole: 0,
            input: None,
            waiting,
            begun: Begun::default(),
            tail: None,
            unfinished: Vec::new(),
            is_over: false,
        }
    }
}

impl Importer {
    /// Takes the next text: a line of an export, or an event. Gives why it cannot be read as an event, if that is so: it is kept as rejected,
    /// among others that can.
    ///
    /// # Errors
    /// If it makes no sense here, or cannot be written. Then nothing more can be pushed.
    pub async fn push(&mut self, json: &str) -> Result<Option<String>, Error> {
        self.check_going_on()?;
        let pushed = self.push_text(json).await;
        self.unless_failed(pushed).await
    }

    async fn push_text(&mut self, json: &str) -> Result<Option<String>, Error> {
        if begins_export(json) {
            return self.begin_export(without_mark(json)).await.map(|()| None);
        }
        match self.input.take() {
            Some(Input::Export(mut export)) => {
                let result = self.push_line(&mut export, json).await;
                self.input = Some(Input::Export(export));
                result.map(|()| None)
            }
            other => {
                let (mut recording, json) = match other {
                    Some(Input::Recording(recording)) => (recording, json),
                    _ => (Recording::default(), without_mark(json)),
                };
                let result = self.push_event(&mut recording, json).await;
                self.input = Some(Input::Recording(recording));
                result
            }
        }
    }

    /// Writes the rest, and ends what the input left open.
    ///
    /// # Errors
    /// If it cannot be written, lines are missing at its end, or nothing in it can be read.
    pub async fn finish(mut self) -> Result<Imported, Error> {
        self.check_going_on()?;
        let ended = self.end_input().await;
        self.unless_failed(ended).await?;
        Ok(self.imported)
    }

    /// Ends it as an error does: the rest of the input cannot be had.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn abandon(mut self) -> Result<(), Error> {
        self.forget_unfinished().await
    }

    /// Whether the input is an export, of which no line may be missing.
    #[must_use]
    pub const fn is_export(&self) -> bool {
        matches!(self.input, Some(Input::Export(_)))
    }

    /// The threads of exports that have come to their ends, which stay whatever becomes of the rest.
    #[must_use]
    pub fn whole(&self) -> &[ThreadKey] {
        &self.imported.threads[..self.whole]
    }

    pub(super) fn lease_until(&self) -> Timestamp {
        Timestamp(self.engine.now().0.saturating_add(LEASE_MS))
    }

    fn check_going_on(&self) -> Result<(), Error> {
        if self.is_over { Err(Error::Invalid("the import has failed".to_owned())) } else { Ok(()) }
    }

    async fn unless_failed<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            // If this fails too, the label says that the thread is not whole. What matters is the first error.
            _ = self.forget_unfinished().await;
        }
        result
    }

    async fn forget_unfinished(&mut self) -> Result<(), Error> {
        // What is on its way lands before the thread goes, or not at all.
        (self.waiting, self.is_over) = (Waiting::default(), true);
        while self.begun.finish(0).await.is_err() {}
        let made = std::mem::take(&mut self.unfinished);
        if let Some(Input::Recording(Recording { writer: Some(writer), is_ended: false, .. })) =
            self.input.take()
            && !made.iter().any(|(thread, _)| *thread == writer.thread)
        {
            self.engine.end_run(&writer, self.options.cause).await?;
        }
        for (thread, incarnation) in made {
            self.engine.forget_import(&thread, incarnation).await?;
        }
        Ok(())
    }

    async fn end_input(&mut self) -> Result<(), Error> {
        self.settle().await?;
        match self.input.take() {
            Some(Input::Recording(recording)) => self.end_recording(recording).await?,
            Some(Input::Export(export)) => self.end_export(*export).await?,
            None => {}
        }
        self.tail = None;
        self.unfinished.clear();
        self.whole = self.imported.threads.len();
        Ok(())
    }

    async fn begin_export(&mut self, json: &str) -> Result<(), Error> {
        self.end_input().await?;
        let line = read_line(json)?;
        let version = line.threadline.unwrap_or_default();
        if version != EXPORT_VERSION {
            return Err(Error::Invalid(format!("an export of another version. version={version}")));
        }
        let said = Said::new(&line)?;
        let named = line.thread.ok_or_else(|| Error::Invalid("an export without a thread".to_owned()))?;
        let scope = self.options.scope.clone().unwrap_or_else(|| named.scope());
        let thread = ThreadKey::new(scope, self.options.thread.clone().unwrap_or(named.id));
        self.engine.make_room(&thread).await?;
        self.imported.threads.push(thread.clone());
        self.tail = Some(0);
        self.input = Some(Input::Export(Box::new(ExportImport {
            thread,
            metadata: line.metadata,
            said,
            runs: HashMap::new(),
            ended: 0,
            writers: HashMap::new(),
            opening: None,
        })));
        Ok(())
    }

    async fn push_line(&mut self, export: &mut ExportImport, json: &str) -> Result<(), Error> {
        let line = read_line(json)?;
        let id = line.run.clone().ok_or_else(|| Error::Invalid("a line without a run".to_owned()))?;
        let Some(offset) = line.offset else {
            if export.has_run(&id) {
                return Err(Error::Invalid(format!("a run that is there twice. run={id}")));
            }
            export.said.begin_run(&id, &line)?;
            self.open_waiting(export, Timestamp::default()).await?;
            export.opening = Some((id.clone(), self.run_to_open(export, &id, &line)?));
            return Ok(());
        };
        if !export.has_run(&id) {
            return Err(Error::Invalid(format!("a record of a run that has not come. run={id}")));
        }
        let record = line.record()?;
        if line.end.as_ref().is_some_and(|end| end.status == RunStatus::Running) {
            return Err(Error::Invalid("an end of a run that goes on".to_owned()));
        }
        export.said.take_record(&id, offset, record.kind, &line)?;
        let time = line.time()?;
        if export.opening.as_ref().is_some_and(|(opening, _)| *opening == id) {
            self.open_waiting(export, time).await?;
        }
        let writer = export.writers.get(&id).cloned().ok_or_else(|| Error::NoRun(id.to_string()))?;
        self.imported.records += 1;
        self.wait(writer, time, record, line.end.as_ref()).await?;
        export.ended += u32::from(line.end.is_some());
        Ok(())
    }

    fn run_to_open(&self, export: &ExportImport, id: &RunId, line: &Line<'_>) -> Result<OpenRun, Error> {
        let request = Bytes::from(line.request());
        let parent = line.parent.as_ref();
        let missing = |id: &RunId| Error::Invalid(format!("a parent that has not come. run={id}"));
        let parent = parent.map(|id| export.runs.get(id).copied().ok_or_else(|| missing(id)));
        Ok(OpenRun {
            thread: export.thread.clone(),
            incarnation: self.engine.ids().incarnation(),
            metadata: export.metadata_while_importing(),
            seen: RunsSeen::default(),
            id: id.clone(),
            parent: parent.transpose()?,
            spawned_by: line.spawned_by.clone(),
            base_state: line.base_state.unwrap_or_default(),
            request_digest: digest(&request),
            request,
            records: Vec::new(),
            key: None,
            expected_tail: None,
            end: None,
            lease_until: self.lease_until(),
            time: Timestamp::default(),
        })
    }

    /// Opens the run whose line has come, at the time of its first record.
    async fn open_waiting(&mut self, export: &mut ExportImport, time: Timestamp) -> Result<(), Error> {
        self.settle().await?;
        let Some((id, open)) = export.opening.take() else { return Ok(()) };
        let opened = u32::try_from(export.runs.len()).unwrap_or(u32::MAX);
        let seen = RunsSeen { opened, ended: export.ended };
        let (writer, _) = self.engine.open_run(OpenRun { seen, time, ..open }).await?;
        self.unfinished = vec![(writer.thread.clone(), writer.incarnation)];
        export.runs.insert(id.clone(), writer.run);
        export.writers.insert(id, writer);
        self.imported.runs += 1;
        Ok(())
    }

    async fn end_export(&mut self, mut export: ExportImport) -> Result<(), Error> {
        self.open_waiting(&mut export, Timestamp::default()).await?;
        export.said.check_end()?;
        if export.runs.is_empty() {
            return Ok(());
        }
        let runs = self.engine.store().runs(&export.thread).await?;
        // A run that went on when it was exported has nobody here who executes it.
        for run in runs.iter().filter(|run| run.is_running()) {
            if let Some(writer) = export.writers.get(&run.id) {
                self.engine.end_run(writer, self.options.cause).await?;
            }
        }
        // From now on it is whole. This is no news about it.
        let labels = [(IMPORTING.to_owned(), None)].into();
        let change = MetadataChange { labels, ..MetadataChange::default() };
        self.engine.store().describe(&export.thread, change, Timestamp(i64::MIN)).await?;
        self.engine.changed(ThreadChange::Changed(export.thread));
        Ok(())
    }

    /// Keeps a record to be written with those that follow it.
    pub(super) async fn wait(
        &mut self,
        writer: RunWriter,
        time: Timestamp,
        record: NewRecord,
        end: Option<&RunEnd>,
    ) -> Result<(), Error> {
        let goes_on = self.waiting.writer.as_ref() == Some(&writer) && self.waiting.time == time;
        if !goes_on || self.waiting.bytes + record.bytes.len() > BATCH_BYTES {
            self.flush(None).await?;
        }
        self.waiting.bytes += record.bytes.len();
        self.waiting.records.push(record);
        (self.waiting.writer, self.waiting.time) = (Some(writer), time);
        // If a large one is refused, that is said of its own line.
        if end.is_some() || self.waiting.bytes >= BATCH_BYTES {
            self.flush(end.cloned()).await?;
        }
        Ok(())
    }

    async fn flush(&mut self, end: Option<RunEnd>) -> Result<(), Error> {
        let Waiting { writer, time, records, .. } = std::mem::take(&mut self.waiting);
        let Some(writer) = writer else { return Ok(()) };
        let ends = end.is_some();
        if ends {
            self.begun.finish(0).await?;
        }
        let engine = self.engine.clone();
        // A thread that is being imported is nobody else's, so that its tail is known. Should a store ever take appends in
        // another order than they were begun in, the import fails instead of being another thread.
        let expected_tail = self.tail;
        self.tail = expected_tail.map(|tail| tail + records.len() as u64);
        let at_once = if ends || expected_tail.is_none() { 0 } else { APPENDS_MAX };
        let batch = Batch { records, end, expected_tail, ..Batch::default() };
        self.begun.push(async move { engine.append_at(&writer, batch, time).await }).await?;
        self.begun.finish(at_once).await
    }

    /// Writes what waits, and waits until it is durable.
    pub(super) async fn settle(&mut self) -> Result<(), Error> {
        self.flush(None).await?;
        self.begun.finish(0).await
    }
}

impl ExportImport {
    fn metadata_while_importing(&self) -> MetadataChange {
        let mut change = self.metadata.as_change();
        change.labels.insert(IMPORTING.to_owned(), Some("true".to_owned()));
        change
    }

    fn has_run(&self, id: &RunId) -> bool {
        self.runs.contains_key(id) || self.opening.as_ref().is_some_and(|(opening, _)| opening == id)
    }
}

impl Engine {
    /// Forgets a thread that was not imported to its end, whatever goes on there.
    pub(super) async fn forget_import(
        &self,
        thread: &ThreadKey,
        incarnation: Incarnation,
    ) -> Result<(), Error> {
        // Whoever folds runs of it is done with what is deleted here before another of its name is made.
        let _upkeep = self.upkeep().of(thread).await;
        match self.store().thread(thread).await {
            Ok(info) if info.incarnation == incarnation => {
                self.store().delete(thread, None, self.now()).await?;
                self.forgotten(thread, incarnation);
                Ok(())
            }
            Ok(_) | Err(Error::NoThread(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn read_line(json: &str) -> Result<Line<'_>, Error> {
    serde_json::from_str(json).map_err(|error| Error::Invalid(format!("no line of an export: {error}")))
}
