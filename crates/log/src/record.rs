//! Records: what a log consists of.

use crate::names::{RunNo, Timestamp};
use bytes::Bytes;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An event of the source's, its bytes as they came.
    Event,
    /// The source's, but the bytes are our JSON: an event that came as protobuf, or several of a buffered run that were merged.
    Transcoded,
    /// An event that Threadline made: a start, the ends of what was open, the terminal of a run that did not end itself.
    Made,
    /// Kept and never delivered: malformed events, second terminals, other runs that a source replays.
    Rejected,
}

impl Kind {
    /// The number that stands for it in files. Must be kept stable.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Event => 0,
            Self::Transcoded => 1,
            Self::Made => 2,
            Self::Rejected => 3,
        }
    }

    /// The kind of this number.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Event,
            1 => Self::Transcoded,
            2 => Self::Made,
            3 => Self::Rejected,
            _ => return None,
        })
    }

    /// The word for it in exports. Must be kept stable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Transcoded => "transcoded",
            Self::Made => "made",
            Self::Rejected => "rejected",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Event, Self::Transcoded, Self::Made, Self::Rejected]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A record before it has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// What it is.
    pub kind: Kind,
    /// Its bytes, never changed.
    pub bytes: Bytes,
}

impl NewRecord {
    /// An event of the source's.
    #[must_use]
    pub fn event(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Event, bytes: bytes.into() }
    }

    /// An event that Threadline made.
    #[must_use]
    pub fn made(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Made, bytes: bytes.into() }
    }

    /// Something to keep and not to deliver.
    #[must_use]
    pub fn rejected(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Rejected, bytes: bytes.into() }
    }
}

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place: dense, never reused, the only order.
    pub offset: u64,
    /// When it was taken in.
    pub time: Timestamp,
    /// The run it belongs to.
    pub run: RunNo,
    /// What it is.
    pub kind: Kind,
    /// Its bytes as they came.
    pub bytes: Bytes,
}
