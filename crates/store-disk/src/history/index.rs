//! What a history file says about its contents, at its end.
//!
//! Persisted, so must be kept stable: JSON in a zstd frame. Members may be added; a reader ignores those that it does not know.

use crate::journal::Position;
use serde::{Deserialize, Serialize};
use threadline_log::sealed::batch::{BatchHead, record_bytes};

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BlockKind {
    /// Records.
    Records,
    /// Facts.
    Facts,
}

impl BlockKind {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Records => 1,
            Self::Facts => 2,
        }
    }

    pub(crate) const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Records),
            2 => Some(Self::Facts),
            _ => None,
        }
    }
}

/// Where a block is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    /// Its first byte.
    pub(crate) at: u64,
    /// How many bytes it has.
    pub(crate) bytes: u64,
}

impl Extent {
    pub(crate) fn end(self) -> u64 {
        self.at.saturating_add(self.bytes)
    }
}

/// Where a block is in its file, and the one that it was packed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) extent: Extent,
    pub(crate) base: Option<Extent>,
}

impl Site {
    /// Of a block that was packed with no other.
    pub(crate) const fn alone(extent: Extent) -> Self {
        Self { extent, base: None }
    }

    /// The first byte of either.
    pub(super) fn start(self) -> u64 {
        self.base.map_or(self.extent.at, |base| base.at.min(self.extent.at))
    }
}

/// A place in the journal, comparable with others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The segment.
    pub(crate) segment: u64,
    /// The byte in it.
    pub(crate) byte: u32,
}

impl From<Position> for Mark {
    fn from(position: Position) -> Self {
        Self { segment: position.segment, byte: position.byte }
    }
}

impl From<Mark> for Position {
    fn from(mark: Mark) -> Self {
        Self { segment: mark.segment, byte: mark.byte }
    }
}

/// What is in a history file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Index {
    /// The file's number, as in its name.
    pub(crate) number: u64,
    /// Where its facts come in the order of all files: the first segment that was sealed into it.
    pub(crate) order: u64,
    /// The segments of the journal whose place it takes.
    pub(crate) sources: Vec<u64>,
    /// The last entry of these.
    pub(crate) last: Mark,
    /// The history files whose place it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) replaces: Vec<u64>,
    /// No thread that was made before has this number or a higher one.
    pub(crate) threads_end: u64,
    /// The blocks, in order.
    pub(crate) blocks: Vec<BlockEntry>,
    /// All records of the sources, also those that were forgotten since.
    pub(crate) spans: Vec<Span>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockEntry {
    /// The thread.
    pub(crate) thread: u64,
    /// What it holds.
    pub(crate) kind: BlockKind,
    /// Where it begins.
    pub(crate) at: u64,
    /// How many bytes it has.
    pub(crate) bytes: u64,
    /// The block that it was packed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<Extent>,
    /// The first offset.
    pub(crate) first: u64,
    /// The last offset.
    pub(crate) last: u64,
    /// How many records or facts.
    pub(crate) count: u32,
    /// The earliest and the latest time.
    pub(crate) times: (i64, i64),
    /// The runs that its records belong to, and the first offset of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) runs: Vec<(u32, u64)>,
    /// The facts that are looked up by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<Place>,
    /// It holds nothing but that the thread was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tombstone: bool,
}

impl BlockEntry {
    pub(crate) fn site(&self) -> Site {
        Site { extent: Extent { at: self.at, bytes: self.bytes }, base: self.base }
    }
}

/// A fact that is looked up by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Which of the block's facts, from 0.
    pub(crate) item: u32,
    /// The kind of its entry.
    pub(crate) kind: u8,
    /// The run it is about.
    pub(crate) run: u32,
}

/// The records of a run in the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The thread.
    pub(crate) thread: u64,
    /// The run.
    pub(crate) run: u32,
    /// The first offset.
    pub(crate) first: u64,
    /// One past the last offset.
    pub(crate) end: u64,
    /// How many.
    pub(crate) count: u64,
    /// Their bytes as they came.
    pub(crate) bytes: u64,
    /// When the last was taken in.
    pub(crate) time: i64,
}

impl Span {
    /// Before the first of them, which begins here.
    pub(crate) const fn before(thread: u64, head: &BatchHead) -> Self {
        let (run, first, time) = (head.run.0, head.first, head.time.0);
        Self { thread, run, first, end: 0, count: 0, bytes: 0, time }
    }

    /// Counts a batch in.
    pub(crate) fn add(&mut self, head: &BatchHead, body: &[u8]) {
        self.end = self.end.max(head.end());
        self.count += u64::from(head.count);
        self.bytes += record_bytes(body.len() as u64, head.count);
        self.time = self.time.max(head.time.0);
    }
}
