//! Bare recordings of AG-UI events.

use super::import::Importer;
use super::line::is_of_export;
use crate::engine::RunWriter;
use crate::error::Error;
use crate::kin::Sought;
use crate::names::{RunId, ThreadId, ThreadKey};
use crate::opening::digest;
use crate::record::NewRecord;
use crate::run::{BaseState, RunEnd};
use crate::search::first_words;
use crate::store::OpenRun;
use crate::thread::MetadataChange;
use bytes::Bytes;
use threadline_protocol::event::RunStarted;
use threadline_protocol::{Event, Received};

/// How many bytes may come that cannot be read, before the first event.
const HELD_BYTES_MAX: usize = 1024 * 1024;

/// A recording, and the run that it is at.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) writer: Option<RunWriter>,
    pub(super) is_ended: bool,
    /// What came before the first event. Nothing is written until there is one.
    held: Vec<String>,
    held_bytes: usize,
}

impl Importer {
    /// Ends the run that the recording was cut off in.
    pub(super) async fn end_recording(&mut self, recording: Recording) -> Result<(), Error> {
        self.settle().await?;
        if recording.writer.is_none() && !recording.held.is_empty() {
            return Err(unreadable());
        }
        match recording.writer.filter(|_| !recording.is_ended) {
            Some(writer) => self.engine.end_run(&writer, self.options.cause).await.map(|_| ()),
            None => Ok(()),
        }
    }

    pub(super) async fn push_event(
        &mut self,
        recording: &mut Recording,
        json: &str,
    ) -> Result<Option<String>, Error> {
        let received = match Received::read(json) {
            Ok(received) => received,
            Err(_) if is_of_export(json) => {
                return Err(Error::Invalid("a line of an export whose first line is missing".to_owned()));
            }
            Err(error) => {
                self.push_unreadable(recording, json).await?;
                return Ok(Some(error.to_string()));
            }
        };
        let event = received.event();
        let held = std::mem::take(&mut recording.held);
        if let Event::RunStarted(started) = event {
            self.end_recording(std::mem::take(recording)).await?;
            recording.writer = Some(self.open_recorded(started).await?);
        }
        let writer = match &recording.writer {
            Some(writer) => writer.clone(),
            // Whoever recorded it began in the middle of a run.
            None => recording.writer.insert(self.open_unnamed().await?).clone(),
        };
        for text in held {
            self.put(&writer, NewRecord::rejected(text), None).await?;
        }
        // What comes after the end of a run means nothing, and is kept.
        let is_event = !recording.is_ended;
        let bytes = json.as_bytes().to_vec();
        let record = if is_event { NewRecord::event(bytes) } else { NewRecord::rejected(bytes) };
        let end = if is_event { RunEnd::of(event) } else { None };
        recording.is_ended |= end.is_some();
        self.put(&writer, record, end.as_ref()).await?;
        Ok(None)
    }

    async fn push_unreadable(&mut self, recording: &mut Recording, json: &str) -> Result<(), Error> {
        self.imported.unreadable += 1;
        if let Some(writer) = recording.writer.clone() {
            return self.put(&writer, NewRecord::rejected(json.to_owned()), None).await;
        }
        if recording.held_bytes > HELD_BYTES_MAX {
            return Err(unreadable());
        }
        recording.held_bytes += json.len();
        recording.held.push(json.to_owned());
        Ok(())
    }

    async fn put(
        &mut self,
        writer: &RunWriter,
        record: NewRecord,
        end: Option<&RunEnd>,
    ) -> Result<(), Error> {
        self.imported.records += 1;
        self.wait(writer.clone(), self.engine.now(), record, end).await
    }

    /// Opens a run for events whose start is missing.
    async fn open_unnamed(&mut self) -> Result<RunWriter, Error> {
        for count in 1_u32.. {
            let run = format!("recording-{count}");
            match self.open_recorded(&RunStarted::new("recording", run)).await {
                Err(Error::RunIdReused(_)) => {}
                opened => return opened,
            }
        }
        Err(Error::RunsChanged)
    }

    async fn open_recorded(&mut self, started: &RunStarted<'_>) -> Result<RunWriter, Error> {
        let unicode = || Error::Invalid("an id that is not Unicode".to_owned());
        let scope = self.options.scope.clone().unwrap_or_else(|| self.options.default_scope.clone());
        let id = match &self.options.thread {
            Some(id) => id.clone(),
            None => ThreadId::new(started.thread_id.as_str().ok_or_else(unicode)?)?,
        };
        let thread = ThreadKey::new(scope, id);
        let input = started.input.as_deref();
        let parent_run_id = started.parent_run_id.as_ref();
        let kin = self.engine.kin(&thread, &Sought::for_parent(parent_run_id, input)).await?;
        let request = input.map(|input| Bytes::from(input.to_json())).unwrap_or_default();
        let open = OpenRun {
            thread: thread.clone(),
            incarnation: self.engine.ids().incarnation(),
            metadata: MetadataChange {
                name: input.and_then(|input| first_words(&input.messages)),
                ..MetadataChange::default()
            },
            seen: kin.seen,
            id: RunId::new(started.run_id.as_str().ok_or_else(unicode)?)?,
            parent: kin.parent(parent_run_id, input),
            spawned_by: kin.spawned_by(parent_run_id),
            base_state: if input.is_some() { BaseState::Input } else { BaseState::Branch },
            request_digest: digest(&request),
            request,
            records: Vec::new(),
            key: None,
            expected_tail: None,
            end: None,
            lease_until: self.lease_until(),
            time: self.engine.now(),
        };
        let is_made = kin.head.is_none();
        let (writer, _) = self.engine.open_run(open).await?;
        if is_made {
            self.unfinished.push((thread.clone(), writer.incarnation));
        }
        if !self.imported.threads.contains(&thread) {
            self.imported.threads.push(thread);
        }
        self.imported.runs += 1;
        Ok(writer)
    }
}

fn unreadable() -> Error {
    Error::Invalid("nothing in it can be read as an AG-UI event".to_owned())
}
