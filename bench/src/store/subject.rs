//! What a store has to do to be measured.

use crate::disk;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// When an append is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// After the sync.
    Durable,
    /// When the operating system has it, or at least the process; the rest is left to whoever does it later.
    Buffered,
}

/// Events that are appended together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) thread: u32,
    pub(crate) events: &'a [String],
    /// Whether a run begins with the first of them. Peers keep bytes and need not know.
    pub(crate) begins_run: bool,
    /// Whether the run ends with the last of them.
    pub(crate) ends_run: bool,
}

/// Appends.
pub(crate) trait Subject: Sized + Send + Sync + 'static {
    /// Opens what is in this folder, or makes it.
    fn open(dir: &Path, durability: Durability) -> impl Future<Output = io::Result<Self>> + Send;

    /// Returns when the batch is acknowledged.
    fn append(&self, batch: Batch<'_>) -> impl Future<Output = io::Result<()>> + Send;

    /// Writes what is left, and lets go of the files.
    fn close(self) -> impl Future<Output = io::Result<()>> + Send;
}

/// How much of the disk the parts of a store take, by their names.
pub(crate) type Parts = BTreeMap<&'static str, u64>;

/// Reads what was appended.
pub(crate) trait Reads: Subject {
    /// How much of the disk it takes, in a folder that it has settled in or not.
    fn bytes_at_rest(dir: &Path) -> io::Result<Parts> {
        Ok(Parts::from([("files", disk::allocated_bytes(dir)?)]))
    }

    /// Does what must be done after opening before anybody is served.
    fn be_ready(&self) -> impl Future<Output = io::Result<()>> + Send {
        async { Ok(()) }
    }

    /// Brings what is finished into the form that it keeps: sealed, or compacted.
    fn settle(&self) -> impl Future<Output = io::Result<()>> + Send;

    /// Hands out `count` events of a thread, the first of which is at this offset.
    fn read(
        &self,
        thread: u32,
        offset: u64,
        count: usize,
        tally: &mut Tally,
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// Follows threads, and says what they come to.
pub(crate) trait Live: Reads {
    /// Follows from the tail.
    type Follower: Follower;

    /// A follower of this thread, which is given what is appended from now on.
    fn follow(&self, thread: u32) -> impl Future<Output = io::Result<Self::Follower>> + Send;

    /// How many messages the thread has, after each has been looked at.
    fn messages(&self, thread: u32) -> impl Future<Output = io::Result<usize>> + Send;
}

/// One reader of a live tail.
pub(crate) trait Follower: Send + 'static {
    /// Waits for events and hands out those that are there.
    fn next(&mut self, tally: &mut Tally) -> impl Future<Output = io::Result<()>> + Send;
}

/// Counts what a reader is given, so that a store cannot be fast by reading less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl Tally {
    /// Takes one event.
    pub(crate) const fn take(&mut self, event: &[u8]) {
        self.events += 1;
        self.bytes += event.len();
    }

    /// What a reader of these must come to.
    pub(crate) fn of(events: &[String]) -> Self {
        Self { events: events.len(), bytes: events.iter().map(String::len).sum() }
    }
}
