//! What a branch holds, at its end and at any point before.

use crate::checkpoint::Checkpoint;
use crate::engine::{Engine, ThreadChange};
use crate::error::Error;
use crate::lineage::lineage_of;
use crate::names::{Incarnation, RunNo, ThreadKey};
use crate::record::Record;
use crate::run::RunInfo;
use crate::run_fold::{DeltaWriter, RunFold, apply_delta};
use crate::to_its_end::to_its_end;
use crate::transfer::IMPORTING;
use bytes::Bytes;
use threadline_protocol::stages::fold::{self, FOLD_VERSION, Fold};
use tokio::task::yield_now;

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 1024 * 1024;

/// So many records are looked at before others have their turn.
const RECORDS_AT_ONCE: usize = 64;

/// How many bytes of checkpoints are held on the way back to a full one. The runs between may be of any size.
const DELTAS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A point in a thread's past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// After everything on the last run's branch.
    Head,
    /// After a run.
    Run(RunNo),
    /// After the record of an offset, on the branch of its run.
    Offset(u64),
    /// On a run's branch, after whatever of it lies at an offset or before.
    RunAndOffset(RunNo, u64),
}

/// What a branch holds at some point.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The last run that counts; none if nothing does.
    pub run: Option<RunNo>,
    /// Everything of the branch before this offset is in it.
    pub offset: u64,
    /// Messages, state, and the rest of what clients hold.
    pub fold: Fold,
}

/// Where a point in a thread's past lies. What is held there never changes: records are only ever added behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Which thread of its name.
    pub incarnation: Incarnation,
    /// The last run that counts.
    pub run: RunInfo,
    /// Everything of the branch before this offset counts.
    pub offset: u64,
}

/// What a branch holds after a run, and how much had to be read for it.
struct Held {
    fold: Fold,
    runs_since_full: u32,
    bytes_since_full: usize,
    full_bytes: usize,
}

impl Engine {
    /// What a branch holds at a point.
    ///
    /// # Errors
    /// If there is no such thread, run or offset, or what is needed for it was trimmed or compacted.
    pub async fn snapshot(&self, thread: &ThreadKey, at: At) -> Result<Snapshot, Error> {
        let Some(located) = self.locate(thread, at).await? else {
            return Ok(Snapshot { run: None, offset: 0, fold: Fold::new() });
        };
        let fold = self.fold_at(thread, &located).await?;
        Ok(Snapshot { run: Some(located.run.no), offset: located.offset, fold })
    }

    /// Where a point lies, which costs much less than what is held there. None if nothing had begun.
    ///
    /// # Errors
    /// If there is no such thread, run or offset, or the record of the offset was trimmed or compacted.
    pub async fn locate(&self, thread: &ThreadKey, at: At) -> Result<Option<Located>, Error> {
        let info = self.store().thread(thread).await?;
        let (tip, limit) = match at {
            At::Head => (info.last_run.map(|(run, _)| run), u64::MAX),
            At::Run(run) => (Some(run), u64::MAX),
            At::RunAndOffset(run, offset) => (Some(run), offset),
            At::Offset(offset) => {
                if offset >= info.offsets.end {
                    return Err(Error::BeyondTail { offset, tail: info.offsets.end });
                }
                if offset < info.offsets.start {
                    return Err(Error::Trimmed { offset, first: info.offsets.start });
                }
                (Some(self.run_at(thread, offset).await?), offset)
            }
        };
        // The last run of the branch that had begun by then.
        let mut next = tip;
        while let Some(run) = next {
            let run = self.run(thread, run).await?;
            if run.offsets.start <= limit {
                let offset = run.offsets.end.min(limit.saturating_add(1));
                return Ok(Some(Located { incarnation: info.incarnation, run, offset }));
            }
            next = before(&run);
        }
        Ok(None)
    }

    /// What a branch holds at a point that was located.
    ///
    /// # Errors
    /// If what is needed for it was trimmed or compacted.
    pub async fn fold_at(&self, thread: &ThreadKey, located: &Located) -> Result<Fold, Error> {
        let Located { run, offset, .. } = located;
        let is_whole = !run.is_running() && *offset == run.offsets.end;
        match is_whole {
            true => self.fold_after(thread, run.no).await,
            false => Ok(self.fold_run(thread, run, offset.saturating_sub(1)).await?.fold().clone()),
        }
    }

    /// The run that a record belongs to.
    async fn run_at(&self, thread: &ThreadKey, offset: u64) -> Result<RunNo, Error> {
        let page = self.store().read(thread, offset..offset + 1, None, 1).await?;
        if let Some(record) = page.records.first() {
            return Ok(record.run);
        }
        self.check_readable(thread, offset).await?;
        Err(Error::NoRun(format!("at offset {offset}")))
    }

    /// What the branch of a run that has ended holds after it.
    pub(crate) async fn fold_after(&self, thread: &ThreadKey, run: RunNo) -> Result<Fold, Error> {
        Ok(self.held_after(thread, run).await?.fold)
    }

    /// A run, folded up to an offset, that one included.
    pub(crate) async fn fold_run(
        &self,
        thread: &ThreadKey,
        run: &RunInfo,
        until: u64,
    ) -> Result<RunFold, Error> {
        let parent = match run.parent {
            Some(parent) => self.fold_after(thread, parent).await?,
            None => Fold::new(),
        };
        let mut fold = RunFold::new(&thread.thread, run, parent);
        self.each_record(thread, run, until, |record| {
            fold.push(record.kind, &record.bytes);
        })
        .await?;
        Ok(fold)
    }

    /// Shows the records of a run up to an offset, that one included.
    pub(crate) async fn each_record(
        &self,
        thread: &ThreadKey,
        run: &RunInfo,
        until: u64,
        mut each: impl FnMut(&Record) + Send,
    ) -> Result<(), Error> {
        self.check_whole(thread, run).await?;
        let mut next = run.offsets.start;
        let end = run.offsets.end.min(until.saturating_add(1));
        while next < end {
            let page = self.store().read(thread, next..end, Some(run.no), PAGE_BYTES).await?;
            for (index, records) in page.records.chunks(RECORDS_AT_ONCE).enumerate() {
                if index > 0 {
                    yield_now().await;
                }
                records.iter().for_each(&mut each);
            }
            next = page.next;
        }
        // Stores pass over what is gone, and it may have gone while it was read.
        self.check_whole(thread, &self.run(thread, run.no).await?).await
    }

    /// Whether the records of a run are all there.
    async fn check_whole(&self, thread: &ThreadKey, run: &RunInfo) -> Result<(), Error> {
        let (offset, first) = (run.offsets.start, self.store().thread(thread).await?.offsets.start);
        // Compaction leaves the end of a run; of one that lies before the cut it may be gone as well.
        if run.compacted && run.offsets.end > first {
            return Err(Error::Compacted { run: run.id.clone(), offset });
        }
        if offset < first { Err(Error::Trimmed { offset, first }) } else { Ok(()) }
    }

    /// Goes back to the last full checkpoint of the branch, and forward from there.
    async fn held_after(&self, thread: &ThreadKey, run: RunNo) -> Result<Held, Error> {
        let mut held = Held { fold: Fold::new(), runs_since_full: 0, bytes_since_full: 0, full_bytes: 0 };
        let mut deltas: Vec<(RunInfo, Option<Checkpoint>)> = Vec::new();
        let (mut next, mut bytes) = (Some(run), 0);
        while let Some(run) = next {
            let checkpoint = self.store().checkpoint(thread, run).await?;
            let full = checkpoint.as_ref().and_then(|checkpoint| checkpoint.full.as_ref());
            if let Some(fold) = full.and_then(|full| restore(full)) {
                held.full_bytes = full.map_or(0, Bytes::len);
                held.fold = fold;
                break;
            }
            let stands_alone = checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.stands_alone);
            let run = self.run(thread, run).await?;
            next = before(&run);
            // Who forgets one here reads it again.
            deltas.push((run, checkpoint.filter(|checkpoint| is_room_for(checkpoint, &mut bytes))));
            if stands_alone {
                break;
            }
        }
        for (run, checkpoint) in deltas.into_iter().rev() {
            held.runs_since_full += 1;
            let checkpoint = match checkpoint {
                Some(checkpoint) => Some(checkpoint),
                None => self.store().checkpoint(thread, run.no).await?,
            };
            // One that was emptied says nothing: the records, if they are there, do.
            match checkpoint.filter(|checkpoint| !checkpoint.delta.is_empty()) {
                Some(checkpoint) => {
                    if checkpoint.stands_alone {
                        held.fold = Fold::new();
                    }
                    held.bytes_since_full += checkpoint.delta.len();
                    apply_delta(&mut held.fold, run.base_state, &checkpoint.delta);
                    if checkpoint.full.is_some() {
                        self.renew_full(thread, checkpoint, &held.fold).await;
                    }
                }
                None => {
                    let mut fold = RunFold::new(&thread.thread, &run, held.fold);
                    self.each_record(thread, &run, u64::MAX, |record| {
                        fold.push(record.kind, &record.bytes);
                    })
                    .await?;
                    held.fold = fold.fold().clone();
                }
            }
        }
        Ok(held)
    }

    /// Replaces a full checkpoint of another version of the fold. If that cannot be done now, it will be the next time.
    /// Once begun, it is done to its end: it must not land on what somebody else puts in its place then.
    async fn renew_full(&self, thread: &ThreadKey, stale: Checkpoint, fold: &Fold) {
        let (engine, thread, full) = (self.clone(), thread.clone(), full_of(fold));
        to_its_end(async move {
            let Some(_upkeep) = engine.upkeep().try_of(&thread) else { return };
            let now = engine.store().checkpoint(&thread, stale.run).await;
            if now.is_ok_and(|now| now.as_ref() == Some(&stale)) {
                let renewed = Checkpoint { version: FOLD_VERSION, full: Some(full), ..stale };
                let _ = engine.store().put_checkpoint(&thread, None, renewed, engine.now()).await;
            }
        })
        .await;
    }

    /// Makes the checkpoint of a run that has ended without one ([`Store::unfolded`](crate::Store::unfolded)): it was closed for somebody else,
    /// or its process was gone before it had made it. Readers do without, and who continues or exports the thread makes it; but
    /// searches find what a run said only when it has one.
    ///
    /// # Errors
    /// If the thread or the run is not there any more, cannot be read or goes on, or the store cannot keep the checkpoint.
    pub async fn keep_missing_checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<(), Error> {
        let info = self.store().thread(thread).await?;
        // Whoever copies a thread brings the checkpoints of what is not there any more, at last.
        if info.metadata.labels.contains_key(IMPORTING) {
            return Ok(());
        }
        self.keep_checkpoint_of(thread, info.incarnation, run).await?;
        // Who looks for what it said finds it now.
        self.changed(ThreadChange::Changed(thread.clone()));
        Ok(())
    }

    /// Makes the checkpoint of a run that has ended, and keeps it, unless there is one.
    pub(crate) async fn keep_checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Checkpoint, Error> {
        let incarnation = self.store().thread(thread).await?.incarnation;
        self.keep_checkpoint_of(thread, incarnation, run).await
    }

    /// The same for a run of a thread that may have been made anew since.
    ///
    /// # Cancel safety
    /// Once begun, it is done to its end: what is on its way to the store can be seen by nobody, and whoever comes next has to wait for it.
    pub(crate) async fn keep_checkpoint_of(
        &self,
        thread: &ThreadKey,
        incarnation: Incarnation,
        run: RunNo,
    ) -> Result<Checkpoint, Error> {
        let (engine, thread) = (self.clone(), thread.clone());
        to_its_end(async move {
            let _upkeep = engine.upkeep().of(&thread).await;
            engine.make_checkpoint(&thread, incarnation, run).await
        })
        .await
    }

    /// The same for who has the upkeep of the thread.
    async fn make_checkpoint(
        &self,
        thread: &ThreadKey,
        incarnation: Incarnation,
        run: RunNo,
    ) -> Result<Checkpoint, Error> {
        // Whoever was faster may have let go of the records since.
        if let Some(checkpoint) = self.store().checkpoint(thread, run).await? {
            return Ok(checkpoint);
        }
        let info = self.run(thread, run).await?;
        if info.is_running() {
            // Another of this number, in a thread that was made anew: what there is of it now is not all that will be.
            return Err(Error::RunActive(info.id));
        }
        let held = match info.parent {
            Some(parent) => self.held_after(thread, parent).await?,
            None => Held { fold: Fold::new(), runs_since_full: 0, bytes_since_full: 0, full_bytes: 0 },
        };
        let before = held.fold.clone();
        let mut chaining = self.begin_chaining(thread, &info).await;
        let (delta, fold) = self.compacted(thread, &info, held.fold, |record| chaining.push(record)).await?;
        let chained = self.end_chaining(thread, &info, chaining).await;
        // Reading a branch costs no more than twice what it holds, and so does keeping it.
        let is_due = held.runs_since_full + 1 >= self.options().full_checkpoint_runs_max
            || (held.full_bytes > 0 && held.bytes_since_full + delta.len() >= held.full_bytes);
        let full = is_due.then(|| full_of(fold.fold()));
        let lineage = lineage_of(fold.fold(), &before);
        let mut checkpoint =
            Checkpoint { run, version: FOLD_VERSION, delta, stands_alone: false, full, lineage, chained };
        // Where it is too large for the store, whoever reads the branch folds more of it; without the delta, the records, which must stay then.
        // What matters to those who start runs is the lineage.
        loop {
            let kept = self.store().put_checkpoint(thread, Some(incarnation), checkpoint.clone(), self.now());
            match kept.await {
                // Another process was faster.
                Err(Error::RunsChanged) => {
                    return self.store().checkpoint(thread, run).await?.ok_or(Error::RunsChanged);
                }
                Err(Error::TooLarge { .. }) if checkpoint.full.is_some() => checkpoint.full = None,
                Err(Error::TooLarge { .. }) if !checkpoint.delta.is_empty() => {
                    checkpoint.delta = Bytes::new()
                }
                outcome => return outcome.map(|()| checkpoint),
            }
        }
    }

    /// What clients see of a run, compacted, a line each; of one that goes on, what there is.
    ///
    /// # Errors
    /// If there is no such run, or neither its records nor its checkpoint are there.
    pub async fn delta_of(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        let kept = self.store().checkpoint(thread, run).await?;
        if let Some(checkpoint) = kept.filter(|checkpoint| !checkpoint.delta.is_empty()) {
            return Ok(checkpoint.delta);
        }
        let info = self.run(thread, run).await?;
        let held = match info.parent {
            Some(parent) => self.fold_after(thread, parent).await?,
            None => Fold::new(),
        };
        let (delta, _) = self.compacted(thread, &info, held, |_| {}).await?;
        Ok(delta)
    }

    /// A run that is folded and compacted at once, and whose records are shown.
    async fn compacted(
        &self,
        thread: &ThreadKey,
        run: &RunInfo,
        held: Fold,
        mut show: impl FnMut(&Record) + Send,
    ) -> Result<(Bytes, RunFold), Error> {
        let mut writer = DeltaWriter::new(run, &held);
        let mut fold = RunFold::new(&thread.thread, run, held);
        self.each_record(thread, run, u64::MAX, |record| {
            show(record);
            fold.push(record.kind, &record.bytes).iter().for_each(|event| writer.push(event));
        })
        .await?;
        Ok((writer.finish(), fold))
    }
}

/// Whether a checkpoint is held on the way back, beside those that are.
fn is_room_for(checkpoint: &Checkpoint, bytes: &mut usize) -> bool {
    *bytes += checkpoint.delta.len() + checkpoint.full.as_ref().map_or(0, Bytes::len);
    *bytes <= DELTAS_BYTES_MAX
}

/// The run that a run continues. It was opened earlier, so that going back ends whatever the store says.
fn before(run: &RunInfo) -> Option<RunNo> {
    run.parent.filter(|parent| *parent < run.no)
}

fn full_of(fold: &Fold) -> Bytes {
    fold.checkpoint().to_json().into_bytes().into()
}

/// The fold of a full checkpoint. None if it was made by another version, so that it must be made anew.
fn restore(full: &[u8]) -> Option<Fold> {
    let text = std::str::from_utf8(full).ok()?;
    Fold::restore(fold::Checkpoint::read_json(text).ok()?.0).ok()
}
