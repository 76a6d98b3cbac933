//! Copies of threads.

use crate::engine::Engine;
use crate::error::Error;
use crate::lineage::chain;
use crate::names::{RunNo, ThreadKey};
use crate::transfer::ImportOptions;
use threadline_protocol::stages::close::Cause;

/// What of a thread is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClonePoint {
    /// The branch of a run, up to its end.
    Run(RunNo),
    /// Everything up to an offset, that one included, with the same offsets if nothing of it was compacted. Runs that go on there are closed
    /// as cancelled.
    Offset(u64),
}

impl Engine {
    /// Copies a thread up to a point into a new one. The two have nothing in common afterwards.
    ///
    /// # Errors
    /// If the new one exists, or records that are needed were trimmed, or a run that goes on at the offset was compacted: what it had said
    /// until then is not known any more. Then there is no new one.
    pub async fn clone_thread(
        &self,
        from: &ThreadKey,
        point: ClonePoint,
        to: &ThreadKey,
    ) -> Result<(), Error> {
        let tail = self.store().thread(from).await?.offsets;
        let runs = self.store().runs(from).await?;
        let (wanted, end) = match point {
            ClonePoint::Run(run) => {
                let branch = chain(&runs, run);
                let ends = branch.iter().map(|run| runs[run.index()].offsets.end);
                let end = ends.max().ok_or_else(|| Error::NoRun(run.0.to_string()))?;
                (branch, end)
            }
            ClonePoint::Offset(offset) if offset >= tail.end => {
                return Err(Error::BeyondTail { offset, tail: tail.end });
            }
            ClonePoint::Offset(offset) => {
                self.check_readable(from, offset).await?;
                let begun = runs.iter().filter(|run| run.offsets.start <= offset);
                if let Some(run) = begun.clone().find(|run| run.compacted && run.offsets.end > offset + 1) {
                    return Err(Error::Compacted { run: run.id.clone(), offset });
                }
                (begun.map(|run| run.no).collect(), offset + 1)
            }
        };
        let starts = wanted.iter().map(|run| runs[run.index()].offsets.start);
        if let Some(offset) = starts.min().filter(|start| *start < tail.start) {
            return Err(Error::Trimmed { offset, first: tail.start });
        }
        let mut exporter = self.export_part(from, wanted.into_iter().collect(), end).await?;
        let (scope, thread) = (to.scope.clone(), to.thread.clone());
        let options = ImportOptions {
            scope: Some(scope.clone()),
            default_scope: scope,
            thread: Some(thread),
            cause: Cause::Cancelled,
        };
        let mut importer = self.import(options);
        loop {
            let lines = match exporter.next().await {
                Ok(Some(lines)) => lines,
                Ok(None) => return importer.finish().await.map(|_| ()),
                Err(error) => {
                    importer.abandon().await?;
                    return Err(error);
                }
            };
            let lines = std::str::from_utf8(&lines).expect("exports are made of JSON");
            for line in lines.lines() {
                importer.push(line).await?;
            }
        }
    }
}
