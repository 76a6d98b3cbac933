//! What the engine needs of a store.

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::kin::{Kin, Sought};
use crate::names::{AppendKey, Epoch, Incarnation, RunId, RunNo, Scope, ThreadKey, Timestamp};
use crate::record::{NewRecord, Record};
use crate::run::{BaseState, RunEnd, RunInfo};
use crate::thread::{MetadataChange, ThreadInfo, ThreadQuery, Usage};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::time::Duration;

/// For how long the keys of appends are kept when their run has ended. All of them are while it goes on; later they go when the
/// next run is opened, so that a thread does not hold the keys of all its past.
pub const KEYS_KEPT_MS: i64 = 60 * 60 * 1000;

/// A run to be opened. The thread is made if it is not there.
#[derive(Clone, Debug)]
pub struct OpenRun {
    /// The thread.
    pub thread: ThreadKey,
    /// The incarnation that a thread gets if it is made.
    pub incarnation: Incarnation,
    /// What is said about a thread that is made.
    pub metadata: MetadataChange,
    /// The runs that the caller knows of, and how many of them had ended when the parent was chosen. If that has changed, nothing is
    /// done: [`Error::RunsChanged`].
    pub seen: RunsSeen,
    /// The run's id.
    pub id: RunId,
    /// The run it continues.
    pub parent: Option<RunNo>,
    /// Who ordered it.
    pub spawned_by: Option<String>,
    /// Which state it begins with.
    pub base_state: BaseState,
    /// The request that started it, byte for byte.
    pub request: Bytes,
    /// The SHA-256 of it.
    pub request_digest: String,
    /// Its first records.
    pub records: Vec<NewRecord>,
    /// What they can be known again by, as those of an append.
    pub key: Option<AppendKey>,
    /// Where the caller thinks that the tail is.
    pub expected_tail: Option<u64>,
    /// How the run ends with these records, if that is all of it.
    pub end: Option<RunEnd>,
    /// Until when it is the caller's.
    pub lease_until: Timestamp,
    /// Now.
    pub time: Timestamp,
}

/// How far somebody knows the runs of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunsSeen {
    /// How many were opened.
    pub opened: u32,
    /// How many have ended.
    pub ended: u32,
}

/// How somebody has seen a thread: as long as all of this is the same, nothing has happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSeen {
    /// Which one it was.
    pub incarnation: Incarnation,
    /// Where its tail was.
    pub tail: u64,
    /// How many runs it had: one may be opened without a record.
    pub runs: u32,
    /// When something was last appended or said about it.
    pub updated: Timestamp,
}

impl From<&ThreadInfo> for ThreadSeen {
    fn from(info: &ThreadInfo) -> Self {
        Self { incarnation: info.incarnation, tail: info.offsets.end, runs: info.runs, updated: info.updated }
    }
}

/// A run that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its place among the runs.
    pub run: RunNo,
    /// The generation of its writer.
    pub epoch: Epoch,
    /// Which thread it is.
    pub incarnation: Incarnation,
    /// Its first records.
    pub ack: Ack,
}

/// Records to be appended to a run.
#[derive(Clone, Debug)]
pub struct Append {
    /// The thread.
    pub thread: ThreadKey,
    /// Which thread of that name, if it must be this one: run numbers and epochs of another may be the same.
    pub incarnation: Option<Incarnation>,
    /// The run.
    pub run: RunNo,
    /// The generation of the caller.
    pub epoch: Epoch,
    /// The records, at least one.
    pub records: Vec<NewRecord>,
    /// Makes a repetition land once: as long as the run goes on, and [`KEYS_KEPT_MS`] longer.
    pub key: Option<AppendKey>,
    /// Where the caller thinks that the tail is.
    pub expected_tail: Option<u64>,
    /// How the run ends with these records, if it does. Seldom, so that what is handed on is small.
    pub end: Option<Box<RunEnd>>,
    /// Now.
    pub time: Timestamp,
}

/// What becomes of a run's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Its writer keeps it until then.
    Renew(Timestamp),
    /// Another has it until then, if it is over.
    TakeOver(Timestamp),
    /// Another has it until then, whoever has it now: to end a run that is written elsewhere.
    Seize(Timestamp),
}

impl Claim {
    /// The epoch of the run's writer afterwards.
    #[must_use]
    pub const fn epoch_after(self, epoch: Epoch) -> Epoch {
        match self {
            Self::Renew(_) => epoch,
            Self::TakeOver(_) | Self::Seize(_) => Epoch(epoch.0 + 1),
        }
    }
}

/// Records that are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// When they were taken in.
    pub time: Timestamp,
    /// Whether they were there already, under the same key.
    pub repeated: bool,
}

impl Ack {
    /// The offsets of the records.
    #[must_use]
    pub const fn offsets(&self) -> Range<u64> {
        self.first..self.first + self.count
    }
}

/// An append on its way. It borrows nothing, so that it can go on without the one who asked for it.
pub type Appending = Pin<Box<dyn Future<Output = Result<Ack, Error>> + Send>>;

/// Some records, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// Where to go on: all offsets of the range before this one were seen. The end of the range, if that is all.
    pub next: u64,
}

/// What another process has done to a store that several share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Everything of a thread before this offset is durable.
    Reached {
        /// Which thread.
        thread: Incarnation,
        /// The next offset.
        tail: u64,
    },
    /// Something that lists of threads show has changed: a run was opened or ended, a thread described or trimmed.
    Changed(ThreadKey),
    /// A thread was deleted.
    Deleted {
        /// Its name.
        key: ThreadKey,
        /// Which thread of that name.
        thread: Incarnation,
    },
    /// News may have been lost: whoever waits for some has to look.
    Missed,
}

/// What a store that several processes write has for each of them.
#[async_trait]
pub trait Shared: Send + Sync {
    /// Waits for something that other processes have done. What this process has done may be told as well.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    async fn heard(&self) -> Vec<News>;

    /// How far these threads have come; those that are not there any more are left out.
    async fn tails(&self, threads: &[Incarnation]) -> Result<Vec<(Incarnation, u64)>, Error>;
}

/// Where records are kept.
///
/// Every write is durable when it has returned `Ok`, and nothing of it can be read before. [`Error::Unavailable`] means that nothing
/// was done, [`Error::Indeterminate`] that nobody knows. Any number of tasks may call at once; what one thread's
/// writes decide (offsets, epochs, keys, run ids) is decided in one order.
///
/// Futures that are dropped may or may not have had their effect.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Opens a run, and makes its thread if it is not there.
    async fn open_run(&self, open: OpenRun) -> Result<Opened, Error>;

    /// Appends to a run that goes on. A run that has ended takes only rejected records. It may begin before it is waited for.
    fn append(&self, append: Append) -> Appending;

    /// Renews the lease of a run, takes it over or seizes it, if `epoch` is that of its writer so far. Gives the epoch of its writer from
    /// now on. Of several who take over at once, one succeeds.
    async fn claim(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error>;

    /// Changes what is said about a thread.
    async fn describe(
        &self,
        thread: &ThreadKey,
        change: MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error>;

    /// Keeps the checkpoint of a run that has ended, in place of an earlier one. If it is the first one of a run of `first_of`, only if that is
    /// still the thread of this name and there is none: else [`Error::OtherIncarnation`] or [`Error::RunsChanged`], and nothing is done.
    async fn put_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        checkpoint: Checkpoint,
        time: Timestamp,
    ) -> Result<(), Error>;

    /// Forgets the records before an offset.
    async fn trim(&self, thread: &ThreadKey, first: u64, time: Timestamp) -> Result<(), Error>;

    /// Forgets the records of a run that has ended and has a checkpoint.
    async fn compact_run(&self, thread: &ThreadKey, run: RunNo, time: Timestamp) -> Result<(), Error>;

    /// Forgets a thread, whatever goes on there; if it was seen, only as it was seen, or nothing is done: [`Error::ThreadChanged`]. Its name is
    /// free afterwards.
    async fn delete(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
        time: Timestamp,
    ) -> Result<(), Error>;

    /// What is known about a thread.
    async fn thread(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error>;

    /// Its runs, in the order they were opened.
    async fn runs(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error>;

    /// One of them.
    async fn run(&self, thread: &ThreadKey, run: RunNo) -> Result<RunInfo, Error>;

    /// What a run that is to be opened has to know of them. What this costs does not depend on how many there are.
    async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error>;

    /// The request that started a run.
    async fn request(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error>;

    /// The checkpoint of a run, if there is one.
    async fn checkpoint(&self, thread: &ThreadKey, run: RunNo) -> Result<Option<Checkpoint>, Error>;

    /// Records of a range of offsets, in order, of one run or of all; about `bytes_max` of them, and at least one if there is any.
    /// Offsets that were trimmed or compacted are passed over.
    async fn read(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error>;

    /// Threads, in the order that is asked for.
    async fn threads(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error>;

    /// What a scope keeps, with everything that was durable before the call. It is asked with every write, where there are limits: what
    /// that costs must not depend on how much there is, but for the first time.
    async fn usage(&self, scope: &Scope) -> Result<Usage, Error>;

    /// Runs that go on and whose lease was over at `time`.
    async fn expired(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error>;

    /// Runs that have ended and have no checkpoint.
    async fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error>;

    /// Rewrites what is settled in its compact form, and gives back space that is no longer needed.
    async fn tidy(&self) -> Result<(), Error>;

    /// How often that is worth what it costs.
    fn tidy_every(&self) -> Duration;

    /// What others tell, if several processes may write the store at once. None for one that a process has alone.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }

    /// Why the store takes no writes, if it does not.
    fn trouble(&self) -> Option<String>;

    /// What is wrong though the store takes writes: damage that it has come across, work in the background that fails.
    fn ailments(&self) -> Vec<String>;

    /// Ends all work in good order. Whoever writes afterwards gets [`Error::Unavailable`].
    async fn close(&self);
}
