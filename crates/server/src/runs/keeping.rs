//! How what a run says comes to its readers and into the store: stored first, or delivered first.

use super::active::Phase;
use super::ingest::Judged;
use super::live::Live;
use crate::metrics::Metrics;
use std::sync::Arc;
use threadline_log::buffered::BufferedWriter;
use threadline_log::run::RunEnd;
use threadline_log::{Batch, Engine, Error, NewRecord, RunWriter};
use threadline_protocol::event::RunError;
use threadline_protocol::stages::close::Cause;
use tokio::time::Instant;

/// Keeps one run.
#[derive(Debug)]
pub(super) struct Keeping {
    engine: Engine,
    writer: RunWriter,
    metrics: Arc<Metrics>,
    /// None if readers are served from what is stored.
    buffered: Option<Buffered>,
}

#[derive(Debug)]
struct Buffered {
    live: Arc<Live>,
    /// None when the end is on its way.
    writer: Option<BufferedWriter>,
}

impl Keeping {
    /// Stored, and then delivered.
    pub(super) const fn durable(engine: Engine, writer: RunWriter, metrics: Arc<Metrics>) -> Self {
        Self { engine, writer, metrics, buffered: None }
    }

    /// From now on it is delivered, and stored later.
    pub(super) fn go_live(&mut self, live: Arc<Live>, writer: BufferedWriter) {
        self.buffered = Some(Buffered { live, writer: Some(writer) });
    }

    /// Who writes the run.
    pub(super) const fn writer(&self) -> &RunWriter {
        &self.writer
    }

    /// Renews the lease.
    pub(super) async fn renew(&self) -> Result<(), Error> {
        self.engine.renew(&self.writer).await
    }

    /// Keeps what was judged. If the run ends with it, it is durable afterwards.
    pub(super) async fn keep(&mut self, judged: Judged) -> Result<(), Error> {
        let Judged { records, end } = judged;
        if records.is_empty() {
            return Ok(());
        }
        self.metrics.kept(records.len(), records.iter().map(|record| record.bytes.len()).sum());
        let Some(Buffered { live, writer: Some(writer) }) = &self.buffered else {
            let batch = Batch { records, end, ..Batch::default() };
            let begun = Instant::now();
            self.engine.append(&self.writer, batch).await?;
            self.metrics.committed(begun.elapsed());
            return Ok(());
        };
        live.deliver(&records);
        match end {
            Some(end) => self.finish(records, end).await,
            None => writer.append(records).await,
        }
    }

    /// Ends the run in its source's place.
    pub(super) async fn close(
        &mut self,
        cause: Cause,
        error: Option<RunError<'static>>,
    ) -> Result<(), Error> {
        if let Some(Buffered { live, .. }) = &self.buffered {
            let (records, end) = live.end(cause, error);
            return self.finish(records, end).await;
        }
        let ended = match error {
            Some(error) => self.engine.fail_run(&self.writer, error).await,
            None => self.engine.end_run(&self.writer, cause).await,
        };
        ended.map(|_| ())
    }

    /// Counts the end of the run.
    pub(super) async fn count_end(&self, phase: Phase) {
        let run = self.engine.run(&self.writer.thread, self.writer.run).await;
        let outcome = match run {
            Ok(run) if phase == Phase::Ended && !run.is_running() => run.status().name(),
            _ => "unknown",
        };
        self.metrics.ended(outcome);
        tracing::Span::current().record("outcome", outcome);
    }

    /// Waits until what was delivered cannot be stored.
    pub(super) async fn failed(&self) -> Error {
        match &self.buffered {
            Some(Buffered { writer: Some(writer), .. }) => writer.failed().await,
            _ => std::future::pending().await,
        }
    }

    async fn finish(&mut self, records: Vec<NewRecord>, end: RunEnd) -> Result<(), Error> {
        let Some(Buffered { live, writer }) = &mut self.buffered else { return Ok(()) };
        if let Some(writer) = writer.take() {
            writer.finish(records, end).await?;
        }
        live.stored();
        Ok(())
    }
}
