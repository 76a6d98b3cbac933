//! What the functions of the database answer: 0 if it was done, or why not. The numbers stand in the schema.

use crate::names::run_id;
use threadline_log::{Epoch, Error, RunId, RunNo, ThreadKey};

pub(crate) const DONE: i32 = 0;
pub(crate) const NO_THREAD: i32 = 1;
pub(crate) const OTHER_INCARNATION: i32 = 2;
pub(crate) const NO_RUN: i32 = 3;
pub(crate) const REPEATED: i32 = 4;
pub(crate) const EMPTY: i32 = 5;
pub(crate) const FENCED: i32 = 6;
pub(crate) const RUN_ENDED: i32 = 7;
pub(crate) const TAIL_MOVED: i32 = 8;
pub(crate) const RUNS_CHANGED: i32 = 9;
/// It was done when it was asked the first time, and the answer was lost.
pub(crate) const DONE_BEFORE: i32 = 10;
pub(crate) const RUN_ID_TAKEN: i32 = 11;
pub(crate) const RUN_ACTIVE: i32 = 12;
pub(crate) const NO_CHECKPOINT: i32 = 13;
pub(crate) const THREAD_CHANGED: i32 = 14;

/// What was asked, for who is refused.
pub(crate) struct Asked<'a> {
    pub(crate) thread: &'a ThreadKey,
    pub(crate) run: RunNo,
    pub(crate) epoch: Epoch,
    pub(crate) expected_tail: u64,
}

impl<'a> Asked<'a> {
    /// Something about a run, or about the thread alone.
    pub(crate) const fn about(thread: &'a ThreadKey, run: RunNo) -> Self {
        Self { thread, run, epoch: Epoch(0), expected_tail: 0 }
    }

    /// The error of a refusal: with the tail, the epoch and the run's id as the database has them.
    pub(crate) fn refused(&self, outcome: i32, tail: i64, epoch: i64, id: Option<&str>) -> Error {
        let id = || id.map_or_else(|| RunId::new(""), run_id);
        let of_run = |error: fn(RunId) -> Error| id().map_or_else(|wrong| wrong, error);
        match outcome {
            NO_THREAD => Error::NoThread(self.thread.clone()),
            OTHER_INCARNATION => Error::OtherIncarnation(self.thread.clone()),
            NO_RUN => Error::NoRun(self.run.0.to_string()),
            EMPTY => Error::Invalid("nothing to append".to_owned()),
            FENCED => {
                Error::Fenced { given: self.epoch, current: Epoch(u32::try_from(epoch).unwrap_or_default()) }
            }
            RUN_ENDED => of_run(Error::RunEnded),
            RUN_ACTIVE => of_run(Error::RunActive),
            RUN_ID_TAKEN => of_run(Error::RunIdReused),
            TAIL_MOVED => Error::TailMoved { expected: self.expected_tail, actual: tail.cast_unsigned() },
            RUNS_CHANGED => Error::RunsChanged,
            THREAD_CHANGED => Error::ThreadChanged(self.thread.clone()),
            NO_CHECKPOINT => match id() {
                Ok(id) => Error::Invalid(format!("the run has no checkpoint. run={id}")),
                Err(error) => error,
            },
            other => Error::Unavailable(format!("the database answers what is not known. outcome={other}")),
        }
    }
}
