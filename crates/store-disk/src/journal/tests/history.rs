//! A history that the tests write and find again.

use crate::fs::sim::SimDisk;
use crate::journal::format::FLAG_FACT;
use crate::journal::open::{Opened, open};
use crate::journal::{
    CommitError, Committed, EntryHead, Found, Frames, Journal, OpenError, Options, Position, Recovery, Salt,
    Submission, SubmitError,
};
use std::sync::{Arc, Mutex, mpsc};

pub(super) const SALT: Salt = Salt(*b"\x01pepper\xff");

pub(super) fn options(segment_bytes: u32) -> Options {
    Options { segment_bytes, ..Options::new(SALT) }
}

/// The `n`th entry of the history. Every third is a fact.
pub(super) fn head(n: u64) -> EntryHead {
    let flags = if n.is_multiple_of(3) { FLAG_FACT } else { 0 };
    let time_min = 1_790_000_000_000 + i64::try_from(n).unwrap();
    EntryHead {
        kind: 7,
        flags,
        thread: n % 4,
        run: n / 8,
        first: n,
        count: 1,
        time_min,
        time_max: time_min + 3,
        weight: 0,
    }
}

/// Its body, whose length varies.
pub(super) fn body(n: u64) -> Vec<u8> {
    let length = [11, 300, 40, 700, 5, 90][usize::try_from(n % 6).unwrap()];
    format!("{n}-").bytes().cycle().take(length).collect()
}

pub(super) fn frames(entries: impl IntoIterator<Item = u64>) -> Frames {
    let mut frames = Frames::default();
    for n in entries {
        frames.push(head(n), body(n));
    }
    frames
}

/// One entry with a body of this length.
pub(in crate::journal) fn sized_frames(bytes: usize) -> Frames {
    let mut frames = Frames::default();
    frames.push(EntryHead::default(), vec![1; bytes]);
    frames
}

/// A submission that tells a function what became of it.
pub(in crate::journal) struct Told<F> {
    frames: Frames,
    tell: Mutex<Option<F>>,
}

impl<F> Told<F> {
    pub(in crate::journal) fn new(frames: Frames, tell: F) -> Self {
        Self { frames, tell: Mutex::new(Some(tell)) }
    }
}

impl<F: FnOnce(Result<Committed, CommitError>) + Send> Submission for Told<F> {
    fn frames(&self) -> &Frames {
        &self.frames
    }

    fn complete(self: Arc<Self>, result: Result<Committed, CommitError>) {
        let tell = self.tell.lock().unwrap().take();
        tell.expect("it is completed once")(result);
    }
}

impl Journal {
    pub(super) fn submit(
        &self,
        frames: Frames,
        tell: impl FnOnce(Result<Committed, CommitError>) + Send + 'static,
    ) -> Result<(), SubmitError> {
        self.reserve(frames.bytes())?.submit(Arc::new(Told::new(frames, tell)));
        Ok(())
    }
}

pub(super) type Outcome = mpsc::Receiver<Result<Committed, CommitError>>;

/// Submits without waiting.
pub(super) fn submit(journal: &Journal, frames: Frames) -> Outcome {
    let (sender, receiver) = mpsc::sync_channel(1);
    journal.submit(frames, move |result| sender.send(result).unwrap()).unwrap();
    receiver
}

pub(super) fn commit(
    journal: &Journal,
    entries: impl IntoIterator<Item = u64>,
) -> Result<Committed, CommitError> {
    submit(journal, frames(entries)).recv().unwrap()
}

pub(super) fn create(disk: &SimDisk, segment_bytes: u32) -> Journal {
    let (journal, recovery) =
        Journal::open(Arc::new(disk.clone()), &options(segment_bytes), |_| panic!("new")).unwrap();
    assert!(recovery.is_new);
    journal
}

/// What opening found.
#[derive(Debug)]
pub(super) struct Reopened {
    /// The entries by number, in the order in which they were visited.
    pub(super) entries: Vec<u64>,
    pub(super) positions: Vec<Position>,
    /// How many came without a body.
    pub(super) bodiless: usize,
    pub(super) recovery: Recovery,
}

fn visitor(reopened: &mut Reopened) -> impl FnMut(Found<'_>) {
    |found: Found<'_>| {
        let n = found.head.first;
        assert_eq!(found.head, head(n), "what is visited is what was written");
        assert_eq!(found.body_bytes as usize, body(n).len());
        match found.body {
            Some(bytes) => assert_eq!(bytes, body(n)),
            None => {
                assert!(!found.head.is_fact());
                reopened.bodiless += 1;
            }
        }
        reopened.entries.push(n);
        reopened.positions.push(found.position);
    }
}

fn nothing() -> Reopened {
    Reopened { entries: Vec::new(), positions: Vec::new(), bodiless: 0, recovery: Recovery::default() }
}

/// Puts the files in order and looks at them, without starting any threads.
pub(super) fn recover(disk: &SimDisk, segment_bytes: u32) -> Result<Reopened, OpenError> {
    let mut reopened = nothing();
    let Opened { recovery, .. } =
        open(Arc::new(disk.clone()), &options(segment_bytes), &mut visitor(&mut reopened))?;
    reopened.recovery = recovery;
    Ok(reopened)
}

/// Opens the journal.
pub(super) fn reopen(disk: &SimDisk, segment_bytes: u32) -> (Journal, Reopened) {
    let mut reopened = nothing();
    let (journal, recovery) =
        Journal::open(Arc::new(disk.clone()), &options(segment_bytes), visitor(&mut reopened)).unwrap();
    reopened.recovery = recovery;
    for (n, position) in reopened.entries.iter().zip(&reopened.positions) {
        let entry = journal.read(*position).unwrap();
        assert_eq!((entry.head, entry.body()), (head(*n), &body(*n)[..]));
    }
    (journal, reopened)
}

/// Commits an entry and holds the committer in its completion, until what is returned is dropped.
pub(super) fn hold(journal: &Journal, n: u64) -> mpsc::Sender<()> {
    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let completion = move |_| {
        begun.send(()).unwrap();
        _ = released.recv();
    };
    journal.submit(frames([n]), completion).unwrap();
    has_begun.recv().unwrap();
    release
}
